package distribute

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// batchesPerWorker is how many batches of a prediction each worker may have ahead of what was yielded.
const batchesPerWorker = 3

// remotePrediction begins the names of the remote functions of Predict.
const remotePrediction = "prediction/"

// Predict is Function.Predict on the workers: the chief reads the data set, each of its batches
// is a function that some worker runs, and again another one where that worker is lost. Rows are yielded in the order of
// the data set, each once. Few batches are in memory: three for each worker.
// It returns the errors that Join returns. Where the caller wants no more, functions that were scheduled ahead are waited for.
func (c *Coordinator) Predict(ctx context.Context, f *Function, ds inputs.Dataset) iter.Seq2[Tensors, error] {
	name := ""
	if f != nil {
		name = f.name
	}
	return sequence(name, func(yield func(Tensors) error) error {
		if f == nil || f.strategy != c.strategy {
			return errors.New("expected a function of the coordinator's strategy")
		}
		it, err := f.openPrediction(ctx, ds)
		if err != nil {
			return err
		}
		p := &remotePredictions{coordinator: c, function: f, it: it}
		return errors.Join(p.run(ctx, yield), it.Close())
	})
}

// remotePredictions are the batches that workers predict.
type remotePredictions struct {
	coordinator *Coordinator
	function    *Function
	it          *Iterator
	ended       bool  // the data
	parts       Batch // that were read and are not scheduled yet: a part is a function
	ahead       []predictedAhead
}

// predictedAhead is a batch that was scheduled.
type predictedAhead struct {
	value *RemoteValue
	rows  int
}

func (p *remotePredictions) run(ctx context.Context, yield func(Tensors) error) error {
	for {
		if err := p.fill(ctx); err != nil {
			return p.leave(ctx, err)
		}
		if len(p.ahead) == 0 {
			return nil
		}
		first := p.ahead[0]
		p.ahead[0], p.ahead = predictedAhead{}, p.ahead[1:]
		values, err := first.value.Fetch(ctx)
		if err != nil {
			return p.coordinator.settle(ctx, err)
		}
		out, err := p.function.predicted(values, first.rows)
		if err == nil {
			err = yield(out)
		}
		if err != nil {
			return p.leave(ctx, err)
		}
	}
}

// fill schedules batches while there is room.
func (p *remotePredictions) fill(ctx context.Context) error {
	for len(p.ahead) < batchesPerWorker*len(p.coordinator.strategy.job.FunctionWorkers()) {
		if err := p.read(ctx); err != nil || p.ended {
			return err
		}
		if err := p.schedule(ctx, p.parts[0]); err != nil {
			return err
		}
		p.parts = p.parts[1:]
	}
	return nil
}

// read reads the next parts once all before them are scheduled: as many as the chief has replicas.
func (p *remotePredictions) read(ctx context.Context) (err error) {
	if p.ended || len(p.parts) > 0 {
		return nil
	}
	p.parts, err = p.it.Next(ctx)
	if errors.Is(err, io.EOF) {
		p.ended = true
		return nil
	}
	return err
}

// schedule lets some worker predict a part.
func (p *remotePredictions) schedule(ctx context.Context, part Tensors) error {
	c, f := p.coordinator, p.function
	rows, feeds, err := feed(f.traced.args, part, nil)
	if err != nil {
		return err
	}
	args := make([]any, len(feeds))
	for i, t := range feeds {
		args[i] = t
	}
	v, err := c.Schedule(ctx, c.strategy.remotes.functions[remotePrediction+f.name], args...)
	if err == nil {
		p.ahead = append(p.ahead, predictedAhead{v, rows})
	}
	return err
}

// leave waits for what was scheduled ahead. The next Schedule, Join or Done returns its error.
func (p *remotePredictions) leave(ctx context.Context, err error) error {
	for _, a := range p.ahead {
		_, _ = a.value.Fetch(ctx)
	}
	return err
}

// runBatch is the remote function of a prediction: the arguments of the function to its values.
func (f *Function) runBatch(ctx context.Context, call *RemoteCall) ([]*tensor.Tensor, error) {
	part := Tensors{}
	for i, a := range f.traced.args {
		t, err := call.Tensor(i)
		if err != nil {
			return nil, err
		}
		part[a.name] = t
	}
	res, err := f.Run(ctx, Batch{part})
	if err != nil {
		return nil, err
	}
	return res.values(0), nil
}
