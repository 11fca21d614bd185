package canned_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// forest is data whose label depends on numbers and a word: a class of n, or a number.
type forest struct {
	rows, batch int
	classes     int // 0: a number
	weighted    bool
	words       bool // labels are words
}

var jobs = []string{"baker", "nurse", "smith", "cook"}

func (f forest) input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	rng := rand.New(rand.NewPCG(7, 7))
	var age, income, y, w []float32
	var job, word []string
	var id []int64
	for range f.rows {
		a, b, j := rng.Float32()*80, rng.Float32()*10-5, rng.IntN(len(jobs))
		v := 0.0
		if a > 40 {
			v = 1
		}
		if jobs[j] == "smith" {
			v = 1 - v
		}
		if b > 3 {
			v += 1
		}
		age, income, job, w = append(age, a), append(income, b), append(job, jobs[j]), append(w, 0.5+rng.Float32())
		class := int64(v) % int64(max(f.classes, 1))
		if rng.IntN(20) == 0 && f.classes > 0 {
			class = rng.Int64N(int64(f.classes))
		}
		y, id = append(y, float32(v)+rng.Float32()/10), append(id, class)
		word = append(word, []string{"no", "yes", "maybe"}[class])
	}
	cols := []inputs.NamedTensor{inputs.Slice("age", inputs.Feature, age), inputs.Slice("income", inputs.Feature, income),
		inputs.Strings("job", inputs.Feature, job)}
	if f.weighted {
		cols = append(cols, inputs.Slice("w", inputs.Feature, w))
	}
	switch {
	case f.classes == 0:
		cols = append(cols, inputs.Slice("y", inputs.Label, y))
	case f.words:
		cols = append(cols, inputs.Strings("y", inputs.Label, word))
	default:
		cols = append(cols, inputs.Slice("y", inputs.Label, id))
	}
	ds, err := inputs.Slices(nil, cols...)
	if err != nil {
		return nil, err
	}
	if ic.Mode == inputs.Train {
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(f.batch, false)), nil
	}
	return inputs.Pipe(ds, inputs.Batch(f.batch, false)), nil
}

// table returns the examples as forestColumns make them: age, income, and an indicator for each job.
func (f forest) table(t *testing.T) (rows [][]float64) {
	t.Helper()
	ds, err := f.input(t.Context(), inputs.Context{Mode: inputs.Predict})
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	ts, err := inputs.Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for i := range int(rec.NumRows()) {
		row := []float64{ts[0].Tensor.Float(i), ts[1].Tensor.Float(i)}
		for _, j := range jobs {
			is := 0.0
			if string(ts[2].Tensor.Strings[i]) == j {
				is = 1
			}
			row = append(row, is)
		}
		rows = append(rows, row)
	}
	return rows
}

func forestColumns() []feature.Column {
	return []feature.Column{&feature.Numeric{Key: "age"}, &feature.Bucketized{Of: &feature.Numeric{Key: "income"}, Boundaries: []float64{-2, 0, 2, 3, 4}},
		&feature.Vocabulary{Key: "job", Values: jobs}}
}

// grow trains a model until its trees are all grown and evaluates it.
func grow(t *testing.T, dir string, fn estimator.ModelFn, f forest, s runconfig.Strategy, opts ...estimator.TrainOption) (*estimator.Estimator, map[string]float64) {
	t.Helper()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0), runconfig.TrainDistribute(s))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(fn, estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.Train(t.Context(), estimator.InputFunc(f.input), opts...); err != nil {
		t.Fatal(err)
	}
	r, err := e.Evaluate(t.Context(), estimator.InputFunc(f.input))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{"global_step": float64(r.GlobalStep)}
	for _, name := range []string{"accuracy", "average_loss", "loss"} {
		if v, ok := r.Scalar(name); ok {
			out[name] = v
		}
	}
	return e, out
}

func TestBoostedTreesLearn(t *testing.T) {
	testkit.NotConcurrent(t)
	small := canned.BoostedTreesOptions{Columns: forestColumns(), Trees: 10, MaxDepth: 3, LearningRate: 0.3, L2: 0.001}
	with := func(change func(o *canned.BoostedTreesOptions)) canned.BoostedTreesOptions {
		o := small
		change(&o)
		return o
	}
	memory := with(func(o *canned.BoostedTreesOptions) { o.TrainInMemory = true })
	pruned := with(func(o *canned.BoostedTreesOptions) {
		o.PruningMode, o.TreeComplexity, o.CenterBias = "post", 1e-3, true
	})
	prunedMemory := pruned
	prunedMemory.TrainInMemory = true
	own := with(func(o *canned.BoostedTreesOptions) { o.ClassTrees, o.Trees, o.CenterBias = true, 10, true })
	ownMemory := own
	ownMemory.TrainInMemory = true
	batches := with(func(o *canned.BoostedTreesOptions) { o.BatchesPerLayer = 3 })
	numbers := batches
	numbers.Columns = []feature.Column{&feature.Numeric{Key: "age"}, &feature.Numeric{Key: "income"}}
	for name, c := range map[string]struct {
		model interface {
			ModelFn() (*canned.BoostedTrees, error)
		}
		data  forest
		steps float64
	}{
		"binary":         {canned.BoostedTreesClassifier{BoostedTreesOptions: small}, forest{rows: 600, batch: 600, classes: 2}, 32},
		"memory":         {canned.BoostedTreesClassifier{BoostedTreesOptions: memory}, forest{rows: 600, batch: 600, classes: 2}, 2},
		"words":          {canned.BoostedTreesClassifier{BoostedTreesOptions: memory, LabelVocabulary: []string{"no", "yes"}}, forest{rows: 600, batch: 600, classes: 2, words: true}, 2},
		"weighted":       {canned.BoostedTreesClassifier{BoostedTreesOptions: small, WeightColumn: "w"}, forest{rows: 600, batch: 600, classes: 2, weighted: true}, 32},
		"three":          {canned.BoostedTreesClassifier{BoostedTreesOptions: small, Classes: 3}, forest{rows: 600, batch: 600, classes: 3}, 32},
		"three, memory":  {canned.BoostedTreesClassifier{BoostedTreesOptions: memory, Classes: 3, WeightColumn: "w"}, forest{rows: 600, batch: 600, classes: 3, weighted: true}, 2},
		"own, memory":    {canned.BoostedTreesClassifier{BoostedTreesOptions: ownMemory, Classes: 3}, forest{rows: 600, batch: 600, classes: 3}, 2},
		"own":            {canned.BoostedTreesClassifier{BoostedTreesOptions: own, Classes: 3, WeightColumn: "w"}, forest{rows: 600, batch: 600, classes: 3, weighted: true}, 0},
		"number":         {canned.BoostedTreesRegressor{BoostedTreesOptions: small}, forest{rows: 600, batch: 600}, 32},
		"number, memory": {canned.BoostedTreesRegressor{BoostedTreesOptions: memory}, forest{rows: 600, batch: 600}, 2},
		"pruned":         {canned.BoostedTreesClassifier{BoostedTreesOptions: pruned}, forest{rows: 600, batch: 600, classes: 2}, 0},
		"pruned, memory": {canned.BoostedTreesClassifier{BoostedTreesOptions: prunedMemory}, forest{rows: 600, batch: 600, classes: 2}, 0},
		"numbers":        {canned.BoostedTreesRegressor{BoostedTreesOptions: numbers}, forest{rows: 600, batch: 200}, 94},
		"batches":        {canned.BoostedTreesClassifier{BoostedTreesOptions: batches}, forest{rows: 600, batch: 200, classes: 2}, 94},
	} {
		t.Run(name, func(t *testing.T) {
			fn, err := c.model.ModelFn()
			if err != nil {
				t.Fatal(err)
			}
			e, got := grow(t, t.TempDir(), fn, c.data, runconfig.Strategy{Name: "default"})
			if c.data.classes > 0 && !(got["accuracy"] > 0.93) || !(got["average_loss"] < 0.25) || c.steps > 0 && got["global_step"] != c.steps {
				t.Errorf("got %v, expected %v steps", got, c.steps)
			}
			for p, err := range e.Predict(t.Context(), estimator.InputFunc(c.data.input)) {
				if err != nil {
					t.Fatal(err)
				}
				_ = p
				break
			}
		})
	}
}

// TestBoostedTreesInMemoryAreTheSame: training in memory and by batches of the whole
// data grow the same trees, except for the rounding of logits. Their buckets have the
// same boundaries, and equal weight if examples have weights.
func TestBoostedTreesInMemoryAreTheSame(t *testing.T) {
	var boundaries []*tensor.Tensor
	for _, weights := range []string{"", "w"} {
		f := forest{rows: 500, batch: 500, weighted: weights != ""}
		var values, edges [2]*tensor.Tensor
		for i, memory := range []bool{false, true} {
			o := canned.BoostedTreesOptions{Columns: forestColumns(), Trees: 4, MaxDepth: 3, LearningRate: 0.3, TrainInMemory: memory}
			fn, err := canned.BoostedTreesRegressor{BoostedTreesOptions: o, WeightColumn: weights}.ModelFn()
			if err != nil {
				t.Fatal(err)
			}
			e, _ := grow(t, t.TempDir(), fn, f, runconfig.Strategy{Name: "default"})
			if values[i], err = e.VariableValue("boosted_trees/value"); err != nil {
				t.Fatal(err)
			}
			if edges[i], err = e.VariableValue("boosted_trees/bucket_boundaries"); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range tensor.Values[float32](values[0]) {
			if w := tensor.Values[float32](values[1])[i]; math.Abs(float64(v-w)) > 1e-5 {
				t.Fatalf("weights %q: value %d is %v by batches and %v in memory", weights, i, v, w)
			}
		}
		if !bytes.Equal(edges[0].Bytes, edges[1].Bytes) {
			t.Errorf("weights %q: the boundaries by batches are not those in memory", weights)
		}
		boundaries = append(boundaries, edges[0])
	}
	if bytes.Equal(boundaries[0].Bytes, boundaries[1].Bytes) {
		t.Error("the boundaries are the same with weights as without")
	}
}

// cancelTraining ends training as a signal would.
type cancelTraining struct {
	hooks.Base
	at     int64
	cancel context.CancelFunc
}

func (h *cancelTraining) AfterRun(_ context.Context, r hooks.Run) error {
	if r.GlobalStep() == h.at {
		h.cancel()
	}
	return nil
}

func TestBoostedTreesResumeExactly(t *testing.T) {
	for name, o := range map[string]canned.BoostedTreesOptions{
		"layers":  {Columns: forestColumns(), Trees: 4, MaxDepth: 3, LearningRate: 0.3, CenterBias: true},
		"batches": {Columns: forestColumns(), Trees: 2, MaxDepth: 3, LearningRate: 0.3, BatchesPerLayer: 3, PruningMode: "post", TreeComplexity: 1e-3},
	} {
		t.Run(name, func(t *testing.T) {
			f := forest{rows: 300, batch: 100, classes: 2}
			train := func(dir string, at int64) *estimator.Estimator {
				fn, err := canned.BoostedTreesClassifier{BoostedTreesOptions: o}.ModelFn()
				if err != nil {
					t.Fatal(err)
				}
				rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0))
				if err != nil {
					t.Fatal(err)
				}
				e, err := estimator.New(fn, estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { e.Close() })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, err = e.Train(ctx, estimator.InputFunc(f.input), estimator.MaxSteps(21), estimator.WithHooks(&cancelTraining{at: at, cancel: cancel}))
				if err != nil && !(at > 0 && errors.Is(err, estimator.ErrInterrupted)) {
					t.Fatal(err)
				}
				return e
			}
			whole, dir := train(t.TempDir(), 0), t.TempDir()
			train(dir, 2)
			train(dir, 11)
			cut := train(dir, 0)
			for _, v := range []string{"feature", "threshold", "left", "value", "gain", "state", "bucket_boundaries"} {
				a, err1 := whole.VariableValue("boosted_trees/" + v)
				b, err2 := cut.VariableValue("boosted_trees/" + v)
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
				if string(a.Bytes) != string(b.Bytes) {
					t.Errorf("%s differs", v)
				}
			}
		})
	}
}

// TestBoostedTreesUnderStrategies: replicas that share the data grow trees as good as one replica's.
func TestBoostedTreesUnderStrategies(t *testing.T) {
	o := canned.BoostedTreesOptions{Columns: forestColumns(), Trees: 5, MaxDepth: 3, LearningRate: 0.3, L2: 0.001}
	for _, s := range []runconfig.Strategy{{Name: "default"}, {Name: "mirrored", Replicas: 3}, {Name: "central_storage", Replicas: 2}} {
		t.Run(s.Name, func(t *testing.T) {
			fn, err := canned.BoostedTreesClassifier{BoostedTreesOptions: o}.ModelFn()
			if err != nil {
				t.Fatal(err)
			}
			if _, got := grow(t, t.TempDir(), fn, forest{rows: 600, batch: 600 / max(s.Replicas, 1), classes: 2}, s); !(got["accuracy"] > 0.93) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestBoostedTreesOptionsThatAreWrong(t *testing.T) {
	number := []feature.Column{&feature.Numeric{Key: "age"}}
	for want, o := range map[string]canned.BoostedTreesOptions{
		"no feature columns":      {},
		"boosted trees have no":   {Columns: []feature.Column{&feature.Embedding{Of: &feature.Identity{Key: "a", Size: 3}, Dimension: 2}}},
		"two columns are named":   {Columns: append(number, number...)},
		"is nil: set it":          {Columns: []feature.Column{&feature.Bucketized{Boundaries: []float64{1}}}},
		"a column, or the one":    {Columns: []feature.Column{nil}},
		"max_depth -1":            {Columns: number, MaxDepth: -1},
		"n_trees -1":              {Columns: number, Trees: -1},
		"pruning_mode \"some\"":   {Columns: number, PruningMode: "some"},
		"without pruning":         {Columns: number, TreeComplexity: 1},
		"l2_regularization -1":    {Columns: number, L2: -1},
		"class_trees: expected":   {Columns: number, ClassTrees: true},
		"learning_rate -1":        {Columns: number, LearningRate: -1},
		"n_batches_per_layer -1":  {Columns: number, BatchesPerLayer: -1},
		"quantile_sketch_epsilon": {Columns: number, QuantileSketchEpsilon: 2},
		"train_in_memory, whose":  {Columns: number, BatchesPerLayer: 2, TrainInMemory: true},
	} {
		if _, err := (canned.BoostedTreesRegressor{BoostedTreesOptions: o}).ModelFn(); err == nil || !contains(err, want) {
			t.Errorf("got error %v, expected %q", err, want)
		}
	}
}

func contains(err error, text string) bool {
	for i := range len(err.Error()) - len(text) + 1 {
		if err.Error()[i:i+len(text)] == text {
			return true
		}
	}
	return false
}

func TestBoostedTreesImportances(t *testing.T) {
	o := canned.BoostedTreesOptions{Columns: forestColumns(), Trees: 10, MaxDepth: 3, LearningRate: 0.3, TrainInMemory: true}
	fn, err := canned.BoostedTreesClassifier{BoostedTreesOptions: o}.ModelFn()
	if err != nil {
		t.Fatal(err)
	}
	e, _ := grow(t, t.TempDir(), fn, forest{rows: 600, batch: 600, classes: 2}, runconfig.Strategy{Name: "default"})
	got, err := fn.Importances(e.VariableValue, true)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, i := range got {
		sum += i.Gain
	}
	if len(got) != 3 || math.Abs(sum-1) > 1e-6 || got[2].Gain < 0.01 || got[0].Gain < got[1].Gain {
		t.Errorf("got %v", got)
	}
	if _, err := fn.Importances(func(name string) (*tensor.Tensor, error) { return nil, errors.New("no " + name) }, true); err == nil || !contains(err, "no boosted_trees/") {
		t.Errorf("got error %v", err)
	}
}
