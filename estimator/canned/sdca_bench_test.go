package canned_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// BenchmarkSDCA trains a logistic regression by SDCA, 128 examples per step. Its names
// have num_examples: a step should not cost more if it is larger.
func BenchmarkSDCA(b *testing.B) {
	const n, batch = 8192, 128
	r := rand.New(rand.NewPCG(1, 2))
	x, y, id, word := make([]float32, 4*n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range n {
		for j := range 4 {
			x[4*i+j] = float32(r.NormFloat64())
		}
		y[i], id[i], word[i] = int64(r.IntN(2)), int64(i), r.Int64N(100)
	}
	in := estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 4), inputs.Slice("word", inputs.Feature, word),
			inputs.Slice("id", inputs.Feature, id), inputs.Slice("y", inputs.Label, y))
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(batch, true)), err
	})
	for _, examples := range []int{1 << 14, 1 << 16, 1 << 20} {
		b.Run(fmt.Sprint(examples), func(b *testing.B) {
			e := ok(canned.LinearClassifier{Columns: []feature.Column{&feature.Numeric{Key: "x", Shape: []int{4}}, &feature.Identity{Key: "word", Size: 100}},
				SDCA: &canned.LinearSDCA{ExampleIDColumn: "id", Examples: examples}}.New(scratch(b)...))
			defer e.Close()
			ok(e.Train(context.Background(), in, estimator.Steps(64)))
			b.ResetTimer()
			ok(e.Train(context.Background(), in, estimator.Steps(int64(b.N))))
			b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "examples/s")
		})
	}
}
