package canned_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// kmeansGolden is what testdata/kmeans.py recorded.
type kmeansGolden struct {
	X, Start [][]float32
	Cases    []struct {
		Metric       string
		Batch, Steps int
		Score        float64
		Variables    map[string]any
		Index        []int64
		Distances    [][]float64
	}
}

func readKMeansGolden(t *testing.T) (g kmeansGolden) {
	t.Helper()
	b, err := os.ReadFile("testdata/kmeans.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// points is rows as data, in batches shared by the replicas: endless in training, else
// one pass.
func points(x [][]float32, batch int) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		share := batch / max(ic.ReplicasInSync, 1)
		var flat []float32
		for i, row := range x {
			if n := max(ic.NumPipelines, 1); i%batch/(batch/n) == ic.Pipeline || ic.Mode != inputs.Train {
				flat = append(flat, row...)
			}
		}
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, flat, len(x[0])))
		if err != nil {
			return nil, err
		}
		if ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(len(x), false)), nil
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(share, false)), nil
	})
}

func newTestEstimator(t *testing.T, fn estimator.ModelFn, opts ...runconfig.Option) *estimator.Estimator {
	t.Helper()
	opts = append([]runconfig.Option{runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0)}, opts...)
	rc, err := runconfig.FromTFConfig("", opts...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(fn, estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func train(t *testing.T, e *estimator.Estimator, in estimator.InputFn, steps int64) {
	t.Helper()
	if _, err := e.Train(context.Background(), in, estimator.MaxSteps(steps)); err != nil {
		t.Fatal(err)
	}
}

func value(t *testing.T, e *estimator.Estimator, name string) *tensor.Tensor {
	t.Helper()
	v, err := e.VariableValue(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func made[M estimator.ModelFn](t *testing.T, modelFn func() (M, error)) M {
	t.Helper()
	m, err := modelFn()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// flatten lists the numbers of nested lists.
func flatten(v any) []float64 {
	switch v := v.(type) {
	case []any:
		var out []float64
		for _, x := range v {
			out = append(out, flatten(x)...)
		}
		return out
	case bool:
		if v {
			return []float64{1}
		}
		return []float64{0}
	}
	return []float64{v.(float64)}
}

func close32(got, want float64) bool { return math.Abs(got-want) <= 1e-5*(1+math.Abs(want)) }

// TestKMeansAgainstTensorFlow compares with tf.estimator from fixed centers, under several strategies.
func TestKMeansAgainstTensorFlow(t *testing.T) {
	g := readKMeansGolden(t)
	for _, c := range g.Cases {
		for _, s := range []runconfig.Strategy{{Name: "default"}, {Name: "mirrored", Replicas: 2}, {Name: "central_storage", Replicas: 4}} {
			t.Run(fmt.Sprintf("%s, %s", c.Metric, s.Name), func(t *testing.T) {
				e := newTestEstimator(t, made(t, canned.KMeans{Centers: g.Start, DistanceMetric: c.Metric, FullBatch: true}.ModelFn), runconfig.TrainDistribute(s))
				train(t, e, points(g.X, c.Batch), int64(c.Steps))
				for name, want := range c.Variables {
					v := value(t, e, name)
					for i, w := range flatten(want) {
						if !close32(v.Float(i), w) {
							t.Errorf("%s[%d] is %v, TensorFlow has %v", name, i, v.Float(i), w)
						}
					}
				}
				res, err := e.Evaluate(context.Background(), points(g.X, c.Batch))
				if err != nil {
					t.Fatal(err)
				}
				if score, _ := res.Scalar(canned.Score); !close32(score, c.Score) {
					t.Errorf("score is %v, TensorFlow has %v", score, c.Score)
				}
				i := 0
				for p, err := range e.Predict(context.Background(), points(g.X, c.Batch)) {
					if err != nil {
						t.Fatal(err)
					}
					if got := tensor.Values[int64](p.Get(canned.ClusterIndex))[0]; got != c.Index[i] {
						t.Errorf("point %d is in cluster %d, TensorFlow says %d", i, got, c.Index[i])
					}
					for j, w := range c.Distances[i] {
						if got := p.Get(canned.AllDistances).Float(j); math.Abs(got-w) > 2e-5*(1+math.Abs(w)) {
							t.Errorf("point %d is at %v of center %d, TensorFlow says %v", i, got, j, w)
						}
					}
					i++
				}
			})
		}
	}
}

// kmeansReference is the algorithm in double precision: a step for each batch of the
// points, and an iteration every few steps.
func kmeansReference(g kmeansGolden, batch, every, steps int) map[string][]float64 {
	k, d := len(g.Start), len(g.Start[0])
	centers, updated, counts := make([]float64, k*d), make([]float64, k*d), make([]float64, k)
	for i, row := range g.Start {
		for j, v := range row {
			centers[i*d+j], updated[i*d+j] = float64(v), float64(v)
		}
		if every == 1 {
			counts[i] = 1
		}
	}
	left := every
	for step := range steps {
		switch {
		case every == 1:
			copy(centers, updated)
		case left > 0:
			left--
		default:
			left = every - 1
			copy(centers, updated)
			clear(counts)
		}
		sums, n := make([]float64, k*d), make([]float64, k)
		for i := range batch {
			x := g.X[(step*batch+i)%len(g.X)]
			best, least := 0, math.Inf(1)
			for c := range k {
				s := 0.0
				for j, v := range x {
					s += (float64(v) - centers[c*d+j]) * (float64(v) - centers[c*d+j])
				}
				if s < least {
					best, least = c, s
				}
			}
			n[best]++
			for j, v := range x {
				sums[best*d+j] += float64(v)
			}
		}
		for c := range k {
			counts[c] += n[c]
			for j := range d {
				if n[c] > 0 {
					updated[c*d+j] += (sums[c*d+j] - n[c]*updated[c*d+j]) / counts[c]
				}
			}
		}
	}
	if every == 1 {
		return map[string][]float64{"clusters": updated, "Variable": counts}
	}
	return map[string][]float64{"clusters": centers, "clusters_updated": updated, "Variable": counts, "update_in_steps": {float64(left)}}
}

// TestKMeansMiniBatches compares mini-batches, each by itself and in iterations, with the reference.
func TestKMeansMiniBatches(t *testing.T) {
	const batch, steps = 16, 11
	g := readKMeansGolden(t)
	for _, every := range []int{1, 3} {
		for _, s := range []runconfig.Strategy{{Name: "default"}, {Name: "mirrored", Replicas: 4}} {
			t.Run(fmt.Sprintf("%d steps an iteration, %s", every, s.Name), func(t *testing.T) {
				e := newTestEstimator(t, made(t, canned.KMeans{Centers: g.Start, MiniBatchSteps: every}.ModelFn), runconfig.TrainDistribute(s))
				train(t, e, points(g.X, batch), steps)
				for name, want := range kmeansReference(g, batch, every, steps) {
					v := value(t, e, name)
					for i, w := range want {
						if !close32(v.Float(i), w) {
							t.Errorf("%s[%d] is %v, expected %v", name, i, v.Float(i), w)
						}
					}
				}
			})
		}
	}
}

// blobs are points around k far centers.
func blobs(n, k int) [][]float32 {
	r := rand.New(rand.NewPCG(5, 6))
	var out [][]float32
	for range n {
		c := r.IntN(k)
		out = append(out, []float32{float32(20*(c%4)) + float32(r.NormFloat64()), float32(20*(c/4)) + float32(r.NormFloat64())})
	}
	return out
}

// TestKMeansChoosesCenters: centers are chosen from the data, over as many batches as it takes.
func TestKMeansChoosesCenters(t *testing.T) {
	testkit.NotConcurrent(t)
	x := blobs(480, 8)
	for _, c := range []struct {
		name   string
		o      canned.KMeans
		batch  int
		chosen int64 // steps until all centers are chosen
		score  float64
	}{
		{"random", canned.KMeans{NumClusters: 8}, 48, 1, math.Inf(1)},
		{"random, small batches", canned.KMeans{NumClusters: 8}, 3, 3, math.Inf(1)},
		{"kmeans++", canned.KMeans{NumClusters: 8, InitialClusters: canned.KMeansPlusPlusInit}, 240, 1, 2.2 * 480},
		{"kmeans++, all data", canned.KMeans{NumClusters: 8, InitialClusters: canned.KMeansPlusPlusInit, FullBatch: true, Retries: -1}, 480, 1, 2.2 * 480},
		{"kmc2", canned.KMeans{NumClusters: 8, InitialClusters: canned.KMC2Init, ChainLength: 60, Seed: 3}, 480, 1, 2.2 * 480},
		{"kmc2, one of a batch", canned.KMeans{NumClusters: 4, InitialClusters: canned.KMC2Init}, 96, 4, math.Inf(1)},
		{"kmc2, cosine", canned.KMeans{NumClusters: 3, InitialClusters: canned.KMC2Init, ChainLength: 20, DistanceMetric: canned.Cosine}, 48, 2, math.Inf(1)},
		{"cosine", canned.KMeans{NumClusters: 3, DistanceMetric: canned.Cosine, MiniBatchSteps: 2}, 48, 1, math.Inf(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newTestEstimator(t, made(t, c.o.ModelFn))
			for step := range c.chosen {
				train(t, e, points(x, c.batch), step+1)
				if got := tensor.Values[bool](value(t, e, "initialized"))[0]; got != (step+1 == c.chosen) {
					t.Errorf("initialized is %v after step %d", got, step+1)
				}
			}
			centers := value(t, e, canned.ClusterCenters)
			seen := map[string]bool{}
			for i := range c.o.NumClusters {
				row := tensor.Values[float32](centers)[2*i : 2*i+2]
				found := c.o.DistanceMetric == canned.Cosine
				for _, p := range x {
					found = found || p[0] == row[0] && p[1] == row[1]
				}
				if seen[fmt.Sprint(row)] || !found {
					t.Errorf("center %v is no point, or there twice", row)
				}
				seen[fmt.Sprint(row)] = true
			}
			train(t, e, points(x, c.batch), 60)
			res, err := e.Evaluate(context.Background(), points(x, c.batch))
			if err != nil {
				t.Fatal(err)
			}
			if score, _ := res.Scalar(canned.Score); score > c.score {
				t.Errorf("score is %v, expected at most %v", score, c.score)
			}
		})
	}
}

// TestKMeansStops: training stops when the loss does not change any more.
func TestKMeansStops(t *testing.T) {
	x := blobs(200, 4)
	e := newTestEstimator(t, made(t, canned.KMeans{NumClusters: 4, InitialClusters: canned.KMeansPlusPlusInit, FullBatch: true, Tolerance: 1e-6}.ModelFn))
	res, err := e.Train(context.Background(), points(x, 200), estimator.MaxSteps(1000))
	if err != nil || res.GlobalStep >= 100 {
		t.Errorf("%+v, %v: expected it to stop early", res, err)
	}
}

// TestWrongKMeans: errors name the cause.
func TestWrongKMeans(t *testing.T) {
	for want, o := range map[string]canned.KMeans{
		"num_clusters":                   {},
		"initial_clusters":               {NumClusters: 2, InitialClusters: "best"},
		"distance_metric":                {NumClusters: 2, DistanceMetric: "manhattan"},
		"kmc2_chain_length":              {NumClusters: 2, InitialClusters: canned.KMC2Init, ChainLength: -1},
		"mini_batch_steps_per_iteration": {NumClusters: 2, MiniBatchSteps: -1},
		"relative_tolerance":             {NumClusters: 2, Tolerance: math.NaN()},
		"expected 3 centers":             {NumClusters: 3, Centers: [][]float32{{1}}},
		"center 1 has 2 numbers":         {Centers: [][]float32{{1}, {1, 2}}},
	} {
		if _, err := o.ModelFn(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, expected %s", o, err, want)
		}
	}
	e := newTestEstimator(t, made(t, canned.KMeans{NumClusters: 9, InitialClusters: canned.KMeansPlusPlusInit}.ModelFn))
	_, err := e.Train(context.Background(), points(blobs(8, 2), 4), estimator.MaxSteps(3))
	if err == nil || !strings.Contains(err.Error(), "expected 9, got 4") {
		t.Errorf("got %v, expected that the batch is too small", err)
	}
	e = newTestEstimator(t, made(t, canned.KMeans{Centers: [][]float32{{1, 2, 3}}}.ModelFn))
	_, err = e.Train(context.Background(), points(blobs(8, 2), 4), estimator.MaxSteps(3))
	if err == nil || !strings.Contains(err.Error(), "the centers have 3 numbers, the features 2") {
		t.Errorf("got %v, expected that the centers do not fit", err)
	}
}

// Training that ends before all centers are chosen leaves some that are near no point.
func TestKMeansEvaluatesWithFewCenters(t *testing.T) {
	for _, metric := range []string{canned.SquaredEuclidean, canned.Cosine} {
		e := newTestEstimator(t, made(t, canned.KMeans{NumClusters: 50, DistanceMetric: metric, Seed: 3}.ModelFn))
		x := points(blobs(8, 2), 4)
		train(t, e, x, 1)
		m, err := e.Evaluate(context.Background(), x, estimator.Steps(2))
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := m.Scalar(canned.Score); !(s >= 0 && s < 1e6) {
			t.Errorf("%s: score %v", metric, s)
		}
	}
}

// TestKMeansRefusesNaN: the error names column, row and value, although there are no feature
// columns.
func TestKMeansRefusesNaN(t *testing.T) {
	x := blobs(8, 2)
	x[5][1] = float32(math.NaN())
	e := newTestEstimator(t, made(t, canned.KMeans{NumClusters: 2}.ModelFn))
	_, err := e.Train(context.Background(), points(x, 4), estimator.Steps(4))
	var bad *inputs.RowError
	if !errors.As(err, &bad) || bad.Row != 5 || bad.Value != "NaN" || bad.Column == "" {
		t.Errorf("got %v, expected an error that names row 5", err)
	}
}

// TestKMeansNamed: the model of a config file.
func TestKMeansNamed(t *testing.T) {
	g := readKMeansGolden(t)
	var start []any
	for _, row := range g.Start {
		var r []any
		for _, v := range row {
			r = append(r, float64(v))
		}
		start = append(start, r)
	}
	c := g.Cases[0]
	fn, err := canned.Named("kmeans", estimator.Params{"num_clusters": len(start), "initial_clusters": start, "use_mini_batch": false, "distance_metric": c.Metric}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := newTestEstimator(t, fn)
	train(t, e, points(g.X, c.Batch), int64(c.Steps))
	v := value(t, e, canned.ClusterCenters)
	for i, w := range flatten(c.Variables[canned.ClusterCenters]) {
		if !close32(v.Float(i), w) {
			t.Errorf("clusters[%d] is %v, expected %v", i, v.Float(i), w)
		}
	}
	for want, p := range map[string]estimator.Params{
		"num_clusters: expected a whole number":       {"num_clusters": "many"},
		"initial_clusters: expected a list of lists":  {"num_clusters": 2, "initial_clusters": []any{1, 2}},
		"unknown parameter clusters":                  {"num_clusters": 2, "clusters": 3},
		"use_mini_batch: expected true or false, got": {"num_clusters": 2, "use_mini_batch": "no"},
	} {
		if _, err := canned.Named("kmeans", p, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, expected %s", p, err, want)
		}
	}
}
