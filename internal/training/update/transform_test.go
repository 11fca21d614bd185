package update

import (
	"github.com/goestimator/goestimator/models/optimizers"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

func norm(x ...float64) (s float64) {
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

// TestTransforms applies each transform to gradients of several sizes, in plain descent with rate 1, so that the variable's change is the transformed gradient.
func TestTransforms(t *testing.T) {
	for _, c := range []struct {
		kind optimizers.TransformKind
		want func(g, all []float64, limit float64, i int) float64
	}{
		{optimizers.ClipNorm, func(g, _ []float64, limit float64, i int) float64 { return g[i] * limit / max(norm(g...), limit) }},
		{optimizers.ClipGlobalNorm, func(g, all []float64, limit float64, i int) float64 { return g[i] * limit / max(norm(all...), limit) }},
		{optimizers.ClipValue, func(g, _ []float64, limit float64, i int) float64 { return min(max(g[i], -limit), limit) }},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			const limit = 1.5
			o := mustNew(t, "sgd", map[string]any{"learning_rate": 1.0, string(c.kind): limit})
			zeros := map[string]*tensor.Tensor{"a": vector(0, 0, 0), "b": matrix(make([]float64, 4), 2, 2)}
			r := rand.New(rand.NewPCG(5, 6))
			for _, size := range []float64{0, 1e-3, 1, 1e3} {
				tr := start(t, trainOp(o, variable("a", 3), variable("b", 2, 2)), zeros, map[string]int{"b": 2})
				ga, gb := normals(r, 3), normals(r, 4)
				for i := range ga {
					ga[i] *= size
				}
				for i := range gb {
					gb[i] *= size
				}
				ids, _ := tensor.FromSlice([]int64{1, 0}, 2)
				tr.run(vector(ga...), matrix(gb, 2, 2), ids)
				a, b := tr.get("a"), tr.get("b")
				all := append(append([]float64{}, ga...), gb...)
				for i := range ga {
					near(t, "a", []float64{-a[i]}, []float64{c.want(ga, all, limit, i)}, 1e-12)
				}
				for i := range gb {
					near(t, "b", []float64{-b[(i+2)%4]}, []float64{c.want(gb, all, limit, i)}, 1e-12)
				}
			}
		})
	}
}

// TestAccumulate checks every rule: k batches make the same update as their mean
// gradient, and in between only the sums change among everything in a checkpoint.
func TestAccumulate(t *testing.T) {
	const k, n = 3, 4
	for _, ref := range references() {
		t.Run(ref.String(), func(t *testing.T) {
			plain := ref.optimizer(t)
			plain.Transforms = []optimizers.Transform{{Kind: optimizers.ClipGlobalNorm, Limit: 0.7}}
			slow := *plain
			slow.AccumulateSteps = k
			r := rand.New(rand.NewPCG(7, 8))
			w := normals(r, n)
			initial := map[string]*tensor.Tensor{"w": vector(w...)}
			one, many := start(t, trainOp(plain, variable("w", n)), initial, nil), start(t, trainOp(&slow, variable("w", n)), initial, nil)
			for range 5 {
				mean := make([]float64, n)
				for i := range k {
					g := normals(r, n)
					for j := range g {
						mean[j] += g[j] / k
					}
					many.run(vector(g...))
					if i == k-1 {
						one.run(vector(mean...))
					}
					for _, name := range one.vars.Names() {
						near(t, name, many.get(name), one.get(name), 1e-12)
					}
				}
				near(t, "sum", many.get("w/gradient_accumulator"), make([]float64, n), 0)
			}
		})
	}
}

// TestAccumulateSparse checks that rows are summed in a table's accumulator.
func TestAccumulateSparse(t *testing.T) {
	o := mustNew(t, "adam", map[string]any{"accumulate_steps": 2, "learning_rate": 0.1})
	plain := mustNew(t, "adam", map[string]any{"learning_rate": 0.1})
	initial := map[string]*tensor.Tensor{"w": matrix([]float64{1, 2, 3}, 3, 1)}
	many := start(t, trainOp(o, variable("w", 3, 1)), initial, map[string]int{"w": 2})
	one := start(t, trainOp(plain, variable("w", 3, 1)), initial, nil)
	for range 3 {
		ids, _ := tensor.FromSlice([]int64{2, 2}, 2)
		many.run(matrix([]float64{1, 2}, 2, 1), ids)
		ids, _ = tensor.FromSlice([]int64{0, 2}, 2)
		many.run(matrix([]float64{-4, 3}, 2, 1), ids)
		one.run(matrix([]float64{-2, 0, 3}, 3, 1))
		near(t, "w", many.get("w"), one.get("w"), 1e-12)
	}
}

func TestWeightDecayLeavesOut(t *testing.T) {
	o := mustNew(t, "adamw", map[string]any{"learning_rate": 0.5, "weight_decay": 0.2, "no_decay": "bias$"})
	tr := start(t, trainOp(o, variable("dense/kernel", 1), variable("dense/bias", 1)),
		map[string]*tensor.Tensor{"dense/kernel": vector(10), "dense/bias": vector(10)}, nil)
	tr.run(vector(0), vector(0))
	near(t, "kernel", tr.get("dense/kernel"), []float64{9}, 1e-15)
	near(t, "bias", tr.get("dense/bias"), []float64{10}, 0)
}
