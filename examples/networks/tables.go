package main

import (
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// dcn predicts the sign of a sum of products; configs/adult_dcn.yaml uses real data.
func dcn() task {
	input := func(ic inputs.Context) (*rows, error) {
		const features = 8
		r, count := random(ic), 8192
		x, labels := make([]float32, count*features), make([]int64, count)
		for i := range labels {
			row := x[i*features:][:features]
			for k := range row {
				row[k] = float32(r.NormFloat64())
			}
			if row[0]*row[1]-row[2]*row[3] > 0 {
				labels[i] = 1
			}
		}
		return &rows{[]inputs.NamedTensor{inputs.Slice("x", inputs.Feature, x, features), inputs.Slice("label", inputs.Label, labels)}, count}, nil
	}
	return task{model: heads.BinaryClass().Of(named("dcn", map[string]any{"cross_layers": 2, "hidden_units": 16})),
		input: input, batch: 128, steps: 600, metric: "accuracy", bound: 0.96, adam: 0.01}
}

// Queries and candidates have a topic, the remainder of their ids. A query matches all candidates with its topic.
const (
	queries    = 200
	candidates = 300
	topics     = 15
	found      = 10 // candidates returned for each query
)

// twoTower learns from pairs which candidates match a query: the other candidates in a batch serve as negatives.
func twoTower() task {
	input := func(ic inputs.Context) (*rows, error) {
		r, count := random(ic), 8192
		query, candidate := make([]int32, count), make([]int32, count)
		for i := range query {
			query[i] = r.Int32N(queries)
			candidate[i] = query[i]%topics + topics*r.Int32N(candidates/topics)
		}
		return &rows{[]inputs.NamedTensor{inputs.Slice("query", inputs.Feature, query), inputs.Slice("candidate", inputs.Label, candidate)}, count}, nil
	}
	return task{model: estimator.ModelFunc(retrieve), input: input, batch: 64, steps: 600, metric: "precision_at_10", bound: 0.95}
}

// retrieve finds the best candidates for queries.
func retrieve(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	net := networks.TwoTower{Queries: queries, Candidates: candidates, Embedding: 16, Hidden: []int{32}, Width: 16}
	query := net.Query(mc, features.Only())
	if mc.Mode() == models.Train {
		spec := &estimator.Spec{Loss: losses.InBatch(mc, net.Candidate(mc, labels.Only()), query, 0.2, losses.Options{})}
		rule := optimizers.Adam(0.005)
		spec.TrainOp = rule.Minimize(mc, spec.Loss)
		return spec, nil
	}
	all := net.Candidate(mc, numbers(mc, func(id int32) int32 { return id }))
	scores, ids := ops.TopK(mc, ops.MatMulT(mc, query, all, false, true), found)
	spec := &estimator.Spec{Predictions: estimator.Nodes{"candidates": ids, "scores": scores}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	topic := numbers(mc, func(id int32) int32 { return id % topics })
	own := ops.ExpandDims(mc, ops.GatherAxis(mc, topic, labels.Only(), 0), 1)
	right := ops.Cast(mc, ops.Equal(mc, ops.GatherAxis(mc, topic, ids, 0), own), tensor.Float32)
	spec.Loss = ops.Sub(mc, ops.Scalar(mc, tensor.Float32, 1), ops.Mean(mc, right))
	spec.EvalMetrics = estimator.Metrics{"precision_at_10": estimator.NewMetric("mean", right)}
	return spec, nil
}

// numbers is a constant with one number for each candidate.
func numbers(mc *estimator.ModelContext, of func(id int32) int32) *G.Node {
	t := tensor.New(tensor.Int32, candidates)
	for id := range int32(candidates) {
		tensor.Values[int32](t)[id] = of(id)
	}
	return ops.Constant(mc, t)
}
