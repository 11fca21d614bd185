package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

const (
	heldRows   = 101
	heldShards = 40
)

// killPoints are the shards in which a worker is killed.
var killPoints = []int{3, 11, 19, 27, 35}

// judging has the evaluation and prediction of a program that learns the line.
type judging struct {
	judge   *distribute.Evaluation
	predict *distribute.Function
	measure *distribute.Remote
	error   *distribute.Metric // updated by measure
	rows    *distribute.Metric
}

func newJudging(s *distribute.Strategy, data func(ic inputs.Context) (inputs.Dataset, error)) (j judging, err error) {
	if j.judge, err = s.Evaluation("judge", distribute.EvaluationSpec{Build: lineEval, Metrics: lineMetrics(), Data: data}); err != nil {
		return j, err
	}
	if j.error, err = s.Metric("error", func() (metrics.Accumulator, error) { return metrics.NewMSE(), nil }); err != nil {
		return j, err
	}
	if j.rows, err = s.Metric("rows", func() (metrics.Accumulator, error) { return metrics.NewTruePositives(0.5) }); err != nil {
		return j, err
	}
	if j.predict, err = s.Function("predict", models.Predict, func(c *distribute.Context) (distribute.Outputs, error) {
		x := c.Arg("x", tensor.Float32, 1)
		return distribute.Outputs{Values: map[string]*G.Node{"twice": ops.Add(c, x, x), "y": layers.Dense(c, x, 1, layers.Weights{})}}, nil
	}); err != nil {
		return j, err
	}
	measure, err := s.Function("measure", models.Eval, func(c *distribute.Context) (distribute.Outputs, error) {
		x, y := c.Arg("x", tensor.Float32, 1), c.Arg("y", tensor.Float32, 1)
		made := layers.Dense(c, x, 1, layers.Weights{})
		one := ops.Add(c, ops.Sub(c, x, x), ops.Scalar(c, tensor.Float32, 1))
		return distribute.Outputs{Metrics: map[string][]*G.Node{"error": {y, made}, "rows": {one, one}}}, nil
	})
	if err != nil {
		return j, err
	}
	j.measure, err = s.Remote("measure", func(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		x, err := call.Tensor(0)
		if err != nil {
			return nil, err
		}
		y, err := call.Tensor(1)
		if err != nil {
			return nil, err
		}
		_, err = measure.Run(ctx, distribute.Batch{{"x": x, "y": y}})
		return nil, err
	})
	return j, err
}

// lineEval evaluates the line with metrics whose states are counts, sums and extremes.
func lineEval(c *distribute.Context) (distribute.Outputs, error) {
	y, label := c.Arg("y", tensor.Float32, 1), c.Arg("label", tensor.Int64, 1)
	made := layers.Dense(c, c.Arg("x", tensor.Float32, 1), 1, layers.Weights{})
	p := ops.Sigmoid(c, made)
	return distribute.Outputs{Loss: losses.MeanSquaredError(c, y, made, losses.Options{}),
		Metrics: map[string][]*G.Node{"auc": {label, p}, "recall": {label, p}, "least": {made}, "greatest": {made}, "error": {y, made}}}, nil
}

func lineMetrics() map[string]func() (metrics.Accumulator, error) {
	return map[string]func() (metrics.Accumulator, error){
		"auc":      func() (metrics.Accumulator, error) { return metrics.NewAUC(metrics.AUCOptions{}) },
		"recall":   func() (metrics.Accumulator, error) { return metrics.NewRecall(0.25, 0.5, 0.75) },
		"least":    func() (metrics.Accumulator, error) { return metrics.NewMin(), nil },
		"greatest": func() (metrics.Accumulator, error) { return metrics.NewMax(), nil },
		"error":    func() (metrics.Accumulator, error) { return metrics.NewMSE(), nil },
	}
}

// heldShares are shares of points near the line. If the folder has a file "hold", a worker stops at each of killPoints
// until it is killed or the test releases it.
func heldShares(dir string, task int) func(ic inputs.Context) (inputs.Dataset, error) {
	return func(ic inputs.Context) (inputs.Dataset, error) {
		_, err := os.Stat(filepath.Join(dir, "hold"))
		if err == nil && ic.NumPipelines == heldShards && slices.Contains(killPoints, ic.Pipeline) {
			if err := appendLine(filepath.Join(dir, fmt.Sprint("in-", ic.Pipeline)), fmt.Sprint(task)); err != nil {
				return nil, err
			}
			if err := awaitFile(context.Background(), filepath.Join(dir, fmt.Sprint("leave-", ic.Pipeline))); err != nil {
				return nil, err
			}
		}
		var x, y []float32
		var label []int64
		for i := range heldRows {
			v := float32(i%23)/11 - 1
			x, y, label = append(x, v), append(y, 2*v+1+float32(i%7)/7), append(label, int64(i%3%2))
		}
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 1), inputs.Slice("y", inputs.Label, y, 1), inputs.Slice("label", inputs.Label, label, 1))
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Shard(ic.Pipeline, ic.NumPipelines), inputs.Batch(2, false)), nil
	}
}

// TestWorkersKilledInEvaluation: in five shards the worker is killed while it evaluates. The result is bit-identical to
// that of undisturbed workers, and equals that of one process.
func TestWorkersKilledInEvaluation(t *testing.T) {
	p := newProcesses(t)
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		data := c.CreatePerWorkerDataset(x.data)
		for range 5 {
			if _, err := c.Schedule(ctx, x.step, data); err != nil {
				return err
			}
		}
		quietly, err := c.Evaluate(ctx, x.judge, heldShards)
		if err != nil {
			return err
		}
		alone, err := x.judge.Run(ctx)
		if err == nil {
			err = appendLine(filepath.Join(p.dir, "hold"), "")
		}
		if err != nil {
			return err
		}
		var killed distribute.EvalResult
		ended := make(chan error, 1)
		go func() {
			var err error
			killed, err = c.Evaluate(ctx, x.judge, heldShards)
			ended <- err
		}()
		for _, shard := range killPoints {
			if err := p.killIn(ctx, shard); err != nil {
				return err
			}
		}
		if err := <-ended; err != nil {
			return err
		}
		if quietly.Rows != heldRows || quietly.GlobalStep != 5 {
			t.Errorf("%d rows at step %d, expected %d at 5", quietly.Rows, quietly.GlobalStep, heldRows)
		}
		compareLines(t, quietly, killed, 0)
		compareLines(t, alone, killed, 1e-6)
		return nil
	})
}

// TestWorkersKilledInPrediction: workers are killed and started again while they predict. Rows come in order, each once.
func TestWorkersKilledInPrediction(t *testing.T) {
	p := newProcesses(t)
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		const rows = 400
		want, err := inOrder(x.predict.Predict(ctx, numbered(t, rows)), nothing)
		if err != nil {
			return err
		}
		got, err := inOrder(c.Predict(ctx, x.predict, numbered(t, rows)), func(row int) error {
			if row%80 == 0 {
				worker := fmt.Sprint("worker-", row/80%2)
				p.kill(worker)
				p.start(worker)
			}
			return nil
		})
		if err == nil && (len(got) != rows || fmt.Sprint(got) != fmt.Sprint(want)) {
			t.Errorf("%d rows %v, expected %d: %v", len(got), got, rows, want)
		}
		return err
	})
}

// TestServerLostInEvaluation: an evaluation and a prediction report that the variables are lost. After a restore, their
// results are bit-identical to the earlier ones.
func TestServerLostInEvaluation(t *testing.T) {
	p := newProcesses(t)
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		if _, err := x.Save(ctx); err != nil {
			return err
		}
		want, err := c.Evaluate(ctx, x.judge, heldShards)
		if err != nil {
			return err
		}
		rows, err := inOrder(c.Predict(ctx, x.predict, numbered(t, 100)), nothing)
		if err == nil {
			err = appendLine(filepath.Join(p.dir, "hold"), "")
		}
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() {
			_, err := c.Evaluate(ctx, x.judge, heldShards)
			ended <- err
		}()
		if err := awaitFile(ctx, filepath.Join(p.dir, fmt.Sprint("in-", killPoints[0]))); err != nil {
			return err
		}
		p.kill("ps-0")
		p.start("ps-0")
		for _, shard := range killPoints {
			if err := appendLine(filepath.Join(p.dir, fmt.Sprint("leave-", shard)), ""); err != nil {
				return err
			}
		}
		if err := <-ended; !errors.Is(err, distribute.ErrServersLost) {
			return fmt.Errorf("evaluate: %w, expected ErrServersLost", err)
		}
		if _, err := x.Restore(ctx); err != nil {
			return err
		}
		got, err := c.Evaluate(ctx, x.judge, heldShards)
		if err != nil {
			return err
		}
		compareLines(t, want, got, 0)
		_, err = inOrder(c.Predict(ctx, x.predict, numbered(t, 4000)), func(row int) error {
			if row == 80 {
				p.kill("ps-0")
				p.start("ps-0")
			}
			return nil
		})
		if !errors.Is(err, distribute.ErrServersLost) {
			return fmt.Errorf("predict: %w, expected ErrServersLost", err)
		}
		if _, err := x.Restore(ctx); err != nil {
			return err
		}
		again, err := inOrder(c.Predict(ctx, x.predict, numbered(t, 100)), nothing)
		if err == nil && fmt.Sprint(again) != fmt.Sprint(rows) {
			t.Errorf("rows %v, expected %v", again, rows)
		}
		return err
	})
}

// TestEvaluationByFunctions: functions on workers add to metrics on the parameter server. Reset starts them again, even
// if a worker was killed between functions.
func TestEvaluationByFunctions(t *testing.T) {
	p := newProcesses(t)
	p.chief(func(ctx context.Context, x *processProgram, c *distribute.Coordinator) error {
		kernel, err := x.Variable("dense/kernel")
		if err != nil {
			return err
		}
		w := kernel.Float(0)
		for round, batches := range []int{20, 7, 30} {
			if err := errors.Join(x.error.Reset(ctx), x.rows.Reset(ctx)); err != nil {
				return err
			}
			sum := 0.0
			for i := range batches {
				at := []float32{float32(i), float32(-i)}
				sum += 2 * float64(i) * float64(i) * (w - 1) * (w - 1)
				data, err := tensor.FromSlice(at, 2, 1)
				if err != nil {
					return err
				}
				if _, err := c.Schedule(ctx, x.measure, data, data); err != nil {
					return err
				}
			}
			if err := c.Join(ctx); err != nil {
				return err
			}
			if err := near(ctx, x.rows, float64(2*batches), 0); err != nil {
				return err
			}
			if err := near(ctx, x.error, sum/float64(2*batches), 1e-4); err != nil {
				return err
			}
			worker := fmt.Sprint("worker-", round%2)
			p.kill(worker)
			p.start(worker)
		}
		return nil
	})
}

// near reports a metric that differs from what was expected by more than a relative tolerance.
func near(ctx context.Context, m *distribute.Metric, want, tolerance float64) error {
	v, err := m.Result(ctx)
	if err != nil {
		return err
	}
	if d := v.Data[0] - want; !(max(d, -d) <= tolerance*want) {
		return fmt.Errorf("metric %s: %v, expected %v", m.Name(), v, want)
	}
	return nil
}

// killIn kills the worker that evaluates a shard, starts it again, and lets the next go on.
func (p *processes) killIn(ctx context.Context, shard int) error {
	in := fmt.Sprint("in-", shard)
	if err := awaitFile(ctx, filepath.Join(p.dir, in)); err != nil {
		return err
	}
	at := p.lines(in)
	for len(at) == 0 && ctx.Err() == nil { // the line is not written yet
		time.Sleep(time.Millisecond)
		at = p.lines(in)
	}
	worker := "worker-0"
	if at["1"] > 0 {
		worker = "worker-1"
	}
	p.kill(worker)
	if err := appendLine(filepath.Join(p.dir, fmt.Sprint("leave-", shard)), ""); err != nil {
		return err
	}
	p.start(worker)
	return nil
}

// compareLines compares evaluations of the line: counts and extremes exactly, the loss, which is a
// float32 for each batch, with a tolerance, and float64 sums up to a millionth.
func compareLines(t *testing.T, want, got distribute.EvalResult, tolerance float64) {
	t.Helper()
	if got.Rows != want.Rows || got.GlobalStep != want.GlobalStep || len(got.Metrics) != 6 {
		t.Errorf("%+v, expected %+v", got, want)
	}
	for name, w := range want.Metrics {
		g, allowed := got.Metrics[name], 0.0
		switch {
		case name == "loss":
			allowed = tolerance
		case name == "error":
			allowed = tolerance * 1e-6
		}
		for i := range w.Data {
			if d := w.Data[i] - g.Data[i]; !(max(d, -d) <= allowed) {
				t.Errorf("%s: %v, expected %v", name, g, w)
			}
		}
	}
}
