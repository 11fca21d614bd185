package canned_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// people is a small data set: trades, ages, incomes.
type people struct {
	trades []string
	ages   []float32
	rich   []int64
	income []float32
}

var someone = people{
	trades: []string{"baker", "nurse", "smith", "baker", "clerk", "nurse"},
	ages:   []float32{20, 31, 45, 52, 64, 38},
	rich:   []int64{0, 1, 1, 0, 0, 1},
	income: []float32{1, 3, 4, 1.5, 1, 3},
}

// of is an input_fn with the given label, endless in training.
func (p people) of(label string) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		columns := []inputs.NamedTensor{inputs.Strings("trade", inputs.Feature, p.trades), inputs.Slice("age", inputs.Feature, p.ages)}
		if label == "rich" {
			columns = append(columns, inputs.Slice("rich", inputs.Label, p.rich))
		} else {
			columns = append(columns, inputs.Slice("income", inputs.Label, p.income))
		}
		ds, err := inputs.Slices(nil, columns...)
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(4, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, false)), nil
	})
}

func trade() *feature.Vocabulary {
	return &feature.Vocabulary{Key: "trade", Values: []string{"baker", "nurse", "smith"}, OOVBuckets: 1}
}

func age() *feature.Numeric {
	return &feature.Numeric{Key: "age", Normalizer: feature.Normalizer{Mean: []float32{40}, Std: []float32{15}}}
}

// scratch returns options for a test's Estimator, which learns the same in every run.
func scratch(t testing.TB, opts ...estimator.Option) []estimator.Option {
	t.Helper()
	return append(opts, estimator.WithRunConfig(ok(runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1)))),
		estimator.WithLogger(slog.New(slog.DiscardHandler)))
}

// checkEstimator trains some steps, continues in another Estimator of the same
// folder, and evaluates and predicts; the loss must fall.
func checkEstimator(t *testing.T, fn estimator.ModelFn, label string) {
	t.Helper()
	opts := scratch(t)
	e := ok(estimator.New(fn, opts...))
	defer e.Close()
	before := ok(e.Evaluate(t.Context(), someone.of(label)))
	ok(e.Train(t.Context(), someone.of(label), estimator.Steps(60)))
	again := ok(estimator.New(fn, opts...))
	defer again.Close()
	ok(again.Train(t.Context(), someone.of(label), estimator.Steps(60)))
	after := ok(again.Evaluate(t.Context(), someone.of(label)))
	first, _ := before.Scalar("loss")
	last, _ := after.Scalar("loss")
	if after.GlobalStep != 120 || !(last < first) {
		t.Errorf("loss %v at step %d, %v before training: expected less, at step 120", last, after.GlobalStep, first)
	}
	n := 0
	for _, err := range again.Predict(t.Context(), someone.of(label)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(someone.trades) {
		t.Errorf("%d predictions, expected %d", n, len(someone.trades))
	}
}

// ok panics on an error, which fails the test with its stack.
func ok[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestEstimatorsTrainAndResume(t *testing.T) {
	wide := []feature.Column{trade(), &feature.Bucketized{Of: &feature.Numeric{Key: "age"}, Boundaries: []float64{30, 50}},
		&feature.Crossed{Of: []feature.Column{feature.Key("trade"), trade()}, Size: 20}}
	deep := []feature.Column{age(), &feature.Indicator{Of: trade()}, &feature.Embedding{Of: trade(), Dimension: 4}}
	poisson := heads.Poisson(1)
	for name, c := range map[string]struct {
		fn    func() (*canned.Model, error)
		label string
	}{
		"linear classifier": {canned.LinearClassifier{Columns: wide}.ModelFn, "rich"},
		"three classes":     {canned.LinearClassifier{Columns: wide, Classes: 3}.ModelFn, "rich"},
		"linear regressor":  {canned.LinearRegressor{Columns: wide}.ModelFn, "income"},
		"linear estimator":  {canned.LinearEstimator{Head: poisson, Columns: wide}.ModelFn, "income"},
		"dnn classifier":    {canned.DNNClassifier{HiddenUnits: []int{8, 4}, Columns: deep}.ModelFn, "rich"},
		"dropout":           {canned.DNNClassifier{HiddenUnits: []int{32}, Columns: deep, Dropout: 0.1, BatchNorm: true}.ModelFn, "rich"},
		"dnn regressor":     {canned.DNNRegressor{HiddenUnits: []int{8}, Columns: deep}.ModelFn, "income"},
		"dnn estimator":     {canned.DNNEstimator{Head: poisson, HiddenUnits: []int{8}, Columns: deep}.ModelFn, "income"},
		"combined":          {canned.DNNLinearCombinedClassifier{HiddenUnits: []int{8}, Linear: wide, DNN: deep}.ModelFn, "rich"},
		"combined, given":   {canned.DNNLinearCombinedClassifier{HiddenUnits: []int{8}, Linear: wide, DNN: deep, DNNOptimizer: ok(optimizers.New("adam", nil))}.ModelFn, "rich"},
		"combined, other":   {canned.DNNLinearCombinedClassifier{HiddenUnits: []int{8}, Linear: wide, DNN: deep, LinearOptimizer: ok(canned.NewOptimizer("Adam", nil))}.ModelFn, "rich"},
		"combined, linear":  {canned.DNNLinearCombinedClassifier{Linear: wide}.ModelFn, "rich"},
		"combined, deep":    {canned.DNNLinearCombinedRegressor{HiddenUnits: []int{8}, DNN: deep}.ModelFn, "income"},
	} {
		t.Run(name, func(t *testing.T) { checkEstimator(t, ok(c.fn()), c.label) })
	}
	t.Run("baseline classifier", func(t *testing.T) {
		checkEstimator(t, ok(canned.BaselineClassifier{Classes: 3}.ModelFn()), "rich")
	})
	t.Run("baseline regressor", func(t *testing.T) {
		checkEstimator(t, ok(canned.BaselineRegressor{}.ModelFn()), "income")
	})
}

// A baseline reads a feature for the number of examples; it has no weights for it.
func TestBaselineWithoutFeatures(t *testing.T) {
	weights := estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		return inputs.Slices(nil, inputs.Slice("age", inputs.Feature, someone.ages), inputs.Slice("income", inputs.Label, someone.income))
	})
	baseline := ok(canned.BaselineRegressor{WeightColumn: "age"}.ModelFn())
	for want, fn := range map[string]estimator.ModelFn{
		"the data has no feature: expected at least one": baseline,
		"baseline: no feature of fixed length":           estimator.ModelFunc(baseline.Model), // without Prepare
	} {
		e := ok(estimator.New(fn, scratch(t)...))
		defer e.Close()
		if _, err := e.Evaluate(t.Context(), weights); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// The names equal those in tf.estimator's checkpoints.
func TestVariablesAndSlots(t *testing.T) {
	deep := []feature.Column{age(), &feature.Embedding{Of: trade(), Dimension: 4}}
	e := ok(canned.DNNLinearCombinedClassifier{HiddenUnits: []int{8}, BatchNorm: true, Linear: []feature.Column{trade()}, DNN: deep}.New(scratch(t)...))
	defer e.Close()
	d := ok(e.Describe(t.Context(), models.Train, someone.of("rich")))
	var got []string
	for _, v := range slices.Concat(d.Variables, d.Slots) {
		got = append(got, fmt.Sprint(v.Name, v.Shape))
	}
	want := strings.Fields(`dnn/input_from_feature_columns/input_layer/trade_embedding/embedding_weights[4,4]
		dnn/hiddenlayer_0/kernel[5,8] dnn/hiddenlayer_0/bias[8]
		dnn/hiddenlayer_0/batchnorm_0/gamma[8] dnn/hiddenlayer_0/batchnorm_0/beta[8]
		dnn/hiddenlayer_0/batchnorm_0/moving_mean[8] dnn/hiddenlayer_0/batchnorm_0/moving_variance[8]
		dnn/logits/kernel[8,1] dnn/logits/bias[1]
		linear/linear_model/trade/weights[4,1] linear/linear_model/bias_weights[1]
		training/Adagrad/dnn/input_from_feature_columns/input_layer/trade_embedding/embedding_weights/accumulator[4,4]
		training/Adagrad/dnn/hiddenlayer_0/kernel/accumulator[5,8] training/Adagrad/dnn/hiddenlayer_0/bias/accumulator[8]
		training/Adagrad/dnn/hiddenlayer_0/batchnorm_0/gamma/accumulator[8] training/Adagrad/dnn/hiddenlayer_0/batchnorm_0/beta/accumulator[8]
		training/Adagrad/dnn/logits/kernel/accumulator[8,1] training/Adagrad/dnn/logits/bias/accumulator[1] training/Adagrad/iter[]
		training/Ftrl/linear/linear_model/trade/weights/accumulator[4,1] training/Ftrl/linear/linear_model/trade/weights/linear[4,1]
		training/Ftrl/linear/linear_model/bias_weights/accumulator[1] training/Ftrl/linear/linear_model/bias_weights/linear[1] training/Ftrl/iter[]`)
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], ",", " ")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A warm start copies the weights of entries of both vocabularies.
func TestWarmStartOfAnotherVocabulary(t *testing.T) {
	dir := t.TempDir()
	old, now := filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt")
	for path, text := range map[string]string{old: "baker\nnurse\nsmith\n", now: "clerk\nsmith\nbaker\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const name = "linear/linear_model/trade/weights"
	first := ok(canned.LinearClassifier{Columns: []feature.Column{&feature.VocabularyFile{Key: "trade", File: old}}}.New(scratch(t)...))
	defer first.Close()
	ok(first.Train(t.Context(), someone.of("rich"), estimator.Steps(50)))
	was := ok(first.VariableValue(name))

	info := estimator.VocabInfo{NewVocab: now, OldVocab: old, NumOOVBuckets: 2, BackupInitializer: initializers.Constant{Value: 7}}
	warm := estimator.WithWarmStart(estimator.WarmStart{From: first.ModelDir(), Vars: "linear/linear_model/trade", Vocabularies: map[string]estimator.VocabInfo{name: info}})
	sgd := ok(optimizers.New("keras_sgd", map[string]any{"learning_rate": 0.1})) // Ftrl's first step forgets the weights it starts from
	second := ok(canned.LinearClassifier{Columns: []feature.Column{&feature.VocabularyFile{Key: "trade", File: now, OOVBuckets: 2}}, Optimizer: sgd}.New(scratch(t, warm)...))
	defer second.Close()
	ok(second.Train(t.Context(), someone.of("rich"), estimator.Steps(1)))
	is := ok(second.VariableValue(name))
	x := tensor.Values[float32](was)
	for i, want := range []float32{7, x[2], x[0], 7, 7} {
		if got := tensor.Values[float32](is)[i]; math.Abs(float64(got-want)) > 0.5 { // one step away
			t.Errorf("weight %d: expected about %v, got %v", i, want, got)
		}
	}

	info.NumOOVBuckets = 0
	warm = estimator.WithWarmStart(estimator.WarmStart{From: first.ModelDir(), Vocabularies: map[string]estimator.VocabInfo{name: info}})
	third := ok(canned.LinearClassifier{Columns: []feature.Column{&feature.VocabularyFile{Key: "trade", File: now, OOVBuckets: 2}}}.New(scratch(t, warm)...))
	defer third.Close()
	if _, err := third.Train(t.Context(), someone.of("rich"), estimator.Steps(1)); err == nil || !strings.Contains(err.Error(), "dimension 0 is 5: the new vocabulary and its out-of-vocabulary buckets have 3 entries") {
		t.Errorf("got %v, expected the wrong number of entries", err)
	}
}
