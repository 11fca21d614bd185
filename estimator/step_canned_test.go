package estimator_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// identified is equalData with a number for each row, the same in each of so
// many passes, and a label of its features.
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

// TestCannedStepFunctions: K-means has the same centers, and dual coordinate
// ascent finds the same optimum, under every strategy.
func TestCannedStepFunctions(t *testing.T) {
	k, err := canned.KMeans{Centers: [][]float32{{-0.5, -0.5, -0.5}, {0, 0, 0}, {0.5, 0.5, 2}}, MiniBatchSteps: 4, Columns: []feature.Column{&feature.Numeric{Key: "three", Shape: []int{3}}}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	s, err := canned.LinearRegressor{Columns: []feature.Column{&feature.Numeric{Key: "x", Shape: []int{2}}},
		SDCA: &canned.LinearSDCA{ExampleIDColumn: "id", Examples: 100, NumLossPartitions: 3, SymmetricL2: 5}}.ModelFn()
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
	} {
		want := map[string]float64{}
		for _, st := range stepStrategies {
			t.Run(fmt.Sprintf("%s, %s", c.name, st.name), func(t *testing.T) {
				dir := t.TempDir()
				for _, r := range trainCluster(t, dir, st.workers, st.servers, st.s, func(_ int, m *member) {
					m.fn, m.input, m.opts = c.fn, c.input, []estimator.RunOption{estimator.MaxSteps(c.steps)}
				}) {
					if r.err != nil {
						t.Fatalf("%s: %v", r.task, r.err)
					}
				}
				e := custom(t, c.fn, dir)
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
						if math.Abs(v.Float(i)-want[key]) > c.tolerance*(1+math.Abs(want[key])) {
							t.Errorf("%s is %v, under %s %v", key, v.Float(i), stepStrategies[0].name, want[key])
						}
					}
				}
			})
		}
	}
}

// three is equalData with three of its numbers.
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
