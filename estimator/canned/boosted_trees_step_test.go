package canned

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/runtime/trees"
	"github.com/goestimator/goestimator/tensor"

	"github.com/goestimator/goestimator/models/optimizers"
)

// TestMemoryOfOtherFeatures: other features need another trainer, even with the same
// labels.
func TestMemoryOfOtherFeatures(t *testing.T) {
	b, err := BoostedTreesRegressor{BoostedTreesOptions: BoostedTreesOptions{TrainInMemory: true, Columns: []feature.Column{&feature.Numeric{Key: "x"}, &feature.Numeric{Key: "z"}},
		Trees: 3, MaxDepth: 1}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	c := &b.config
	boundaries := make([]float32, 2*256)
	of := func(v ...float32) *tensor.Tensor {
		x, err := tensor.FromSlice(v, len(v), 1)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	e, m := trees.NewEnsemble(&c.Config), &memory{}
	all, err := tensor.FromSlice(boundaries, 2, 256)
	if err != nil {
		t.Fatal(err)
	}
	c.startBoundaries(all)
	load := func(y, x, z *tensor.Tensor) (*trees.Trainer, error) {
		t.Helper()
		if err := m.load(c, memoryStep{e: e, boundaries: boundaries, args: []*tensor.Tensor{y, x, z, of(0)}}); err != nil {
			return nil, err
		}
		e.Set(m.trainer.Ensemble)
		return m.trainer, nil
	}
	nan := float32(math.NaN())
	first, err := load(of(1, 2, 3), of(1, nan, 3), of(7, 8, 9))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := load(of(1, 2, 3), of(1, nan, 3), of(7, 8, 9)); err != nil || again != first {
		t.Errorf("the trainer of the same data is made anew, %v", err)
	}
	if second, err := load(of(2, 1, 3), of(nan, 1, 3), of(8, 7, 9)); err != nil || second == first {
		t.Errorf("a trainer is used for another order, %v", err)
	}
	if _, err := load(of(1, 2, 3), of(1, nan, 3), of(7, 8, 8)); err == nil {
		t.Error("a trainer is used for other features")
	}
	m.seen = false
	second, err := load(of(1, 2, 3), of(1, nan, 3), of(7, 8, 8))
	if err != nil {
		t.Fatal(err)
	}
	m.seen = false
	if third, err := load(of(1, 2, 3), of(1, 2, 3), of(7, 8, 8)); err != nil || third == second {
		t.Errorf("a trainer is used where a number is not missing any more, %v", err)
	}
}

// TestEmptyBatchSetsNoBoundaries: a replica that has run out of data contributes no numbers.
func TestEmptyBatchSetsNoBoundaries(t *testing.T) {
	b, err := BoostedTreesRegressor{BoostedTreesOptions: BoostedTreesOptions{Columns: []feature.Column{&feature.Numeric{Key: "x"}}, Trees: 1, MaxDepth: 1}}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	c := &b.config
	e := trees.NewEnsemble(&c.Config)
	of := func(v any, err error) *tensor.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		return v.(*tensor.Tensor)
	}
	floats := func(v []float32, shape ...int) *tensor.Tensor { return of(tensor.FromSlice(v, shape...)) }
	boundaries := floats(make([]float32, 256), 1, 256)
	c.startBoundaries(boundaries)
	n := c.Nodes()
	state := of(tensor.FromSlice(e.State, len(e.State)))
	vars := optimizers.NewStepValues(map[string]*tensor.Tensor{
		treeVariable("feature"): of(tensor.FromSlice(e.Feature, n)), treeVariable("left"): of(tensor.FromSlice(e.Left, n)),
		treeVariable("threshold"): floats(e.Threshold, n), treeVariable("value"): floats(e.Values, n, 1),
		treeVariable("gain"): floats(e.Gains, n), treeVariable("state"): state, treeVariable("bucket_boundaries"): boundaries})
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	run, err := optimizers.NewStepRun(treeStepName, config)
	if err != nil {
		t.Fatal(err)
	}
	step := func(x ...float32) {
		t.Helper()
		var tally optimizers.Tally
		args := []*tensor.Tensor{floats(x, len(x), 1), floats(x, len(x), 1), floats(x, len(x), 1)}
		if err := run.Begin(vars, &tally); err != nil {
			t.Fatal(err)
		}
		if err := run.Collect(vars, args, &tally); err != nil {
			t.Fatal(err)
		}
		if err := run.Apply(vars, &tally); err != nil {
			t.Fatal(err)
		}
	}
	bounded := func() bool {
		return tensor.Values[int64](vars.Value(treeVariable("state")))[trees.StateBounded] != 0
	}
	if step(); bounded() {
		t.Error("boundaries are set by no example")
	}
	if step(1, 2, 3); !bounded() || tensor.Values[float32](vars.Value(treeVariable("bucket_boundaries")))[0] != 2 {
		t.Error("boundaries are not set by examples")
	}
	if step(); tensor.Values[int64](vars.Value(treeVariable("state")))[trees.StateSteps] != 0 {
		t.Error("a layer is grown from no example")
	}
}

// TestTreesOfClasses: only the logits of classes that exclude each other depend on each other.
func TestTreesOfClasses(t *testing.T) {
	options := BoostedTreesOptions{Columns: []feature.Column{&feature.Numeric{Key: "x"}}, Trees: 1, MaxDepth: 1, CenterBias: true}
	for _, c := range []struct {
		head heads.Head
		want bool
	}{{heads.MultiClass(3), true}, {heads.BinaryClass(), false}, {heads.MultiLabel(3), false}, {heads.Regression(2), false}} {
		b, err := newBoostedTrees(options, c.head, "")
		if err != nil {
			t.Fatal(err)
		}
		if b.config.Softmax != c.want {
			t.Errorf("%s: got %t", c.head.Name(), b.config.Softmax)
		}
	}
}
