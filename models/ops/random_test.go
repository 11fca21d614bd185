package ops_test

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TestRandomNumbers: bounds, mean and deviation of 20,000 numbers. A step has the same numbers whenever it is run, another step others.
func TestRandomNumbers(t *testing.T) {
	const rows, columns = 200, 100
	x := slices.Repeat([]float64{0}, rows*columns)
	inf := math.Inf(1)
	for _, k := range []struct {
		name            string
		low, high       float64 // low <= number < high
		mean, deviation float64
		draw            func(c models.Context, x *G.Node) *G.Node
	}{
		{"uniform", 0, 1, 0.5, 1 / math.Sqrt(12), ops.RandomUniform},
		{"uniform in", -1, 2, 0.5, 3 / math.Sqrt(12), func(c models.Context, x *G.Node) *G.Node { return ops.RandomUniformIn(c, x, -1, 2) }},
		{"normal", -inf, inf, 1, 2, func(c models.Context, x *G.Node) *G.Node { return ops.RandomNormal(c, x, 1, 2) }},
		// Truncation at two standard deviations reduces the deviation of a normal distribution to 0.8796 of it.
		{"truncated", -3, 5, 1, 2 * 0.8796, func(c models.Context, x *G.Node) *G.Node { return ops.TruncatedNormal(c, x, 1, 2) }},
		// The variance of n equally likely integers is (n²-1)/12.
		{"integers", -3, 9, 2.5, math.Sqrt(143.0 / 12), func(c models.Context, x *G.Node) *G.Node {
			return ops.Cast(c, ops.RandomInts(c, x, -3, 9, tensor.Int32), models.GraphType(x.Dtype()))
		}},
	} {
		p := modeltest.New(t, models.Options{Mode: models.Train, DType: tensor.Float32, Seed: 3}, func(b *models.Builder) []*G.Node {
			return []*G.Node{k.draw(b, b.Input("x", models.GraphType(G.Float32), b.Batch(), columns))}
		})
		at := func(step int64) []float64 {
			return modeltest.Floats(p.Run(t, device.NewHost(), rows, step, modeltest.Tensor(tensor.Float32, x, rows, columns))[0])
		}
		got := at(5)
		sum, squares := 0.0, 0.0
		for i, v := range got {
			if !(v >= k.low && v < k.high) {
				t.Fatalf("%s: number %d is %v, expected one from %v to %v", k.name, i, v, k.low, k.high)
			}
			sum, squares = sum+v, squares+(v-k.mean)*(v-k.mean)
		}
		n := float64(len(got))
		// Five standard deviations of the mean of n numbers; for the deviation itself it is similar.
		near := 5 * k.deviation / math.Sqrt(n)
		if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean-k.mean) > near || math.Abs(deviation-k.deviation) > near {
			t.Errorf("%s: mean %v and deviation %v, expected %v and %v", k.name, mean, deviation, k.mean, k.deviation)
		}
		if again, next := at(5), at(6); !slices.Equal(got, again) || slices.Equal(got, next) {
			t.Errorf("%s: expected the same numbers in step 5 again, and others in step 6", k.name)
		}
	}
}
