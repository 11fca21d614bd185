package canned

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/params"
)

// kmeansNamed makes KMeans from parameters with the names of tf's arguments.
func kmeansNamed(r *paramReader) (estimator.ModelFn, error) {
	o := KMeans{Columns: r.columns("feature_columns"), NumClusters: r.count("num_clusters"), DistanceMetric: r.text("distance_metric"),
		Seed: int64(r.whole("seed", 0)), MiniBatchSteps: r.count("mini_batch_steps_per_iteration"), Retries: r.whole("kmeans_plus_plus_num_retries", 0),
		ChainLength: r.count("kmc2_chain_length"), Tolerance: r.Float("relative_tolerance", 0)}
	if r.Has("kmeans_plus_plus_num_retries") && o.Retries == 0 {
		r.Expect("kmeans_plus_plus_num_retries", "a whole number of at least 1, or a negative one for about the logarithm of num_clusters")
	}
	o.FullBatch = !r.Bool("use_mini_batch", true)
	if v, isText := r.Any("initial_clusters").(string); isText {
		o.InitialClusters = v
	} else {
		o.Centers = r.matrix("initial_clusters")
	}
	return finish(r, o.ModelFn)
}

// matrix is a list of lists of numbers.
func (r *paramReader) matrix(name string) [][]float32 {
	return params.Get(r.Reader, name, "a list of lists of numbers", nil, func(x any) ([][]float32, bool) {
		if m, ok := x.([][]float32); ok {
			return m, true
		}
		return params.List(x, func(row any) ([]float32, bool) { return params.List(row, number) })
	})
}

func number(x any) (float32, bool) {
	v, ok := params.Float(x)
	return float32(v), ok
}
