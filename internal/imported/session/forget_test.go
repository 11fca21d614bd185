package session

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// chain is a model of single nodes: a vector of x ones, negated length times.
func chain(t *testing.T, length int) *Session {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	open := graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}
	x := b.Placeholder("x", graph.Type{DType: tensor.Int32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}})
	y := b.Op("Fill", "ones", open, graph.Attrs{"T": tensor.Float32, "index_type": tensor.Int32}, x, b.Const("one", tensor.Scalar(float32(1))))
	for i := range length {
		y = b.Op("Neg", "negated"+string(rune('a'+i)), open, graph.Attrs{"T": tensor.Float32}, y)
	}
	return sessionOf(t, b, map[string]graph.Output{"x": x}, b.Op("Neg", "y", open, graph.Attrs{"T": tensor.Float32}, y))
}

// TestChainsGiveBack: a chain of large nodes takes the memory of two nodes, and not a byte less.
func TestChainsGiveBack(t *testing.T) {
	const elements = 1 << 20
	const size = 4 * elements
	s := chain(t, 9)
	for _, c := range []struct {
		limit int64
		fits  bool
	}{{2*size - 1, false}, {2 * size, true}} {
		server := budget.NewServer(budget.Limits{Server: c.limit})
		a := server.Open()
		out, err := s.Run(budget.With(t.Context(), a), map[string]*tensor.Tensor{"x:0": vector(elements)}, []string{"y:0"})
		if (err == nil) != c.fits {
			t.Errorf("%d bytes: got %v", c.limit, err)
		}
		if err == nil && (a.Held() != int64(out[0].MemoryBytes()) || tensor.Values[float32](out[0])[elements-1] != 1) {
			t.Errorf("%d bytes are held after a run whose answer is %v...", a.Held(), tensor.Values[float32](out[0])[:1])
		}
		a.Close()
		server.Close()
	}
}

// TestIntermediatesStay: fetched values stay, whatever else reads them, also with several requests at the same time.
func TestIntermediatesStay(t *testing.T) {
	s := chain(t, 5)
	fetches := []string{"negateda:0", "y:0", "ones:0", "negatedc:0", "negateda:0"}
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			ctx, a := asked(t, 16)
			for range 10 {
				before := a.Mark()
				out, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": vector(int32(4096 + n))}, fetches)
				if err != nil {
					t.Error(err)
					return
				}
				held := 0
				for i, want := range []float32{-1, 1, 1, -1, -1} {
					held += out[i].MemoryBytes()
					if values := tensor.Values[float32](out[i]); len(values) != 4096+n || slices.Min(values) != want || slices.Max(values) != want {
						t.Errorf("fetch %d: got %v..., expected %v", i, values[:1], want)
					}
				}
				if a.Held() != int64(held) {
					t.Errorf("%d bytes are held, expected %d", a.Held(), held)
				}
				a.ReleaseSince(before, 0)
			}
		})
	}
	wait.Wait()
}

// TestProgramsBetween: the memory of a program's inputs, outputs and temporary values is given back too.
func TestProgramsBetween(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	rows := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(1024)}}}
	float := graph.Attrs{"T": tensor.Float32}
	x := b.Placeholder("x", rows)
	y := b.Op("Relu", "program", rows, float, x)
	for i := range 6 { // Roll has no program
		name := string(rune('a' + i))
		zero := b.Const("zero"+name, tensor.Scalar(int32(0)))
		rolled := b.Op("Roll", "rolled"+name, rows, graph.Attrs{"T": tensor.Float32, "Tshift": tensor.Int32, "Taxis": tensor.Int32}, y, zero, zero)
		y = b.Op("MatMul", "product"+name, rows, float, rolled, b.Const("w"+name, identity(1024)))
	}
	s := sessionOf(t, b, map[string]graph.Output{"x": x}, y)
	const n = 1024
	in := tensor.New(tensor.Float32, n, 1024)
	for i := range n {
		tensor.Values[float32](in)[i*1024] = float32(i)
	}
	server := budget.NewServer(budget.Limits{Server: 4 * 4 << 20}) // a program's values, its input and output, and a copy; 12 are made in all
	defer server.Close()
	for range 2 {
		a := server.Open()
		a.Received(4 << 20)
		out, err := s.Run(budget.With(t.Context(), a), map[string]*tensor.Tensor{"x:0": in}, []string{"productf:0", "producta:0"})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			if !slices.Equal(tensor.Values[float32](o), tensor.Values[float32](in)) {
				t.Error("the rows are other ones")
			}
		}
		a.Close()
	}
	if server.Used() != 0 {
		t.Errorf("%d bytes are still counted", server.Used())
	}
}

// identity is the identity matrix.
func identity(n int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, n, n)
	for i := range n {
		tensor.Values[float32](t)[i*n+i] = 1
	}
	return t
}

// again is a stage whose nodes turn out not to compile.
type again struct{ runs int }

func (a *again) run(context.Context, *run) error {
	a.runs++
	return &notCompiled{}
}

func (a *again) ends([]bool) {}
func (a *again) close()      {}

// TestRunsBeginAnew: a run that has to restart still has its feeds, and pays once.
func TestRunsBeginAnew(t *testing.T) {
	const elements = 1 << 20
	s := chain(t, 3)
	feeds, fetches := map[string]*tensor.Tensor{"x:0": vector(elements)}, []string{"y:0"}
	if _, err := s.Run(t.Context(), feeds, fetches); err != nil {
		t.Fatal(err)
	}
	last := &again{}
	for _, p := range s.plans {
		for _, v := range p.variants {
			v.stages = append(v.stages, last)
		}
	}
	server := budget.NewServer(budget.Limits{Server: 2 * 4 * elements})
	defer server.Close()
	a := server.Open()
	defer a.Close()
	out, err := s.Run(budget.With(t.Context(), a), feeds, fetches)
	if err != nil || last.runs != 1 {
		t.Fatalf("got %v after %d runs", err, last.runs)
	}
	if a.Held() != int64(out[0].MemoryBytes()) || tensor.Values[float32](out[0])[elements-1] != 1 {
		t.Errorf("%d bytes are held after a run whose answer is %v...", a.Held(), tensor.Values[float32](out[0])[:1])
	}
}

// TestForgets: when a run restarts, nothing is left of it but its feeds.
func TestForgets(t *testing.T) {
	s := chain(t, 3)
	if _, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": vector(4)}, []string{"y:0"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.plans {
		r := &run{p: p, slots: eager.NewSlots(p.size)}
		for at := range r.slots.Values {
			r.slots.Values[at].T = vector(1)
		}
		r.forget()
		for at, v := range r.slots.Values {
			if fed := at == p.feeds[0].slot; fed != (v.T != nil) {
				t.Errorf("slot %d: left %v, expected %v", at, v.T != nil, fed)
			}
		}
	}
}
