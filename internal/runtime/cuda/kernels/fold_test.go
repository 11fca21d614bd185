package kernels_test

import (
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// folded reduces x of the given sizes one by one.
func folded(op host.ReduceOp, x []float32, sizes []int, reduced []bool) []float32 {
	n := 1
	for i, d := range sizes {
		if !reduced[i] {
			n *= d
		}
	}
	out, seen := make([]float32, n), make([]int, n)
	for at := range x {
		rest, o, step := at, 0, 1
		for i := len(sizes) - 1; i >= 0; i-- {
			if !reduced[i] {
				o += rest % sizes[i] * step
				step *= sizes[i]
			}
			rest /= sizes[i]
		}
		switch v := x[at]; {
		case seen[o] == 0 && op != host.ReduceSumSquares:
			out[o] = v
		case op == host.ReduceMax:
			out[o] = max(out[o], v)
		case op == host.ReduceMin:
			out[o] = min(out[o], v)
		case op == host.ReduceProd:
			out[o] *= v
		case op == host.ReduceSumSquares:
			out[o] += v * v
		default:
			out[o] += v
		}
		seen[o]++
	}
	for i := range out {
		if op == host.ReduceMean {
			out[i] /= float32(seen[i])
		}
	}
	return out
}

func TestFold(t *testing.T) {
	r := newRig(t, "fold")
	for i, c := range []struct {
		sizes   []int
		reduced []bool
	}{
		{[]int{7}, []bool{true}}, {[]int{3000}, []bool{true}}, {[]int{3, 4, 5}, []bool{true, false, true}}, {[]int{3, 4, 5}, []bool{false, true, false}},
		{[]int{2, 3, 2, 3, 2, 3}, []bool{false, true, false, true, false, true}}, {[]int{2, 1, 40, 5}, []bool{false, true, true, false}}, {[]int{4}, []bool{false}},
	} {
		n := 1
		for _, d := range c.sizes {
			n *= d
		}
		x := numbers(uint64(i), n)
		ints := mapped(x, func(v float32) int32 { return int32(v * 2) })
		for _, op := range []host.ReduceOp{host.ReduceSum, host.ReduceMean, host.ReduceMax, host.ReduceMin, host.ReduceProd, host.ReduceSumSquares} {
			name := fmt.Sprint(c.sizes, c.reduced, op)
			f := kernels.Fold{Op: op, Sizes: c.sizes, Reduced: c.reduced, Scale: 1}
			want := folded(op, x, c.sizes, c.reduced)
			f.Type, f.X, f.Dst = tensor.Float32, up(r, x), r.alloc(4*len(want))
			r.run(must(f.Call()))
			near(t, name, want, down[float32](r, f.Dst, len(want)), 1e-4)
			f.Type, f.X, f.Dst = tensor.Float64, up(r, wide(x)), r.alloc(8*len(want))
			r.run(must(f.Call()))
			near(t, name+" float64", want, narrow(down[float64](r, f.Dst, len(want))), 1e-4)
			if op == host.ReduceMean || op == host.ReduceProd || op == host.ReduceSumSquares {
				continue
			}
			want = folded(op, mapped(ints, func(v int32) float32 { return float32(v) }), c.sizes, c.reduced)
			f.Type, f.X, f.Dst = tensor.Int32, up(r, ints), r.alloc(4*len(want))
			r.run(must(f.Call()))
			near(t, name+" int32", want, mapped(down[int32](r, f.Dst, len(want)), func(v int32) float32 { return float32(v) }), 0)
		}
	}
	all := kernels.Fold{Op: host.ReduceMin, Type: tensor.Bool, X: up(r, []byte{1, 1, 0, 1}), Dst: r.alloc(2), Sizes: []int{2, 2}, Reduced: []bool{false, true}}
	r.run(must(all.Call()))
	if got := down[byte](r, all.Dst, 2); got[0] != 1 || got[1] != 0 {
		t.Errorf("all: got %v", got)
	}
}

func TestHalfReductions(t *testing.T) {
	r := newRig(t, "reduce")
	for _, size := range [][3]int{{1, 5000, 40}, {30, 70, 1}, {2, 9, 33}} {
		x := numbers(3, size[0]*size[1]*size[2])
		h := bfloat16s(x)
		want := make([]float32, size[0]*size[2])
		host.Reduce(host.ReduceSum, want, x, size[0], size[1], size[2])
		c := kernels.Reduction{Op: host.ReduceSum, X: up(r, h), Dst: r.alloc(4 * len(want)), Outer: size[0], N: size[1], Inner: size[2], XHalf: true}
		c.Scratch = r.alloc(c.ScratchBytes() + 1)
		r.run(c.Calls()...)
		near(t, fmt.Sprint(size), want, down[float32](r, c.Dst, len(want)), 1e-4)
		c.DstHalf = true
		r.run(c.Calls()...)
		near(t, fmt.Sprint(size, " to bfloat16"), want, r.get(c.Dst, len(want), true), 1e-2)
	}
}

func TestArgAndRange(t *testing.T) {
	r := newRig(t, "fold")
	nan := numbers(1, 1)[0] * 0
	nan /= nan
	x := []float32{1, 5, 5, 2, nan, 9, -1, -7, -7}
	a := kernels.ArgBest{Type: tensor.Float32, Dst: r.alloc(12), X: up(r, x), Outer: 3, N: 3, Inner: 1}
	for _, c := range []struct {
		inner    int
		smallest bool
		want     [3]int32
	}{{1, false, [3]int32{1, 2, 0}}, {1, true, [3]int32{0, 0, 1}}, {3, false, [3]int32{1, 0, 1}}, {3, true, [3]int32{2, 2, 2}}} {
		if a.Inner, a.Smallest, a.Outer = c.inner, c.smallest, 3/c.inner; true {
			r.run(a.Call())
		}
		if got := down[int32](r, a.Dst, 3); [3]int32(got) != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	dst := r.alloc(24)
	r.run(kernels.Range(tensor.Int64, dst, up(r, []int64{5}), up(r, []int64{-2}), 3))
	if got := down[int64](r, dst, 3); [3]int64(got) != [3]int64{5, 3, 1} {
		t.Errorf("range: got %v", got)
	}
}
