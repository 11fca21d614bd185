package estimator_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/runconfig"
)

// identified is equalData with a number for each row, the same in each pass, and a label
// computed from the features.
func identified(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	const rows = 48
	share := equalBatch / max(ic.NumPipelines, 1)
	var x, y []float32
	var id []int64
	for k := range rows {
		if k%equalBatch/share != ic.Pipeline {
			continue
		}
		h := uint32(k+1) * 2654435761
		a, b := float32(h>>3%97)/97-0.5, float32(h>>11%89)/89-0.5
		x, y, id = append(x, a, b), append(y, 3*a-2*b+0.5+float32(h>>17%7)/20), append(id, int64(k))
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 2), inputs.Slice("id", inputs.Feature, id), inputs.Slice("y", inputs.Label, y))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(equalBatch/max(ic.ReplicasInSync, 1), false)), nil
}

// sequences is identified with 1 to 5 ids for each row in place of numbers.
func sequences(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	const rows, most = 48, 5
	share := equalBatch / max(ic.NumPipelines, 1)
	var words []int64
	var y []float32
	for k := range rows {
		if k%equalBatch/share != ic.Pipeline {
			continue
		}
		h, sum := uint32(k+1)*2654435761, int64(0)
		for j := range most {
			w := int64(h>>(7+2*j)) % 10
			if j > int(h>>5)%most {
				w = -1 // none
			}
			words, sum = append(words, w), sum+max(w, 0)
		}
		y = append(y, float32(sum)/10)
	}
	ds, err := inputs.Slices(nil, inputs.Slice("words", inputs.Feature, words, most), inputs.Slice("y", inputs.Label, y))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(equalBatch/max(ic.ReplicasInSync, 1), false)), nil
}

// TestCannedUnderEveryStrategy: K-means has the same centers, dual coordinate
// ascent finds the same optimum, trees and recurrent networks are the same.
func TestCannedUnderEveryStrategy(t *testing.T) {
	k, err := canned.KMeans{Centers: [][]float32{{-0.5, -0.5, -0.5}, {0, 0, 0}, {0.5, 0.5, 2}}, MiniBatchSteps: 4, Columns: []feature.Column{&feature.Numeric{Key: "three", Shape: []int{3}}}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	s, err := canned.LinearRegressor{Columns: []feature.Column{&feature.Numeric{Key: "x", Shape: []int{2}}},
		SDCA: &canned.LinearSDCA{ExampleIDColumn: "id", Examples: 100, NumLossPartitions: 3, SymmetricL2: 5}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	trees, err := canned.BoostedTreesRegressor{BoostedTreesOptions: canned.BoostedTreesOptions{
		Columns: []feature.Column{&feature.Numeric{Key: "x", Shape: []int{2}}}, Trees: 5, MaxDepth: 3, LearningRate: 0.3, L2: 0.01}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	head := heads.Regression(1)
	rnn, err := canned.RNNEstimator{Head: head, Units: []int{4}, CellType: layers.LSTM,
		SequenceColumns: []feature.Column{&feature.Embedding{Of: &feature.Sequence{Of: &feature.Identity{Key: "words", Size: 10}}, Dimension: 3}}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		fn        estimator.ModelFn
		input     estimator.InputFunc
		variables []string
		steps     int64
		tolerance float64
	}{
		{"kmeans", k, three, []string{"clusters", "clusters_updated", "Variable", "update_in_steps"}, 50, 1e-5},
		{"sdca", s, identified, []string{"linear/linear_model/x/weights", "linear/linear_model/bias_weights"}, 200, 2e-3},
		{"trees", trees, identified, []string{"boosted_trees/feature", "boosted_trees/threshold", "boosted_trees/left", "boosted_trees/value"}, 15, 1e-5},
		{"rnn", rnn, sequences, []string{"rnn_model/rnn/lstm_cell/kernel", "rnn_model/rnn/lstm_cell/recurrent_kernel", "rnn_model/logits/kernel"}, 20, 1e-4},
	} {
		want := map[string]float64{}
		for _, st := range stepStrategies {
			t.Run(fmt.Sprintf("%s, %s", c.name, st.name), func(t *testing.T) {
				if c.steps > 20 {
					testkit.NotConcurrent(t) // but as the others, for longer
				}
				dir := t.TempDir()
				for _, r := range trainCluster(t, dir, st.workers, st.servers, st.s, func(_ int, m *member) {
					m.fn, m.input, m.opts = c.fn, c.input, []estimator.TrainOption{estimator.MaxSteps(c.steps)}
				}) {
					if r.err != nil {
						t.Fatalf("%s: %v", r.task, r.err)
					}
				}
				e := custom(t, c.fn, dir)
				tolerance := c.tolerance
				if c.name == "rnn" && st.servers > 0 && !st.s.Sync {
					tolerance = 0.02 // prefetched rows of the table are a step old
				}
				for _, name := range c.variables {
					v, err := e.VariableValue(name)
					if err != nil {
						t.Fatal(err)
					}
					for i := range v.Len() {
						key := fmt.Sprintf("%s[%d]", name, i)
						if _, ok := want[key]; !ok {
							want[key] = v.Float(i) // of the first strategy
						}
						if math.Abs(v.Float(i)-want[key]) > tolerance*(1+math.Abs(want[key])) {
							t.Errorf("%s is %v, under %s %v", key, v.Float(i), stepStrategies[0].name, want[key])
						}
					}
				}
			})
		}
	}
}

// three is equalData with only three of its numbers.
func three(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	share := equalBatch / max(ic.NumPipelines, 1)
	var x []float32
	for step := range equalSteps {
		for row := range share {
			h := uint32(step*equalBatch+ic.Pipeline*share+row) * 2654435761
			x = append(x, float32(h>>3%97)/97-0.5, float32(h>>11%89)/89-0.5, float32(h>>17%3))
		}
	}
	ds, err := inputs.Slices(nil, inputs.Slice("three", inputs.Feature, x, 3))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Batch(equalBatch/max(ic.ReplicasInSync, 1), false)), nil
}

// TestStepsWithoutASeed: tasks without a seed have the same step function.
func TestStepsWithoutASeed(t *testing.T) {
	k, err := canned.KMeans{NumClusters: 3, Columns: []feature.Column{&feature.Numeric{Key: "three", Shape: []int{3}}}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	s, err := canned.LinearRegressor{Columns: []feature.Column{&feature.Numeric{Key: "x", Shape: []int{2}}},
		SDCA: &canned.LinearSDCA{ExampleIDColumn: "id", Examples: 100, NumLossPartitions: 3, SymmetricL2: 5}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		fn    estimator.ModelFn
		input estimator.InputFunc
	}{{"kmeans", k, three}, {"sdca", s, identified}} {
		for _, st := range strategiesOfClusters {
			t.Run(c.name+"/"+st.name, func(t *testing.T) {
				for _, r := range trainCluster(t, t.TempDir(), 2, st.servers, st.s, func(_ int, m *member) {
					m.fn, m.input, m.opts = c.fn, c.input, []estimator.TrainOption{estimator.MaxSteps(10)}
					m.run[1] = runconfig.LogStepCountSteps(0) // instead of the seed
				}) {
					if r.err != nil {
						t.Errorf("%s: %v", r.task, r.err)
					}
				}
			})
		}
	}
}
