package kernels_test

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
)

func TestGather(t *testing.T) {
	r := newRig(t, "index")
	for _, c := range []struct {
		outer, n, inner int
		each            bool
		ids             []int32
	}{{1, 50, 7, false, []int32{3, 49, 0, 3}}, {3, 4, 8, false, []int32{3, 0}}, {2, 5, 1, true, []int32{4, 0, 1, 1}}, {1, 9, 4, false, []int32{8, 0}}} {
		x := numbers(1, c.outer*c.n*c.inner)
		count := len(c.ids)
		if c.each {
			count /= c.outer
		}
		var want []float32
		for o := range c.outer {
			for k := range count {
				id := c.ids[k]
				if c.each {
					id = c.ids[o*count+k]
				}
				want = append(want, x[(o*c.n+int(id))*c.inner:][:c.inner]...)
			}
		}
		g := kernels.Gather{Out: r.alloc(4 * len(want)), X: up(r, x), IDs: up(r, c.ids), Size: 4, Outer: c.outer, Count: count, N: c.n, Inner: c.inner, Each: c.each, Fault: kernels.Fault{Record: faults(r)}}
		r.run(g.Call())
		near(t, "gather", want, down[float32](r, g.Out, len(want)), 0)
		if f := down[int64](r, g.Fault.Record, 1)[0]; f != 0 {
			t.Errorf("good ids: got fault %d", f)
		}
	}
}

func TestGatherTellsOfIDsThatAreNone(t *testing.T) {
	r := newRig(t, "index")
	g := kernels.Gather{Out: r.alloc(8 * 3), X: up(r, []int64{5, 6}), IDs: up(r, []int64{1, -1, 0}), Int64: true, Size: 8, Outer: 1, Count: 3, N: 2, Inner: 1, Padding: true, Fault: kernels.Fault{Record: faults(r), Operation: 1}}
	r.run(g.Call())
	if got := down[int64](r, g.Out, 3); !slices.Equal(got, []int64{6, 0, 5}) {
		t.Errorf("with padding: expected 6 0 5, got %v", got)
	}
	if f := down[int64](r, g.Fault.Record, 1)[0]; f != 0 {
		t.Errorf("padding: got fault %d", f)
	}
	g.Padding = false
	r.run(g.Call())
	if f := down[int64](r, g.Fault.Record, 4); !slices.Equal(f, []int64{2, -1, 1, 2}) {
		t.Errorf("id -1 at place 1 of 2, operation 1: got fault %v", f)
	}
}

func TestOneHot(t *testing.T) {
	r := newRig(t, "index")
	h := kernels.OneHot{Out: r.alloc(4 * 12), IDs: up(r, []int32{2, -1, 0, 3}), On: up(r, []float32{9}), Off: up(r, []float32{1}), Size: 4, Outer: 2, Depth: 3, Inner: 2}
	r.run(h.Call())
	near(t, "one hot", []float32{1, 1, 1, 1, 9, 1, 9, 1, 1, 1, 1, 1}, down[float32](r, h.Out, 12), 0)
}

func TestTopK(t *testing.T) {
	r := newRig(t, "index")
	const rows, n, k = 3, 600, 5
	x := numbers(1, rows*n)
	for i := range x {
		x[i] = float32(math.Round(float64(x[i]) * 20)) // many equal ones
	}
	x[n] = float32(math.Inf(-1))
	values, columns := r.alloc(4*rows*k), r.alloc(4*rows*k)
	r.run(kernels.TopK(values, columns, up(r, x), rows, n, k))
	var want []float32
	var at []int32
	for row := range rows {
		order := indices(n)
		slices.SortStableFunc(order, func(a, b int) int { return int(x[row*n+b] - x[row*n+a]) })
		for _, i := range order[:k] {
			want, at = append(want, x[row*n+i]), append(at, int32(i))
		}
	}
	near(t, "values", want, down[float32](r, values, rows*k), 0)
	if got := down[int32](r, columns, rows*k); !slices.Equal(got, at) {
		t.Errorf("expected columns %v, got %v", at, got)
	}
}

func TestInTopK(t *testing.T) {
	r := newRig(t, "index")
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := []float32{1, 3, 2, 5, 5, 1, 1, nan, 2, 1, 2, inf, 4, 4, 4, 0, 1, 2}
	targets := []int32{2, 0, 0, 1, 2, 3}
	out := r.alloc(6)
	r.run(kernels.InTopK(out, up(r, x), up(r, targets), up(r, []int32{2}), false, 6, 3))
	if got := down[byte](r, out, 6); !slices.Equal(got, []byte{1, 1, 0, 0, 1, 0}) {
		t.Errorf("expected 1 1 0 0 1 0, got %v", got)
	}
}
