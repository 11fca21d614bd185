package interop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/distribute/inprocess"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// tutorial is TensorFlow's tutorial on parameter servers: its examples, and the results of a run.
type tutorial struct {
	workers, epochs, steps int
	features, label        *tensor.Tensor // strings

	initial             map[string]*tensor.Tensor // variables
	shards              [][]int                   // of the embedding
	losses, accuracies  []float64
	direct, distributed float64 // accuracies of evaluations
}

var heroes = []string{"avenger", "ironman", "batman", "hulk", "spiderman", "kingkong", "wonder_woman"}

// newTutorial makes random examples, which fill batches of 32.
func newTutorial(workers, epochs int) *tutorial {
	const count, words = 192, 3
	x := &tutorial{workers: workers, epochs: epochs, steps: 5, initial: map[string]*tensor.Tensor{}}
	x.features, x.label = tensor.New(tensor.String, count, words), tensor.New(tensor.String, count)
	r := rand.New(rand.NewPCG(1, 0))
	for i := range count {
		x.label.Strings[i] = []byte("no")
		for j, w := range r.Perm(len(heroes))[:words] {
			if x.features.Strings[i*words+j] = []byte(heroes[w]); w == 0 {
				x.label.Strings[i] = []byte("yes")
			}
		}
	}
	return x
}

// data is the examples as ids, in batches, repeated without end if repeat is set.
func (x *tutorial) data(repeat bool) (inputs.Dataset, error) {
	ds, err := inputs.Slices(nil, inputs.NamedTensor{Name: "features", Role: inputs.Feature, Tensor: x.features}, inputs.NamedTensor{Name: "label", Role: inputs.Label, Tensor: x.label})
	if err != nil {
		return nil, err
	}
	mask := ""
	all := inputs.Pipe(ds, inputs.Map(feature.Preprocess("features", &feature.StringLookup{Vocabulary: heroes, Mask: &mask})),
		inputs.Map(feature.Preprocess("label", &feature.StringLookup{Vocabulary: []string{"yes", "no"}, OOV: -1})))
	if repeat {
		all = inputs.Pipe(all, inputs.Repeat(0))
	}
	return inputs.Pipe(all, inputs.Batch(32, false)), nil
}

// step builds a training or evaluation step, which updates a metric.
func (x *tutorial) step(mode models.Mode, metric string) distribute.Build {
	return func(c *distribute.Context) (distribute.Outputs, error) {
		ids, label := c.Arg("features", tensor.Int64, 3), c.Arg("label", tensor.Int64)
		e := layers.Embedding(c, ids, len(heroes)+2, 20, layers.Weights{})
		logits := ops.Reshape(c, layers.Dense(c, ops.Mean(c, e, ops.Axes(1)), 1, layers.Weights{}), c.Batch())
		classes := ops.Cast(c, ops.Greater(c, logits, ops.Scalar(c, tensor.Float32, 0)), tensor.Int64)
		out := distribute.Outputs{Loss: losses.SigmoidCrossEntropy(c, ops.Cast(c, label, tensor.Float32), logits, losses.Options{}),
			Metrics: map[string][]*G.Node{metric: {label, classes}}}
		if mode == models.Train {
			out.Train = optimizers.RMSProp(0.1, optimizers.WithKeras()).Minimize(c, out.Loss)
		}
		return out, nil
	}
}

// tutorialProgram has the functions and data of the tutorial, the same in all tasks.
type tutorialProgram struct {
	*distribute.Strategy
	accuracy, evalAccuracy *distribute.Metric
	train, eval            *distribute.Remote
	data                   *distribute.WorkerDataset
	validation             *distribute.Evaluation
}

func (x *tutorial) build(s *distribute.Strategy) (*tutorialProgram, error) {
	p := &tutorialProgram{Strategy: s}
	newAccuracy := func() (metrics.Accumulator, error) { return metrics.NewAccuracy(), nil }
	var errs [6]error
	p.accuracy, errs[0] = s.Metric("accuracy", newAccuracy)
	p.evalAccuracy, errs[1] = s.Metric("eval_accuracy", newAccuracy)
	remote := func(name string, mode models.Mode, metric string) (*distribute.Remote, error) {
		f, err := s.Function(name, mode, x.step(mode, metric))
		if err != nil {
			return nil, err
		}
		return s.Remote(name, func(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
			it, err := call.Iterator(0)
			if err != nil {
				return nil, err
			}
			batch, err := it.Next(ctx)
			if err != nil {
				return nil, err
			}
			res, err := f.Run(ctx, batch)
			if err != nil {
				return nil, err
			}
			return []*tensor.Tensor{tensor.Scalar(res.Loss())}, nil
		})
	}
	p.train, errs[2] = remote("train", models.Train, "accuracy")
	p.eval, errs[3] = remote("eval", models.Eval, "eval_accuracy")
	p.data, errs[4] = s.WorkerDataset("data", func(inputs.Context) (inputs.Dataset, error) { return x.data(true) })
	p.validation, errs[5] = s.Evaluation("validation", distribute.EvaluationSpec{Build: x.step(models.Eval, "accuracy"),
		Metrics: map[string]func() (metrics.Accumulator, error){"accuracy": newAccuracy},
		Data:    func(ic inputs.Context) (inputs.Dataset, error) { return x.data(false) }})
	return p, errors.Join(errs[:]...)
}

// run runs a task, in the role of its configuration.
func (x *tutorial) run(ctx context.Context, rc runconfig.RunConfig) error {
	quiet := distribute.WithLogger(slog.New(slog.DiscardHandler))
	if rc.TaskType() == runconfig.PS {
		return distribute.Serve(ctx, rc, quiet)
	}
	s, err := distribute.New(rc, quiet)
	if err != nil {
		return err
	}
	p, err := x.build(s)
	switch {
	case err != nil:
	case rc.IsChief():
		err = x.coordinate(ctx, p)
	default:
		err = s.Work(ctx)
	}
	return errors.Join(err, s.Close(ctx))
}

func (x *tutorial) coordinate(ctx context.Context, p *tutorialProgram) error {
	c, err := distribute.NewCoordinator(ctx, p.Strategy)
	if err != nil {
		return err
	}
	for _, name := range []string{"embedding/embeddings", "dense/kernel", "dense/bias"} {
		if x.initial[name], err = p.Variable(name); err != nil {
			return err
		}
	}
	all, err := p.Shards()
	if err != nil {
		return err
	}
	for _, v := range all {
		for _, s := range v.Shards {
			if v.Name == "embedding/embeddings" {
				x.shards = append(x.shards, s.Shape)
			}
		}
	}
	return errors.Join(x.loop(ctx, p, c), c.Close(ctx))
}

// loop trains, and evaluates in both ways.
func (x *tutorial) loop(ctx context.Context, p *tutorialProgram, c *distribute.Coordinator) error {
	data := c.CreatePerWorkerDataset(p.data)
	for range x.epochs {
		values, accuracy, err := scheduled(ctx, c, p.train, data, x.steps, p.accuracy)
		if err != nil {
			return err
		}
		for _, v := range values {
			x.losses = append(x.losses, v[0].Float(0))
		}
		x.accuracies = append(x.accuracies, accuracy)
	}
	direct, err := p.validation.Run(ctx)
	if err != nil {
		return err
	}
	x.direct, _ = direct.Scalar("accuracy")
	_, x.distributed, err = scheduled(ctx, c, p.eval, c.CreatePerWorkerDataset(p.data), x.features.Shape[0]/32, p.evalAccuracy)
	return err
}

// scheduled schedules a function n times, and returns the values of the calls and the metric over all of them.
func scheduled(ctx context.Context, c *distribute.Coordinator, fn *distribute.Remote, data *distribute.PerWorker, n int, m *distribute.Metric) ([][]*tensor.Tensor, float64, error) {
	if err := m.Reset(ctx); err != nil {
		return nil, 0, err
	}
	var values []*distribute.RemoteValue
	for range n {
		v, err := c.Schedule(ctx, fn, data)
		if err != nil {
			return nil, 0, err
		}
		values = append(values, v)
	}
	if err := c.Join(ctx); err != nil {
		return nil, 0, err
	}
	out, err := c.Fetch(ctx, values...)
	if err != nil {
		return nil, 0, err
	}
	v, err := m.Result(ctx)
	share, _ := v.Scalar()
	return out, share, err
}

// tensorflow runs the same training with TensorFlow's coordinator.
func (x *tutorial) tensorflow(t *testing.T) *tutorial {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	number := func(n int) *tensor.Tensor { return tensor.Scalar(int64(n)) }
	save(t, in, map[string]*tensor.Tensor{"features": x.features, "label": x.label, "workers": number(x.workers), "epochs": number(x.epochs), "steps": number(x.steps),
		"embedding/embeddings": x.initial["embedding/embeddings"], "dense/kernel": x.initial["dense/kernel"], "dense/bias": x.initial["dense/bias"]})
	peers(t).run(t, "coordinator.py", in, out)
	y, got := &tutorial{}, load(t, out)
	shapes := got["shards"]
	for i := range shapes.Shape[0] {
		y.shards = append(y.shards, []int{int(shapes.Int(2 * i)), int(shapes.Int(2*i + 1))})
	}
	for i := range got["losses"].Len() {
		y.losses = append(y.losses, got["losses"].Float(i))
	}
	for i := range got["accuracy"].Len() {
		y.accuracies = append(y.accuracies, got["accuracy"].Float(i))
	}
	y.direct, y.distributed = got["direct"].Float(0), got["distributed"].Float(0)
	return y
}

// TestCoordinatorAgainstTensorFlow: the tutorial's model on the same examples, shards and initial values. With one
// worker, all losses and accuracies equal TensorFlow's; with three, which race, both learn.
func TestCoordinatorAgainstTensorFlow(t *testing.T) {
	peers(t)
	for workers, epochs := range map[int]int{1: 8, 3: 20} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			if workers > 1 && os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
				t.Skip("skipped: another start of TensorFlow (GOESTIMATOR_ACCEPT=1)")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			x := newTutorial(workers, epochs)
			strategy := runconfig.Strategy{Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "fixed_shards", Shards: 2}}
			if err := inprocess.Run(ctx, inprocess.Tasks{Chief: 1, Workers: workers, PS: 2}, x.run, runconfig.TFRandomSeed(7), runconfig.TrainDistribute(strategy)); err != nil {
				t.Fatal(err)
			}
			x.compare(t, x.tensorflow(t))
		})
	}
}

// compare compares a run with TensorFlow's.
func (x *tutorial) compare(t *testing.T, want *tutorial) {
	t.Helper()
	if len(x.shards) != 2 || len(want.shards) != 2 || x.shards[0][0] != 5 || x.shards[1][0] != 4 || want.shards[0][0] != 5 || want.shards[1][0] != 4 {
		t.Errorf("shards %v, TensorFlow's %v: expected 5 and 4 rows", x.shards, want.shards)
	}
	t.Logf("%d workers: accuracies %v, TensorFlow's %v", x.workers, x.accuracies, want.accuracies)
	last, least := len(x.accuracies)-1, 1.0
	if x.workers > 1 { // workers race, so a few predictions may be wrong
		least = 0.9
	}
	for what, got := range map[string][2]float64{"training": {x.accuracies[last], want.accuracies[last]}, "direct": {x.direct, want.direct}, "distributed": {x.distributed, want.distributed}} {
		if min(got[0], got[1]) < least {
			t.Errorf("%s accuracy %v, TensorFlow's %v: expected %v at least", what, got[0], got[1], least)
		}
	}
	if x.workers > 1 { // workers race, so steps differ
		return
	}
	if len(x.losses) != len(want.losses) {
		t.Fatalf("%d losses, TensorFlow's %d", len(x.losses), len(want.losses))
	}
	for i := range x.losses {
		if d := math.Abs(x.losses[i] - want.losses[i]); !(d <= 1e-4*want.losses[i]+1e-6) {
			t.Errorf("loss of step %d: %v, TensorFlow's %v", i+1, x.losses[i], want.losses[i])
		}
	}
	for i := range x.accuracies {
		if math.Abs(x.accuracies[i]-want.accuracies[i]) > 1e-6 {
			t.Errorf("accuracy of epoch %d: %v, TensorFlow's %v", i, x.accuracies[i], want.accuracies[i])
		}
	}
}
