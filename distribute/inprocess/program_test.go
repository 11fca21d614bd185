package inprocess_test

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

var quiet = distribute.WithLogger(slog.New(slog.DiscardHandler))

// options are the options of all tasks.
func options(dir, strategy string) []runconfig.Option {
	rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: 20, RejoinSecs: 30, CallTimeoutSecs: 30, MaxMessageMB: 64}
	return []runconfig.Option{runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.Connections(rpc),
		runconfig.SessionCreationTimeoutSecs(60), runconfig.TrainDistribute(runconfig.Strategy{Name: strategy})}
}

// line learns y = 2x + 1.
type line struct {
	*distribute.Strategy
	train       *distribute.Function
	data        *distribute.Input
	step, block *distribute.Remote
	perWorker   *distribute.WorkerDataset
}

// blocker makes one run of the function block last until its context ends.
type blocker struct {
	armed   chan struct{} // has an element if the next run must block
	blocked chan int      // the worker that blocks
	reached chan error    // the error of its later call to a parameter server
}

func newBlocker() *blocker {
	return &blocker{make(chan struct{}, 1), make(chan int, 1), make(chan error, 1)}
}

func (b *blocker) block(ctx context.Context, l *line, worker int) error {
	select {
	case <-b.armed:
		b.blocked <- worker
		<-ctx.Done()
		_, err := l.Variable("global_step")
		b.reached <- err
		return context.Cause(ctx)
	default:
		return nil
	}
}

// newLine makes a task's strategy.
func newLine(rc runconfig.RunConfig, b *blocker) (*line, error) {
	s, err := distribute.New(rc, quiet)
	if err != nil {
		return nil, err
	}
	l := &line{Strategy: s}
	if err := l.build(b, rc.TaskID()); err != nil {
		return nil, errors.Join(err, s.Close(context.Background()))
	}
	return l, nil
}

func (l *line) build(b *blocker, index int) (err error) {
	if l.train, err = l.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		y := layers.Dense(c, c.Arg("x", tensor.Float32, 1), 1, layers.Weights{})
		loss := losses.MeanSquaredError(c, c.Arg("y", tensor.Float32, 1), y, losses.Options{})
		return distribute.Outputs{Loss: loss, Train: optimizers.SGD(0.1).Minimize(c, loss)}, nil
	}); err != nil {
		return err
	}
	points, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{-1, 0, 1, 2}, 1), inputs.Slice("y", inputs.Label, []float32{-1, 1, 3, 5}, 1))
	if err != nil {
		return err
	}
	endless := inputs.Pipe(points, inputs.Repeat(-1))
	if l.data, err = l.Distribute(endless, 6, distribute.ShardRows); err != nil {
		return err
	}
	if l.perWorker, err = l.WorkerDataset("data", func(inputs.Context) (inputs.Dataset, error) {
		return inputs.Pipe(endless, inputs.Batch(4, false)), nil
	}); err != nil {
		return err
	}
	if l.block, err = l.Remote("block", func(ctx context.Context, _ *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		return nil, b.block(ctx, l, index)
	}); err != nil {
		return err
	}
	l.step, err = l.Remote("step", l.runStep)
	return err
}

// runStep is one step on the worker's data.
func (l *line) runStep(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
	it, err := call.Iterator(0)
	if err != nil {
		return nil, err
	}
	batch, err := it.Next(ctx)
	if err != nil {
		return nil, err
	}
	res, err := l.train.Run(ctx, batch)
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{tensor.Scalar(res.Loss())}, nil
}

// loop makes steps up to a global step, saves after each, and then calls reached.
func (l *line) loop(ctx context.Context, until int64, reached func(step int64)) error {
	for {
		err := l.pass(ctx, until, reached)
		if !errors.Is(err, distribute.ErrSessionLost) {
			return err
		}
	}
}

// pass restores, and makes steps as loop does.
func (l *line) pass(ctx context.Context, until int64, reached func(step int64)) error {
	if _, err := l.Restore(ctx); err != nil {
		return err
	}
	it, err := l.data.Iterate(ctx)
	if err != nil {
		return err
	}
	for l.GlobalStep() < until {
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return errors.New("the data ended")
		}
		if err == nil {
			_, err = l.train.Run(ctx, batch)
		}
		if err == nil {
			_, err = l.Save(ctx)
		}
		if err != nil {
			return err
		}
		reached(l.GlobalStep())
	}
	return nil
}
