package canned

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
)

// kmeansNamed makes KMeans of parameters that have the names of tf's arguments.
func kmeansNamed(r *paramReader) (estimator.ModelFn, error) {
	o := KMeans{Columns: r.columns("feature_columns"), NumClusters: r.count("num_clusters"), DistanceMetric: r.text("distance_metric"),
		Seed: int64(r.whole("seed")), MiniBatchSteps: r.count("mini_batch_steps_per_iteration"), Retries: r.whole("kmeans_plus_plus_num_retries"),
		ChainLength: r.count("kmc2_chain_length"), Tolerance: r.number("relative_tolerance", 0)}
	if _, given := r.get("kmeans_plus_plus_num_retries"); given && o.Retries == 0 {
		r.refuse("kmeans_plus_plus_num_retries", "a whole number of at least 1, or a negative one for about the logarithm of num_clusters")
	}
	if _, given := r.get("use_mini_batch"); given {
		o.FullBatch = !r.truth("use_mini_batch")
	}
	if v, _ := r.get("initial_clusters"); v != nil {
		if _, isText := v.(string); isText {
			o.InitialClusters = r.text("initial_clusters")
		} else {
			o.Centers = r.matrix("initial_clusters")
		}
	}
	return finish(r, o.ModelFn)
}

// whole is a whole number, 0 where it is not given.
func (r *paramReader) whole(name string) int {
	r.get(name)
	n, ok := r.params.Int(name, 0)
	if !ok {
		r.refuse(name, "a whole number")
	}
	return n
}

// count is a whole number of at least 1, 0 where it is not given.
func (r *paramReader) count(name string) int {
	n := r.whole(name)
	if _, given := r.get(name); given && n < 1 {
		r.refuse(name, "a whole number of at least 1")
	}
	return n
}

// matrix is a list of lists of numbers.
func (r *paramReader) matrix(name string) [][]float32 {
	v, _ := r.get(name)
	if m, ok := v.([][]float32); ok {
		return m
	}
	rows, ok := v.([]any)
	out := make([][]float32, len(rows))
	for i := range rows {
		row, isList := rows[i].([]any)
		ok = ok && isList
		for j := range row {
			key := fmt.Sprint(j)
			x, isNumber := (estimator.Params{key: row[j]}).Float(key, 0)
			ok = ok && isNumber
			out[i] = append(out[i], float32(x))
		}
	}
	if !ok {
		r.refuse(name, "a list of lists of numbers")
		return nil
	}
	return out
}
