package estimator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// cancelling ends a context while the n-th record is read.
type cancelling struct {
	inputs.Dataset
	n      int
	cancel context.CancelFunc
}

func (d *cancelling) Iterate(ctx context.Context) (inputs.Iterator, error) {
	it, err := d.Dataset.Iterate(ctx)
	return &cancellingIterator{Iterator: it, from: d}, err
}

type cancellingIterator struct {
	inputs.Iterator
	from *cancelling
	read int
}

func (it *cancellingIterator) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := it.Iterator.Next(ctx)
	if it.read++; it.read == it.from.n {
		it.from.cancel()
	}
	return rec, err
}

func TestInterruptionWhileReadingLosesNoBatch(t *testing.T) {
	whole, cut := t.TempDir(), t.TempDir()
	in := forever(&toyData{rows: 40})
	if _, err := toy(t, whole).Train(context.Background(), in, estimator.MaxSteps(9)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cutting := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := in.Input(ctx, ic)
		return &cancelling{ds, 4, cancel}, err
	})
	if res, err := toy(t, cut).Train(ctx, cutting, estimator.MaxSteps(9)); !errors.Is(err, estimator.ErrInterrupted) || res.GlobalStep != 4 {
		t.Fatalf("got %+v, %v, expected an interruption after the step of the batch that was read", res, err)
	}
	if _, err := toy(t, cut).Train(context.Background(), in, estimator.MaxSteps(9)); err != nil {
		t.Fatal(err)
	}
	compareCheckpoints(t, whole, cut, "model.ckpt-9")
}

func TestTrainingWithoutASeedResumes(t *testing.T) {
	dir := t.TempDir()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		e, err := estimator.New(glyphModel(t, "linear", nil), estimator.WithRunConfig(rc))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Train(context.Background(), glyphs(16, 300), estimator.Steps(3)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplacedCheckpointIsLoadedAgain(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	e := toy(t, dir)
	loss := func(e *estimator.Estimator) float64 {
		res, err := e.Evaluate(ctx, &toyData{})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := res.Scalar("loss")
		return x
	}
	train := func(scale float32) {
		if _, err := toy(t, dir).Train(ctx, forever(&toyData{scale: scale}), estimator.MaxSteps(10)); err != nil {
			t.Fatal(err)
		}
	}
	train(1)
	before := loss(e)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
	train(0.1)
	if got, want := loss(e), loss(toy(t, dir)); got != want || got == before {
		t.Errorf("loss %g of the new checkpoint, %g of the old one of its name: expected %g", got, before, want)
	}
}

func TestEvaluateAfterInMemoryEvaluation(t *testing.T) {
	ctx := context.Background()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1), runconfig.SaveCheckpointsSteps(0))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	fresh, err := e.Evaluate(ctx, &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := estimator.NewInMemoryEvaluator(e, &toyData{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Train(ctx, forever(&toyData{}), estimator.Steps(8), estimator.WithHooks(h)); err != nil {
		t.Fatal(err)
	}
	again, err := e.Evaluate(ctx, &toyData{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := fresh.Scalar("loss")
	b, _ := again.Scalar("loss")
	if a != b || again.GlobalStep != 0 {
		t.Errorf("without a checkpoint: loss %g at step %d, expected %g of initial values at step 0", b, again.GlobalStep, a)
	}
}

func TestRefusedTrainingLeavesTheGraphOfTheModel(t *testing.T) {
	dir := t.TempDir()
	if _, err := toy(t, dir).Train(context.Background(), &toyData{}, estimator.MaxSteps(2)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "graph.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := toy(t, dir).Train(context.Background(), &toyData{width: 3}, estimator.MaxSteps(4)); err == nil {
		t.Fatal("another model's model_dir: expected an error")
	}
	if after, err := os.ReadFile(filepath.Join(dir, "graph.pbtxt")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("graph.pbtxt was overwritten (%v)", err)
	}
}

func TestTasksThatCannotTrainAreRefused(t *testing.T) {
	for _, c := range []struct{ tf, strategy, want string }{
		{`{"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":"worker","index":0}}`, "default", "choose multi_worker_mirrored"},
		{`{"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":"worker","index":0}}`, "mirrored", "choose multi_worker_mirrored"},
		{`{"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":"worker","index":0}}`, "parameter_server", "the cluster has no ps task"},
		{`{"cluster":{"worker":{"1":"a:1"},"ps":null},"task":{"type":"worker","index":1}}`, "default", "knows of no other task"},
	} {
		rc, err := runconfig.FromTFConfig(c.tf, runconfig.ModelDir(t.TempDir()), runconfig.TrainDistribute(runconfig.Strategy{Name: c.strategy}))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Train(context.Background(), &toyData{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: got %v, expected %q: it would train alone on its share of the data", c.tf, c.strategy, err, c.want)
		}
	}
}

func TestNilsAreRefused(t *testing.T) {
	ctx := context.Background()
	withHook := custom(t, estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		s, err := toyModel(mc, f, l)
		if err == nil {
			s.TrainingHooks = []hooks.Hook{nil}
		}
		return s, err
	}), t.TempDir())
	for name, err := range map[string]error{
		"hook of a Spec": second(withHook.Train(ctx, &toyData{})),
		"hook":           second(toy(t, t.TempDir()).Train(ctx, &toyData{}, estimator.WithHooks(nil))),
		"listener":       second(toy(t, t.TempDir()).Train(ctx, &toyData{}, estimator.WithSavingListeners(nil))),
	} {
		if err == nil || !strings.Contains(err.Error(), "is nil") {
			t.Errorf("nil %s: got %v, expected an error that says so", name, err)
		}
	}
}

// TestFinalEvaluation: the last evaluation is final however training ends. An interruption
// is not an end.
func TestFinalEvaluation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	for name, c := range map[string]struct {
		train estimator.TrainSpec
		want  []string
		err   error
	}{
		"end of input": {train: estimator.TrainSpec{Input: &toyData{rows: 40}}, want: []string{"10 true"}},
		"max steps":    {train: estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 6}, want: []string{"6 true"}},
		"interruption": {train: estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 20, Hooks: []hooks.Hook{&cancelAt{step: 7, cancel: cancel}}}, err: estimator.ErrInterrupted},
	} {
		var at []string
		eval := estimator.EvalSpec{Input: &toyData{}, AfterEval: func(_ context.Context, r estimator.EvalResult, final bool) error {
			at = append(at, fmt.Sprintf("%d %v", r.GlobalStep, final))
			return nil
		}}
		run := context.Background()
		if c.err != nil {
			run = ctx
		}
		if _, err := estimator.TrainAndEvaluate(run, toy(t, t.TempDir()), c.train, eval); !errors.Is(err, c.err) {
			t.Errorf("%s: got error %v, expected %v", name, err, c.err)
		}
		if !slices.Equal(at, c.want) {
			t.Errorf("%s: evaluations %v, expected %v", name, at, c.want)
		}
	}
}

// TestInterruptedEvaluation ends the context during the evaluation of a checkpoint.
func TestInterruptedEvaluation(t *testing.T) {
	for name, c := range map[string]struct{ maxSteps, every, at int64 }{
		"in the loop": {20, 0, 5}, "of the last checkpoint": {5, 0, 5}, "without a checkpoint": {20, 3, 3},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1), runconfig.SaveCheckpointsSteps(5))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
		if err != nil {
			t.Fatal(err)
		}
		evalInput := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
			ds, err := (&toyData{}).Input(ctx, ic)
			return &cancelling{ds, 1, cancel}, err
		})
		res, err := estimator.TrainAndEvaluate(ctx, e, estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: c.maxSteps}, estimator.EvalSpec{Input: evalInput, EverySteps: c.every})
		if !errors.Is(err, estimator.ErrInterrupted) || res.GlobalStep != c.at || res.Eval != nil {
			t.Errorf("%s: got %+v, %v, expected an interruption at step %d without an evaluation", name, res, err, c.at)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOneTrainingPerModelDir(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	second := &sideEffect{fn: func() {
		if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.Steps(1)); !errors.Is(err, estimator.ErrLocked) {
			t.Errorf("a second training in the same folder: got %v, expected ErrLocked", err)
		}
	}}
	if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.Steps(2), estimator.WithHooks(second)); err != nil {
		t.Fatal(err)
	}
	if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.Steps(2)); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
	done := &sideEffect{fn: func() {
		if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.MaxSteps(2)); !errors.Is(err, estimator.ErrLocked) {
			t.Errorf("a second training that has nothing left to do: got %v, expected ErrLocked", err)
		}
		if s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir); err != nil || s.Finished != nil {
			t.Errorf("the state of the one that goes on: %+v, %v, expected that it is not finished", s, err)
		}
	}}
	if _, err := toy(t, dir).Train(ctx, forever(&toyData{}), estimator.Steps(2), estimator.WithHooks(done)); err != nil {
		t.Fatal(err)
	}
}

// sideEffect is a hook that does something once, after the first step.
type sideEffect struct {
	hooks.Base
	fn   func()
	done bool
}

func (h *sideEffect) AfterRun(context.Context, hooks.Run) error {
	if !h.done {
		h.done = true
		h.fn()
	}
	return nil
}

func TestSingleNodeClusterTrainsAndEvaluates(t *testing.T) {
	rc, err := runconfig.FromTFConfig(`{"cluster":{"chief":["c0:1"]},"task":{"type":"chief","index":0}}`, runconfig.ModelDir(t.TempDir()), runconfig.LogStepCountSteps(0))
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	res, err := estimator.TrainAndEvaluate(context.Background(), e, estimator.TrainSpec{Input: forever(&toyData{}), MaxSteps: 3}, estimator.EvalSpec{Input: &toyData{}})
	if err != nil || res.GlobalStep != 3 || res.Eval == nil {
		t.Errorf("got %+v, %v: expected a single task to train and evaluate", res, err)
	}
	if _, err := e.Evaluate(context.Background(), &toyData{}, estimator.EvalName("../x")); err == nil {
		t.Error("an evaluation named by a path: expected an error")
	}
}

func TestNestedLoopsAreRefused(t *testing.T) {
	ctx := context.Background()
	e := toy(t, t.TempDir())
	for _, err := range e.Predict(ctx, &toyData{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range e.Predict(ctx, &toyData{}) {
			if !errors.Is(err, estimator.ErrBusy) {
				t.Errorf("a prediction inside another: got %v, expected ErrBusy", err)
			}
		}
		if _, err := e.Evaluate(ctx, &toyData{}); err != nil {
			t.Errorf("an evaluation inside a prediction: %v", err)
		}
		break
	}
	for _, err := range e.Predict(ctx, &toyData{}) {
		if err != nil {
			t.Errorf("after the first has ended: %v", err)
		}
	}
}

// The folders that a run or an export makes are durable before anything is written into them. Existing
// folders are not synced.
func TestNewFoldersAreDurable(t *testing.T) {
	in := forever(&toyData{rows: 40})
	there := t.TempDir()
	if _, err := toy(t, there).Train(t.Context(), in, estimator.MaxSteps(1)); err != nil {
		t.Fatal(err)
	}
	off, err := failpoint.Enable("atomicfile/directory-durable", "error")
	if err != nil {
		t.Fatal(err)
	}
	defer off()
	if _, err := toy(t, there).Train(t.Context(), in, estimator.MaxSteps(2)); err != nil {
		t.Errorf("a model_dir that is there: %v", err)
	}
	deep := filepath.Join(t.TempDir(), "runs", "a")
	if _, err := toy(t, deep).Train(t.Context(), in, estimator.MaxSteps(2)); !errors.Is(err, failpoint.ErrInjected) {
		t.Errorf("a new model_dir: %v", err)
	}
	x := estimator.RawServingInput(inputs.Column{Name: "x", Role: inputs.Feature, DType: tensor.Float32, Shape: []int{2}})
	if _, err := toy(t, there).ExportSavedModel(t.Context(), filepath.Join(t.TempDir(), "exports", "toy"), x); !errors.Is(err, failpoint.ErrInjected) {
		t.Errorf("a new export base: %v", err)
	}
}
