package distribute

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// batchesPerWorker is the number of batches per worker that a prediction schedules ahead.
const batchesPerWorker = 3

// remotePrediction is the prefix of the names of Predict's remote functions.
const remotePrediction = "prediction/"

// Predict is Function.Predict on the workers. The chief reads the data set and schedules each
// batch on some worker; if that worker is lost, another one runs it again. Rows are yielded in the order of
// the data set, each once. At most three batches for each worker are in memory. Errors are as for
// Join. If the caller stops early, Predict waits for the batches scheduled ahead.
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

// remotePredictions has the batches that workers predict.
type remotePredictions struct {
	coordinator *Coordinator
	function    *Function
	it          *Iterator
	ended       bool  // the data has ended
	parts       Batch // parts that were read and not yet scheduled; each is a function
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

// read reads the next parts, one per replica of the chief, once all earlier ones are scheduled.
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

// schedule schedules a part on some worker.
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

// leave waits for the batches scheduled ahead. The next Schedule, Join or Done returns their error.
func (p *remotePredictions) leave(ctx context.Context, err error) error {
	for _, a := range p.ahead {
		_, _ = a.value.Fetch(ctx)
	}
	return err
}

// runBatch is the remote function of a prediction. It takes the arguments of the function and returns its values.
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
