package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// judged is a program with an evaluation whose metrics have every kind of state.
type judged struct {
	*distribute.Strategy
	train *distribute.Function
	judge *distribute.Evaluation
}

// judgedRows are points and whether they are above a plane, the same in every task.
func judgedRows(rows int) (inputs.Dataset, error) {
	var x []float32
	var y []int32
	for n := range uint32(rows) {
		h, sum := (n+1)*2654435761, float32(0)
		for j := range uint32(3) {
			v := float32((h>>(j*7))%211)/211 - 0.5
			x, sum = append(x, v), sum+v
		}
		label := int32(0)
		if sum > float32(h%5)/10-0.2 {
			label = 1
		}
		y = append(y, label)
	}
	return inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 3), inputs.Slice("y", inputs.Label, y))
}

// judgedShare is a share of these rows in batches of 4.
func judgedShare(rows int) func(ic inputs.Context) (inputs.Dataset, error) {
	return func(ic inputs.Context) (inputs.Dataset, error) {
		ds, err := judgedRows(rows)
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Shard(ic.Pipeline, ic.NumPipelines), inputs.Batch(4, false)), nil
	}
}

func judgedLogits(c *distribute.Context) (logits, y *G.Node) {
	return layers.Dense(c, c.Arg("x", tensor.Float32, 3), 2, layers.Weights{}), c.Arg("y", tensor.Int32)
}

func judgedEval(c *distribute.Context) (distribute.Outputs, error) {
	logits, y := judgedLogits(c)
	class, p := ops.ArgMax(c, logits, 1), ops.Max(c, ops.Softmax(c, logits), ops.Reduction{Axes: []int{1}})
	return distribute.Outputs{Loss: losses.SparseSoftmaxCrossEntropy(c, y, logits, losses.Options{}), Values: map[string]*G.Node{"p": p},
		Metrics: map[string][]*G.Node{"accuracy": {y, class}, "confusion": {y, class}, "auc": {y, p}, "least": {p}, "greatest": {p}, "mean": {p}}}, nil
}

func judgedMetrics() map[string]func() (metrics.Accumulator, error) {
	return map[string]func() (metrics.Accumulator, error){
		"accuracy":  func() (metrics.Accumulator, error) { return metrics.NewAccuracy(), nil },
		"confusion": func() (metrics.Accumulator, error) { return metrics.NewConfusionMatrix(2) },
		"auc":       func() (metrics.Accumulator, error) { return metrics.NewAUC(metrics.AUCOptions{}) },
		"least":     func() (metrics.Accumulator, error) { return metrics.NewMin(), nil },
		"greatest":  func() (metrics.Accumulator, error) { return metrics.NewMax(), nil },
		"mean":      func() (metrics.Accumulator, error) { return metrics.NewMean(), nil },
	}
}

func newJudged(rc runconfig.RunConfig, rows int) (j *judged, err error) {
	j = &judged{}
	if j.Strategy, err = distribute.New(rc, quiet); err != nil {
		return nil, err
	}
	sgd := optimizers.SGD(0.5)
	j.train, err = j.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		logits, y := judgedLogits(c)
		loss := losses.SparseSoftmaxCrossEntropy(c, y, logits, losses.Options{})
		return distribute.Outputs{Loss: loss, Train: sgd.Minimize(c, loss)}, nil
	})
	if err == nil {
		j.judge, err = j.Evaluation("judge", distribute.EvaluationSpec{Build: judgedEval, Metrics: judgedMetrics(), Data: judgedShare(rows)})
	}
	if err != nil {
		return nil, errors.Join(err, j.Close(context.Background()))
	}
	return j, nil
}

// tolerances of metrics if rows are divided differently. Counts and extremes have none. A float64 sum depends
// on its order, and the loss of each batch is a float32.
var tolerances = map[string]float64{"mean": 1e-12, "loss": 1e-6}

// compareEvaluations compares all metrics, bit for bit if rows were divided in the same way.
func compareEvaluations(t *testing.T, want, got distribute.EvalResult, alike bool) {
	t.Helper()
	if got.Rows != want.Rows || got.GlobalStep != want.GlobalStep || len(got.Metrics) != len(want.Metrics) || len(got.Metrics) != 7 {
		t.Errorf("%d rows, %d metrics at step %d: expected %d, %d, %d", got.Rows, len(got.Metrics), got.GlobalStep, want.Rows, len(want.Metrics), want.GlobalStep)
	}
	for name, w := range want.Metrics {
		g := got.Metrics[name]
		allowed := tolerances[name]
		if alike {
			allowed = 0
		}
		for i := range w.Data {
			if d := math.Abs(w.Data[i] - g.Data[i]); !(d <= allowed) {
				t.Errorf("%s: %v, expected %v", name, g, w)
			}
		}
	}
}

// judgedBy evaluates under a strategy, in all its tasks, which must get the same result.
func (c setup) judgedBy(t *testing.T, rows int) distribute.EvalResult {
	t.Helper()
	var mu sync.Mutex
	var all []distribute.EvalResult
	c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		j, err := newJudged(rc, rows)
		if err != nil {
			return err
		}
		res, err := j.judge.Run(ctx)
		mu.Lock()
		all = append(all, res)
		mu.Unlock()
		return errors.Join(err, j.Close(ctx))
	})
	for _, other := range all[1:] {
		compareEvaluations(t, all[0], other, true)
	}
	return all[0]
}

// TestEvaluationEqualsOne: each row counts once under every strategy, with a smaller last batch, and replicas and tasks
// without rows.
func TestEvaluationEqualsOne(t *testing.T) {
	for _, rows := range []int{1, 9, 37} {
		want := setups[0].judgedBy(t, rows)
		if want.Rows != int64(rows) {
			t.Errorf("%d rows of %d", want.Rows, rows)
		}
		for _, c := range setups[1:] {
			t.Run(fmt.Sprint(rows, " rows, ", c.name), func(t *testing.T) { compareEvaluations(t, want, c.judgedBy(t, rows), false) })
		}
	}
}

// TestCoordinatorEvaluatesExactly: any number of shards on workers gives the same result as on the chief.
func TestCoordinatorEvaluatesExactly(t *testing.T) {
	const rows = 37
	job := setup{"evaluated", runconfig.Strategy{Name: "parameter_server"}, 3, 2}
	job.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		j, err := newJudged(rc, rows)
		if err != nil {
			return err
		}
		if !rc.IsChief() {
			return errors.Join(j.Work(ctx), j.Close(ctx))
		}
		c, err := distribute.NewCoordinator(ctx, j.Strategy)
		if err == nil {
			err = errors.Join(j.compareShards(ctx, t, c, rows), c.Close(ctx))
		}
		return errors.Join(err, j.Close(ctx))
	})
}

func (j *judged) compareShards(ctx context.Context, t *testing.T, c *distribute.Coordinator, rows int64) error {
	direct, err := j.judge.Run(ctx)
	if err != nil {
		return err
	}
	if direct.Rows != rows {
		t.Errorf("%d rows, expected %d", direct.Rows, rows)
	}
	for _, shards := range []int{1, 2, 7, 0, 50} { // with 50 some have no rows
		first, err := c.Evaluate(ctx, j.judge, shards)
		if err != nil {
			return err
		}
		compareEvaluations(t, direct, first, false)
		again, err := c.Evaluate(ctx, j.judge, shards)
		if err != nil {
			return err
		}
		compareEvaluations(t, first, again, true)
	}
	for _, shards := range []int{-1, 1 << 30} {
		if _, err = c.Evaluate(ctx, j.judge, shards); err == nil {
			t.Errorf("%d shards were evaluated", shards)
		}
	}
	if _, err := c.Evaluate(ctx, nil, 1); err == nil {
		t.Error("no evaluation was evaluated")
	}
	return nil
}

// TestEvaluationErrors: an error in a shard ends the evaluation, and another one can follow.
func TestEvaluationErrors(t *testing.T) {
	job := setup{"evaluated", runconfig.Strategy{Name: "parameter_server"}, 3, 1}
	job.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		j, err := newJudged(rc, 8)
		if err != nil {
			return err
		}
		broken, err := j.Evaluation("broken", distribute.EvaluationSpec{Build: judgedEval, Metrics: judgedMetrics(), Data: func(ic inputs.Context) (inputs.Dataset, error) {
			if ic.Pipeline == 3 {
				return nil, errMade
			}
			return judgedShare(8)(ic)
		}})
		if err != nil {
			return err
		}
		if !rc.IsChief() {
			return errors.Join(j.Work(ctx), j.Close(ctx))
		}
		c, err := distribute.NewCoordinator(ctx, j.Strategy)
		if err != nil {
			return err
		}
		for range 3 {
			if _, err := c.Evaluate(ctx, broken, 5); !errors.Is(err, distribute.ErrFunction) || !strings.Contains(err.Error(), errMade.Error()) {
				t.Errorf("%v, expected the shard's error", err)
			}
			if done, err := c.Done(); !done || err != nil {
				t.Errorf("done: %v, %v, expected to be usable again", done, err)
			}
		}
		res, err := c.Evaluate(ctx, j.judge, 5)
		if res.Rows != 8 {
			t.Errorf("%d rows, expected 8", res.Rows)
		}
		return errors.Join(err, c.Close(ctx), j.Close(ctx))
	})
}

// TestEvaluationRefuses: an invalid evaluation is refused when it is built.
func TestEvaluationRefuses(t *testing.T) {
	s, err := distribute.New(mustConfig(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	without := judgedMetrics()
	delete(without, "auc")
	more := judgedMetrics()
	more["more"] = more["auc"]
	loss := judgedMetrics()
	loss["loss"] = loss["mean"]
	wrong := judgedMetrics()
	wrong["auc"] = func() (metrics.Accumulator, error) { return nil, errMade }
	none := judgedMetrics()
	none["auc"] = func() (metrics.Accumulator, error) { return nil, nil }
	for text, spec := range map[string]distribute.EvaluationSpec{
		"opens the data":               {Build: judgedEval, Metrics: judgedMetrics()},
		"expected a name and a text":   {Metrics: judgedMetrics(), Data: judgedShare(1)},
		"not the evaluation's":         {Build: judgedEval, Metrics: without, Data: judgedShare(1)},
		"operands in Outputs.Metrics":  {Build: judgedEval, Metrics: more, Data: judgedShare(1)},
		"expected another name":        {Build: judgedEval, Metrics: loss, Data: judgedShare(1)},
		errMade.Error():                {Build: judgedEval, Metrics: wrong, Data: judgedShare(1)},
		"expected an accumulator, got": {Build: judgedEval, Metrics: none, Data: judgedShare(1)},
	} {
		if _, err := s.Evaluation("judge", spec); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, expected %q", err, text)
		}
	}
	empty, err := s.Evaluation("empty", distribute.EvaluationSpec{Build: judgedEval, Metrics: judgedMetrics(), Data: func(ic inputs.Context) (inputs.Dataset, error) {
		ds, err := judgedRows(1)
		return inputs.Pipe(ds, inputs.Skip(1), inputs.Batch(4, false)), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Run(t.Context()); !errors.Is(err, inputs.ErrEmpty) {
		t.Errorf("%v, expected ErrEmpty", err)
	}
}
