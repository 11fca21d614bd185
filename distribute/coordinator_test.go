package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// lineProgram is the program of all tasks of a coordinator's job: it learns y = 2x + 1.
type lineProgram struct {
	*distribute.Strategy
	train           *distribute.Function
	step, add, fail *distribute.Remote
	data, broken    *distribute.WorkerDataset
	rank            *distribute.WorkerValue
}

var errMade = errors.New("as the test wants")

func newLineProgram(rc runconfig.RunConfig) (p *lineProgram, err error) {
	p = &lineProgram{}
	if p.Strategy, err = distribute.New(rc, quiet); err != nil {
		return nil, err
	}
	sgd := optimizers.SGD(0.1)
	p.train, err = p.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		y := layers.Dense(c, c.Arg("x", tensor.Float32, 1), 1, layers.Weights{})
		loss := losses.MeanSquaredError(c, c.Arg("y", tensor.Float32, 1), y, losses.Options{})
		return distribute.Outputs{Loss: loss, Train: sgd.Minimize(c, loss)}, nil
	})
	if err == nil {
		err = p.remotes()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close(context.Background()))
	}
	return p, nil
}

func (p *lineProgram) remotes() (err error) {
	remote := func(name string, run distribute.RemoteFunc) (r *distribute.Remote) {
		if err == nil {
			r, err = p.Remote(name, run)
		}
		return r
	}
	p.step = remote("step", p.runStep)
	p.add = remote("add", addTensors)
	p.fail = remote("fail", func(context.Context, *distribute.RemoteCall) ([]*tensor.Tensor, error) { return nil, errMade })
	if err != nil {
		return err
	}
	if p.data, err = p.WorkerDataset("data", lineData); err != nil {
		return err
	}
	if p.broken, err = p.WorkerDataset("broken", func(inputs.Context) (inputs.Dataset, error) { return nil, errMade }); err != nil {
		return err
	}
	p.rank, err = p.WorkerValue("rank", func(ic inputs.Context) ([]*tensor.Tensor, error) {
		return []*tensor.Tensor{tensor.Scalar(int64(ic.Pipeline)), tensor.Scalar(int64(ic.NumPipelines))}, nil
	})
	return err
}

// lineData is a worker's points of the line, repeated forever.
func lineData(inputs.Context) (inputs.Dataset, error) {
	x, y := []float32{-1, 0, 1, 2}, []float32{-1, 1, 3, 5}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 1), inputs.Slice("y", inputs.Label, y, 1))
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Repeat(-1), inputs.Batch(4, false)), nil
}

// runStep is one training step on the worker's data; it returns the loss.
func (p *lineProgram) runStep(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
	it, err := call.Iterator(0)
	if err != nil {
		return nil, err
	}
	batch, err := it.Next(ctx)
	if err != nil {
		return nil, err
	}
	res, err := p.train.Run(ctx, batch)
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{tensor.Scalar(res.Loss())}, nil
}

// addTensors adds two integers and the first of a worker's value.
func addTensors(_ context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
	a, err := call.Tensor(0)
	if err != nil {
		return nil, err
	}
	b, err := call.Tensor(1)
	if err != nil {
		return nil, err
	}
	v, err := call.Value(2)
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{tensor.Scalar(a.Int(0) + b.Int(0)), v[0], v[1], a}, nil
}

// coordinated runs a program on the chief of a job with these numbers of tasks. Tasks are
// goroutines of this process; workers run functions for the chief.
func coordinated(t *testing.T, workers, servers int, program func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error) {
	t.Helper()
	job := setup{"coordinator", runconfig.Strategy{Name: "parameter_server"}, workers + 1, servers}
	job.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		p, err := newLineProgram(rc)
		if err != nil {
			return err
		}
		if rc.IsChief() {
			err = p.coordinate(ctx, program)
		} else {
			err = p.Work(ctx)
		}
		return errors.Join(err, p.Close(ctx))
	})
}

func (p *lineProgram) coordinate(ctx context.Context, program func(context.Context, *lineProgram, *distribute.Coordinator) error) error {
	c, err := distribute.NewCoordinator(ctx, p.Strategy)
	if err != nil {
		return err
	}
	return errors.Join(program(ctx, p, c), c.Close(ctx))
}

// TestCoordinatorTrains: functions on two workers train variables on two parameter servers.
func TestCoordinatorTrains(t *testing.T) {
	coordinated(t, 2, 2, func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error {
		const steps = 200
		data := c.CreatePerWorkerDataset(p.data)
		var first, last *distribute.RemoteValue
		for i := range steps {
			v, err := c.Schedule(ctx, p.step, data)
			if err != nil {
				return err
			}
			if last = v; i == 0 {
				first = v
			}
		}
		if err := c.Join(ctx); err != nil {
			return err
		}
		losses, err := c.Fetch(ctx, first, last)
		if err != nil {
			return err
		}
		if from, to := losses[0][0].Float(0), losses[1][0].Float(0); !(to < 1e-3 && to < from) {
			t.Errorf("loss from %v to %v, expected to learn", from, to)
		}
		step, err := p.Variable("global_step")
		if err != nil {
			return err
		}
		if step.Int(0) != steps {
			t.Errorf("global step %d, expected %d", step.Int(0), steps)
		}
		w, err := p.Variable("dense/kernel")
		if err != nil {
			return err
		}
		if math.Abs(w.Float(0)-2) > 0.05 {
			t.Errorf("kernel %v, expected 2", w.Float(0))
		}
		_, err = p.Save(ctx)
		return err
	})
}

// TestCoordinatorValues: arguments arrive, each worker has its own value, results come back.
func TestCoordinatorValues(t *testing.T) {
	coordinated(t, 2, 1, func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error {
		rank := c.CreatePerWorkerValue(p.rank)
		for i := range int64(20) {
			v, err := c.Schedule(ctx, p.add, tensor.Scalar(i), tensor.Scalar(i*i), rank)
			if err != nil {
				return err
			}
			out, err := v.Fetch(ctx)
			if err != nil {
				return err
			}
			if got := out[0].Int(0); got != i+i*i || out[3].Int(0) != i {
				t.Errorf("%d + %d = %d", i, i*i, got)
			}
			if r, n := out[1].Int(0), out[2].Int(0); r < 0 || r > 1 || n != 2 {
				t.Errorf("worker %d of %d", r, n)
			}
		}
		done, err := c.Done()
		if !done || err != nil {
			t.Errorf("done: %v, %v", done, err)
		}
		return nil
	})
}

// TestCoordinatorErrors: a function's error reaches the next call, once; queued functions
// are cancelled, and then functions run again.
func TestCoordinatorErrors(t *testing.T) {
	coordinated(t, 2, 1, func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error {
		for _, what := range []string{"function", "data set"} {
			failing, args := p.fail, []any(nil)
			if what == "data set" {
				failing, args = p.step, []any{c.CreatePerWorkerDataset(p.broken)}
			}
			v, err := c.Schedule(ctx, failing, args...)
			if err != nil {
				return err
			}
			if err := c.Join(ctx); !errors.Is(err, distribute.ErrFunction) || !strings.Contains(err.Error(), errMade.Error()) {
				return fmt.Errorf("%s: Join returned %v, expected its error", what, err)
			}
			if _, err := c.Fetch(ctx, v); !errors.Is(err, distribute.ErrFunction) {
				return fmt.Errorf("%s: Fetch returned %v, expected its error", what, err)
			}
			if done, err := c.Done(); !done || err != nil {
				return fmt.Errorf("%s: done %v, %v, expected to be usable again", what, done, err)
			}
		}
		data := c.CreatePerWorkerDataset(p.data)
		v, err := c.Schedule(ctx, p.step, data)
		if err != nil {
			return err
		}
		_, err = v.Fetch(ctx)
		return err
	})
}

// TestCoordinatorRefuses: invalid arguments are errors at once.
func TestCoordinatorRefuses(t *testing.T) {
	coordinated(t, 1, 1, func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error {
		v, err := c.Schedule(ctx, p.fail)
		if err != nil {
			return err
		}
		for _, bad := range []any{v, 7, nil, (*tensor.Tensor)(nil), &tensor.Tensor{},
			&tensor.Tensor{DType: tensor.String, Strings: make([][]byte, 2)}, &tensor.Tensor{DType: tensor.Float32, Shape: []int{-1}}, &distribute.PerWorker{}} {
			if _, err := c.Schedule(ctx, p.step, bad); err == nil || errors.Is(err, distribute.ErrFunction) {
				t.Errorf("argument %T: %v, expected to be refused", bad, err)
			}
		}
		if _, err := c.Schedule(ctx, p.step, (*tensor.Tensor)(nil)); err == nil || !strings.Contains(err.Error(), "got nil") {
			t.Errorf("%v, expected that the tensor is nil", err)
		}
		if _, err := c.Schedule(ctx, nil); err == nil {
			t.Error("no function was scheduled")
		}
		if _, err := distribute.NewCoordinator(ctx, p.Strategy); err == nil {
			t.Error("a second coordinator")
		}
		if err := p.Work(ctx); err == nil {
			t.Error("the chief worked")
		}
		if err := c.Join(ctx); !errors.Is(err, distribute.ErrFunction) {
			t.Errorf("%v, expected the function's error", err)
		}
		if err := c.Close(ctx); err != nil {
			return err
		}
		if _, err := c.Schedule(ctx, p.fail); !errors.Is(err, distribute.ErrClosed) {
			t.Errorf("%v, expected ErrClosed", err)
		}
		return nil
	})
	alone, err := distribute.New(mustConfig(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close(t.Context())
	if _, err := distribute.NewCoordinator(t.Context(), alone); err == nil || !strings.Contains(err.Error(), "parameter_server") {
		t.Errorf("%v, expected to ask for parameter_server", err)
	}
}

// TestWorkIsInterrupted: an idle worker ends with its context, and does not work again.
func TestWorkIsInterrupted(t *testing.T) {
	idle, left := make(chan struct{}), make(chan struct{})
	job := setup{"interrupted", runconfig.Strategy{Name: "parameter_server"}, 2, 1}
	job.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		p, err := newLineProgram(rc)
		if err != nil {
			return err
		}
		if rc.IsChief() {
			return errors.Join(p.coordinate(ctx, func(ctx context.Context, p *lineProgram, c *distribute.Coordinator) error {
				_, err := c.Schedule(ctx, p.fail)
				if err := c.Join(ctx); !errors.Is(err, distribute.ErrFunction) {
					t.Errorf("%v, expected the function's error", err)
				}
				close(idle)
				<-left
				return err
			}), p.Close(ctx))
		}
		defer close(left)
		working, interrupt := context.WithCancel(ctx)
		go func() { <-idle; interrupt() }()
		if err := p.Work(working); !errors.Is(err, distribute.ErrInterrupted) {
			t.Errorf("%v, expected ErrInterrupted", err)
		}
		if err := p.Work(ctx); err == nil || !strings.Contains(err.Error(), "start the process again") {
			t.Errorf("%v, expected to be refused", err)
		}
		return p.Close(ctx)
	})
}

func mustConfig(t *testing.T) runconfig.RunConfig {
	t.Helper()
	rc, err := runconfig.New(runconfig.ModelDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	return rc
}
