package estimator_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

const emaSuffix = "/ExponentialMovingAverage"

// averagedToy is toyModel with an optimizer that averages.
func averagedToy(a optimizers.Averaging) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		y := layers.Dense(mc, features.Dense("x"), 1, layers.Weights{})
		spec := &estimator.Spec{Predictions: estimator.Nodes{"y": y}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		spec.Loss = losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
		if mc.Mode() == models.Train {
			spec.TrainOp = optimizers.Momentum(0.1, optimizers.WithAveraging(a)).Minimize(mc, spec.Loss)
		}
		return spec, nil
	})
}

var toyEMA = optimizers.Averaging{Kind: optimizers.EMA, Decay: 0.9}

func values(t *testing.T, e *estimator.Estimator, name string) []float32 {
	t.Helper()
	v, err := e.VariableValue(name)
	if err != nil {
		t.Fatal(err)
	}
	return tensor.Values[float32](v)
}

// predicted returns the model's predictions for toyData.
func predicted(t *testing.T, e *estimator.Estimator) []float32 {
	t.Helper()
	var out []float32
	for p, err := range e.Predict(t.Context(), &toyData{noLabels: true}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tensor.Values[float32](p.Get("y"))...)
	}
	return out
}

// linear returns predictions by a kernel and a bias.
func linear(kernel, bias []float32) []float32 {
	out := make([]float32, 10)
	for i := range out {
		out[i] = float32((i*3)%7)/7*kernel[0] + float32((i*4)%7)/7*kernel[1] + bias[0]
	}
	return out
}

func close32(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %v, expected %v", what, got, want)
	}
	for i := range got {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= tolerance) {
			t.Errorf("%s[%d]: got %v, expected %v", what, i, got[i], want[i])
		}
	}
}

// TestAveragesAreUsed: evaluation, also in memory, prediction and exports use the averages, or the trained weights if
// these are asked for.
func TestAveragesAreUsed(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	fn := averagedToy(toyEMA)
	e := custom(t, fn, dir)
	memory, err := estimator.NewInMemoryEvaluator(e, &toyData{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Train(ctx, forever(&toyData{}), estimator.Steps(12), estimator.WithHooks(memory)); err != nil {
		t.Fatal(err)
	}
	plain := custom(t, fn, dir, estimator.WithTrainedWeights())
	kernel, bias := values(t, e, "dense/kernel"), values(t, e, "dense/bias")
	meanKernel, meanBias := values(t, e, "dense/kernel"+emaSuffix), values(t, e, "dense/bias"+emaSuffix)
	if slices.Equal(kernel, meanKernel) {
		t.Fatal("the average is the variable")
	}
	close32(t, "prediction by averages", predicted(t, e), linear(meanKernel, meanBias), 1e-6)
	close32(t, "prediction by weights", predicted(t, plain), linear(kernel, bias), 1e-6)
	averaged, err := e.Evaluate(ctx, &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	trained, err := plain.Evaluate(ctx, &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := averaged.Scalar("loss")
	b, _ := trained.Scalar("loss")
	if c, _ := memory.Result().Scalar("loss"); a == b || a != c {
		t.Errorf("loss %v by averages, %v in memory, %v by weights: expected the first two to be the same", a, c, b)
	}
	columns, err := e.ServingColumns(ctx, &toyData{noLabels: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		e    *estimator.Estimator
		want []float32
	}{{e, linear(meanKernel, meanBias)}, {plain, linear(kernel, bias)}} {
		out, err := x.e.ExportSavedModel(ctx, t.TempDir(), estimator.RawServingInput(columns...))
		if err != nil {
			t.Fatal(err)
		}
		close32(t, "exported model", servedToy(t, out), x.want, 1e-6)
	}
	withLabels, err := e.ServingColumns(ctx, &toyData{}, models.Train)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		e  *estimator.Estimator
		ok bool
	}{{e, false}, {plain, true}} {
		_, err := x.e.ExportSavedModel(ctx, t.TempDir(), estimator.RawServingInput(withLabels...), estimator.ExportModes(models.Train))
		if (err == nil) != x.ok || err != nil && !strings.Contains(err.Error(), "leave the mode train out, or the averages") {
			t.Errorf("export of a graph that trains: %v", err)
		}
	}
}

// servedToy returns the predictions of a SavedModel.
func servedToy(t *testing.T, dir string) []float32 {
	t.Helper()
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.MetaGraph(savedmodel.TagServe)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Load(t.Context(), g, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := make([]float32, 20)
	for i := range 10 {
		x[2*i], x[2*i+1] = float32((i*3)%7)/7, float32((i*4)%7)/7
	}
	in, err := tensor.FromSlice(x, 10, 2)
	if err != nil {
		t.Fatal(err)
	}
	sig := g.Signatures["serving_default"]
	out, err := s.Run(t.Context(), map[string]*tensor.Tensor{sig.GetInputs()["x"].GetName(): in}, []string{sig.GetOutputs()["y"].GetName()})
	if err != nil {
		t.Fatal(err)
	}
	return tensor.Values[float32](out[0])
}

// TestAveragedTrainingResumes: training in pieces ends with the same checkpoint as training in one go, bit for bit.
func TestAveragedTrainingResumes(t *testing.T) {
	for _, a := range []optimizers.Averaging{
		{Kind: optimizers.EMA, Decay: 0.99, Rising: true},
		{Kind: optimizers.SWA, Start: 6, Every: 3},
	} {
		whole, pieces := t.TempDir(), t.TempDir()
		if _, err := custom(t, averagedToy(a), whole).Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(20)); err != nil {
			t.Fatal(err)
		}
		for _, last := range []int64{1, 5, 7, 16, 20} {
			if _, err := custom(t, averagedToy(a), pieces).Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(last)); err != nil {
				t.Fatal(err)
			}
		}
		compareCheckpoints(t, whole, pieces, "model.ckpt-20")
	}
}

// TestAveragingBeginsLater: if averaging begins with a checkpoint without averages, these start from the weights. If it
// ends, training drops the averages of the checkpoint.
func TestAveragingBeginsLater(t *testing.T) {
	dir := t.TempDir()
	if _, err := custom(t, averagedToy(optimizers.Averaging{}), dir).Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(5)); err != nil {
		t.Fatal(err)
	}
	e := custom(t, averagedToy(toyEMA), dir)
	before := values(t, e, "dense/kernel")
	if _, err := e.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(6)); err != nil {
		t.Fatal(err)
	}
	after := values(t, e, "dense/kernel")
	want := make([]float32, len(after))
	for i := range want {
		want[i] = 0.9*before[i] + 0.1*after[i]
	}
	close32(t, "first average", values(t, e, "dense/kernel"+emaSuffix), want, 1e-6)
	last := custom(t, averagedToy(optimizers.Averaging{}), dir)
	if _, err := last.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(7)); err != nil {
		t.Fatal(err)
	}
	close32(t, "prediction without averages", predicted(t, last), linear(values(t, last, "dense/kernel"), values(t, last, "dense/bias")), 1e-6)
}

// TestAveragesOfAWarmStart: averages start from the weights of a warm start, or of an InitFn.
func TestAveragesOfAWarmStart(t *testing.T) {
	from := custom(t, averagedToy(optimizers.Averaging{}), t.TempDir())
	if _, err := from.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(9)); err != nil {
		t.Fatal(err)
	}
	e := custom(t, averagedToy(toyEMA), t.TempDir(), estimator.WithWarmStart(estimator.WarmStart{From: from.ModelDir()}))
	if _, err := e.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(1)); err != nil {
		t.Fatal(err)
	}
	first, after := values(t, from, "dense/kernel"), values(t, e, "dense/kernel")
	want := make([]float32, len(after))
	for i := range want {
		want[i] = 0.9*first[i] + 0.1*after[i]
	}
	close32(t, "average", values(t, e, "dense/kernel"+emaSuffix), want, 1e-6)
}

// TestAveragesUnderEveryStrategy: every strategy has the same averages as one device.
func TestAveragesUnderEveryStrategy(t *testing.T) {
	testkit.NotConcurrent(t)
	for _, a := range []optimizers.Averaging{{Kind: optimizers.EMA, Decay: 0.75}, {Kind: optimizers.SWA, Start: 2, Every: 2}} {
		fn := estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
			e := layers.Embedding(mc, features.Dense("id"), equalRows, equalWidth, layers.Weights{})
			logits := layers.Dense(mc, ops.Concat(mc, 1, features.Dense("x"), layers.Flatten(mc, e)), 3, layers.Weights{})
			spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, labels.Only(), logits, losses.Options{})}
			if mc.Mode() == models.Train {
				spec.TrainOp = optimizers.SGD(0.5, optimizers.WithAveraging(a)).Minimize(mc, spec.Loss)
			}
			return spec, mc.Err()
		})
		var want map[string][]float32
		for _, st := range stepStrategies {
			t.Run(string(a.Kind)+" "+st.name, func(t *testing.T) {
				dir := equalJob{fn: fn, data: equalData, strategy: st.s, workers: st.workers, servers: st.servers}.train(t, 7)
				got := map[string][]float32{}
				r := openCheckpoint(t, dir, "model.ckpt-7")
				for _, name := range r.Names() {
					if strings.HasSuffix(name, "Average") {
						v, err := r.Tensor(name)
						if err != nil {
							t.Fatal(err)
						}
						got[name] = tensor.Values[float32](v)
					}
				}
				if len(got) != 3 {
					t.Fatalf("got the averages %v, expected those of 3 variables", got)
				}
				if want == nil {
					want = got
				}
				tolerance := 1e-5
				if st.s.Name == "parameter_server" && !st.s.Sync {
					tolerance = 0.05 // rows are prefetched before the previous step's update
				}
				for name := range want {
					close32(t, name, got[name], want[name], tolerance)
				}
			})
		}
	}
}

// TestKilledAveragedTraining: a killed training that continues ends with the same averages.
func TestKilledAveragedTraining(t *testing.T) {
	whole, cut := t.TempDir(), t.TempDir()
	fn := averagedToy(optimizers.Averaging{Kind: optimizers.SWA, Every: 2})
	if _, err := newEstimator(t, fn, whole).Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(50)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := newEstimator(t, fn, cut).Train(ctx, forever(&toyData{}), estimator.MaxSteps(50), estimator.WithHooks(&cancelAt{step: 31, cancel: cancel})); err == nil {
		t.Fatal("training was not interrupted")
	}
	// As if the process had been killed: the checkpoint of the interruption was never written.
	names, err := filepath.Glob(filepath.Join(cut, "model.ckpt-31*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%v %v", names, err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	e := newEstimator(t, fn, cut)
	if prefix, err := e.LatestCheckpoint(); err != nil || filepath.Base(prefix) != "model.ckpt-20" {
		t.Fatalf("goes on from %s (%v)", prefix, err)
	}
	if _, err := e.Train(t.Context(), forever(&toyData{}), estimator.MaxSteps(50)); err != nil {
		t.Fatal(err)
	}
	compareCheckpoints(t, whole, cut, "model.ckpt-50")
}
