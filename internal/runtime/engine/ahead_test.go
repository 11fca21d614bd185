package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestAhead trains on batches that another goroutine uploads, and compares with feeding each batch to Run.
func TestAhead(t *testing.T) { onSplits(t, AheadOn) }

// AheadOn is TestAhead on one device.
func AheadOn(t *testing.T, dev device.Device) {
	var results [2]map[string]*tensor.Tensor
	for way := range results {
		m := newMLP(tensor.Float32, 5, 7, 3, 0.1)
		vars := m.variables(t, dev, 2)
		p := ok(Compile(m.g, m.spec, dev, vars, Options{Capacity: 4}))
		r := rand.New(rand.NewPCG(1, 1))
		if way == 0 {
			for i := range 20 {
				n := 1 + i%6
				if err := p.Run(bg, n, mlpRowsOf(r, n, 5, 3)); err != nil {
					t.Fatal(err)
				}
			}
		} else {
			runAhead(t, p, r)
		}
		results[way] = ok(vars.Snapshot())
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, w := range results[0] {
		if string(results[1][name].Bytes) != string(w.Bytes) {
			t.Errorf("variable %s differs", name)
		}
	}
}

func runAhead(t *testing.T, p *Program, r *rand.Rand) {
	t.Helper()
	batches, failed := make(chan *Ahead), make(chan error, 1)
	permits := make(chan struct{}, maxAhead)
	go func() {
		defer close(batches)
		for i := range 20 {
			permits <- struct{}{}
			n := 1 + i%6
			feeds := mlpRowsOf(r, n, 5, 3)
			late := feeds[1]
			if i%3 == 1 {
				feeds[1] = nil
			}
			a, err := p.Ahead(n, feeds)
			if err != nil {
				failed <- err
				return
			}
			if i%3 == 1 {
				a.Set(1, late)
			}
			batches <- a
		}
	}()
	for a := range batches {
		if err := p.RunAhead(bg, a); err != nil {
			t.Error(err)
		}
		<-permits
	}
	select {
	case err := <-failed:
		t.Error(err)
	default:
	}
}

func TestAheadErrors(t *testing.T) {
	d := newTwin()
	p := ok(double(d, Options{}))
	x := func(n int) []*tensor.Tensor {
		v := tensor.New(tensor.Float32, n, 3)
		tensor.Values[float32](v)[0] = float32(n)
		return []*tensor.Tensor{v}
	}
	if _, err := p.Ahead(0, x(1)); err == nil {
		t.Error("no rows: expected an error")
	}
	if _, err := p.Ahead(2, x(1)); err == nil {
		t.Error("other rows: expected an error")
	}
	a, b, dropped := ok(p.Ahead(1, x(1))), ok(p.Ahead(2, x(2))), ok(p.Ahead(1, x(1)))
	if _, err := p.Ahead(1, x(1)); !errors.Is(err, ErrAhead) {
		t.Errorf("a fourth: expected ErrAhead, got %v", err)
	}
	if err := dropped.Drop(); err != nil {
		t.Error(err)
	}
	if err := p.Run(bg, 3, x(3)); err != nil || p.Value(0).Float(0) != 6 { // beside them
		t.Errorf("a run beside: %v", err)
	}
	if err := p.RunAhead(bg, b); err != nil || p.Value(0).Float(0) != 4 {
		t.Errorf("the second: %v", err)
	}
	if err := p.RunAhead(bg, b); err == nil {
		t.Error("twice: expected an error")
	}
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	if err := p.RunAhead(cancelled, a); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	c := ok(p.Ahead(1, x(1)))
	if err := errors.Join(c.Drop(), c.Drop()); err != nil {
		t.Error(err)
	}
	last := ok(p.Ahead(1, x(1)))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Ahead(1, x(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
	if err := p.RunAhead(bg, last); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
