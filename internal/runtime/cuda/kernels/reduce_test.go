package kernels_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

func TestReduce(t *testing.T) {
	r := newRig(t, "reduce")
	for _, size := range [][3]int{{1, 1, 1}, {5, 7, 1}, {9, 33, 1}, {2, 1500, 1}, {1, 20000, 1}, {1, 9000, 3}, {3, 11, 40}, {1, 100, 65}, {4, 0, 5}} {
		outer, n, inner := size[0], size[1], size[2]
		x := numbers(uint64(outer*n+inner), outer*n*inner)
		if len(x) > 3 {
			x[3] = float32(math.NaN())
		}
		px, dst := up(r, x), r.alloc(4*outer*inner)
		for op := host.ReduceSum; op <= host.ReduceSumSquares; op++ {
			want := make([]float32, outer*inner)
			host.Reduce(op, want, x, outer, n, inner)
			red := kernels.Reduction{Op: op, Dst: dst, X: px, Outer: outer, N: n, Inner: inner}
			if b := red.ScratchBytes(); b > 0 {
				red.Scratch = r.alloc(b)
			}
			r.run(red.Calls()...)
			near(t, "reduction", want, down[float32](r, dst, outer*inner), 1e-4)
		}
	}
}

func TestLongReductionsAreSplit(t *testing.T) {
	for _, red := range []kernels.Reduction{{Outer: 1, N: 1 << 20, Inner: 1}, {Outer: 1, N: 1 << 16, Inner: 64}} {
		if len(red.Calls()) != 2 || red.ScratchBytes() == 0 {
			t.Errorf("%+v: expected two launches and scratch memory", red)
		}
	}
	if red := (kernels.Reduction{Outer: 1 << 16, N: 64, Inner: 1}); len(red.Calls()) != 1 || red.ScratchBytes() != 0 {
		t.Error("many rows: expected one launch")
	}
}
