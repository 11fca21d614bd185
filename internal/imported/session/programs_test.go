package session

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// program returns the idle program of a model that has one.
func program(t *testing.T, s *Session) *engine.Program {
	t.Helper()
	for _, p := range s.plans {
		for _, v := range p.variants {
			for _, part := range v.stages {
				if c, ok := part.(*compiledStage); ok {
					for _, sp := range c.specials {
						if len(sp.programs.idle) > 0 {
							return sp.programs.idle[0].program
						}
					}
				}
			}
		}
	}
	t.Fatal("no program is idle")
	return nil
}

func negate(t *testing.T, s *Session, rows, columns int, fetches ...string) {
	t.Helper()
	x := tensor.New(tensor.Float32, rows, columns)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(i)
	}
	if len(fetches) == 0 {
		fetches = []string{"y:0"}
	}
	y, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": x}, fetches)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y[0].Shape, x.Shape) || tensor.Values[float32](y[0])[rows*columns-1] != -float32(rows*columns-1) {
		t.Fatalf("%d rows: got %v", rows, y[0].Shape)
	}
}

// TestGrowth: batches that grow row by row cause few plans, with room for the next power of two of rows; if memory is short,
// there is only room for the requested rows.
func TestGrowth(t *testing.T) {
	s := negation(t, 1<<20)
	defer s.Close()
	planned, last := 0, 0
	for rows := 1; rows <= 128; rows++ {
		negate(t, s, rows, 8)
		c := program(t, s).Capacity()
		if c != last {
			last = c
			planned++
		}
		if c < rows || c >= 2*rows && rows > 1 {
			t.Fatalf("room for %d rows after a batch of %d", c, rows)
		}
	}
	if planned != 8 {
		t.Errorf("1 to 128 rows were planned for %d times, expected 8", planned)
	}
	negate(t, s, 10_000, 8)
	if c := program(t, s).Capacity(); c != 10_000 {
		t.Errorf("room for %d rows where that is much, expected 10000", c)
	}
	negate(t, s, 1, 8)
}

// TestPlansByUse: with more combinations of fetches than are kept, the ones in use stay.
func TestPlansByUse(t *testing.T) {
	s := negation(t, 1<<20)
	defer s.Close()
	negate(t, s, 1, 2)
	var kept *plan
	for _, p := range s.plans {
		kept = p
	}
	for n := 2; n < maxPlans+40; n++ {
		negate(t, s, 1, 2, slices.Repeat([]string{"y:0"}, n)...)
		negate(t, s, 1, 2)
	}
	if len(s.plans) != maxPlans {
		t.Errorf("%d plans are kept", len(s.plans))
	}
	if kept.closed {
		t.Error("the plan that was used all the time has made room for others")
	}
	for _, p := range s.plans {
		if n := len(p.fetches); n > 1 && n < 41 {
			t.Errorf("a plan of %d fetches stays, though later ones went", n)
		}
	}
}
