package batching

import (
	"context"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/serving/tracing"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// process runs a batch and sets the results of its tasks.
func (m *Model) process(b *batch) {
	defer m.s.finish(b)
	ran := BatchStats{Model: m.id, Pool: m.s.opts.Name}
	var tasks []*task
	for _, t := range b.tasks {
		ran.Waits = append(ran.Waits, t.wait)
		tracing.Record(t.req.ctx, "queue", t.queued, t.queued.Add(t.wait))
		if t.req.ctx.Err() != nil {
			t.err = ended(t.req.ctx, true)
			continue
		}
		tasks = append(tasks, t)
	}
	tasks = compatible(tasks, m.p.PadVariableLengthInputs)
	m.s.finishExcept(b, tasks)
	if len(tasks) == 0 {
		return
	}
	for _, t := range tasks {
		ran.Tasks = append(ran.Tasks, t.rows())
		ran.Rows += t.rows()
	}
	total := m.p.allowed(ran.Rows)
	ran.Padding = total - ran.Rows
	start := time.Now()
	ran.Err = m.runTasks(b, tasks, total)
	ran.Run = time.Since(start)
	show(b, ran, start)
	for _, t := range tasks {
		t.transferResults(b.account)
		if ran.Err == nil && t.req.ctx.Err() == nil {
			ran.Err = t.err
		}
	}
	if o := m.s.opts.Observer; o != nil {
		o.Batch(ran)
	}
}

// show adds a batch that began to run at start, and the waits of its requests, to the running capture.
func show(b *batch, ran BatchStats, start time.Time) {
	r := timeline.Active()
	if r == nil {
		return
	}
	for _, t := range b.tasks {
		r.Add(timeline.Event{Line: timeline.Queue, Name: ran.Model.Name, Start: t.queued, Duration: t.wait, Stats: []timeline.Stat{{Name: "rows", Number: int64(t.rows())}}})
	}
	r.Add(timeline.Event{Line: timeline.Batches, Name: ran.Model.Name, Start: start, Duration: ran.Run, Stats: []timeline.Stat{
		{Name: "version", Number: ran.Model.Version}, {Name: "requests", Number: int64(len(ran.Tasks))}, {Name: "rows", Number: int64(ran.Rows)}, {Name: "padding", Number: int64(ran.Padding)}}})
}

func (m *Model) runTasks(b *batch, tasks []*task, total int) error {
	if first := tasks[0]; len(tasks) == 1 && first.rows() == total {
		defer m.s.release(b)
		m.runAlone(b, first, first.feeds())
		return first.err
	}
	if paddingDominates(tasks, total) {
		return m.runEach(b, tasks)
	}
	if err := b.account.ReserveModel(mergedSize(tasks, total)); err != nil {
		return m.runEach(b, tasks)
	}
	feeds := merge(tasks, total)
	for _, t := range tasks {
		t.count()
	}
	m.s.release(b)
	b.padded(feeds, total, tasks...)
	out, err := m.run(b, feeds, total)
	if c := status.Code(err); len(tasks) > 1 && (c == codes.InvalidArgument || c == codes.OutOfRange) {
		at := 0
		for _, t := range tasks {
			own := rowsOf(feeds, at, at+t.rows())
			b.padded(own, t.rows(), t)
			m.runAlone(b, t, own)
			at += t.rows()
		}
		return err
	}
	at := 0
	for _, t := range tasks {
		if t.err = err; err == nil {
			for _, o := range out {
				t.outputs = append(t.outputs, rows(o, at, at+t.rows()))
			}
		}
		at += t.rows()
	}
	return err
}

// count records how many elements the client sent, while the feeds may still be read.
func (t *task) count() {
	for _, x := range t.feeds() {
		t.elements += x.Len()
	}
}

// padded records how many elements the feeds of total rows have beyond the elements of their tasks.
func (b *batch) padded(feeds map[string]*tensor.Tensor, total int, of ...*task) {
	elements := 0
	for _, x := range feeds {
		elements += x.Len()
	}
	for _, t := range of {
		total -= t.rows()
		elements -= t.elements
	}
	b.account.Pad(total, elements)
}

// transferResults moves the results, which outlive the batch, from the batch's account to the caller's.
func (t *task) transferResults(batch *budget.Account) {
	if t.err != nil {
		return
	}
	n := 0
	for _, o := range t.outputs {
		n += o.MemoryBytes()
	}
	if t.err = batch.Transfer(n, budget.Of(t.req.ctx)); t.err != nil {
		t.outputs = nil
	}
}

// runEach runs the tasks one after another, on copies of their feeds, so that no caller has to wait for another's run.
func (m *Model) runEach(b *batch, tasks []*task) error {
	feeds := make([]map[string]*tensor.Tensor, len(tasks))
	for i, t := range tasks {
		for _, x := range t.feeds() {
			if t.err == nil {
				t.err = b.account.ReserveModel(x.MemoryBytes())
			}
		}
		if t.err != nil {
			continue
		}
		feeds[i] = map[string]*tensor.Tensor{}
		for name, x := range t.feeds() {
			feeds[i][name] = x.Clone()
		}
	}
	m.s.release(b)
	var first error
	for i, t := range tasks {
		if t.err == nil {
			m.runAlone(b, t, feeds[i])
		}
		if first == nil {
			first = t.err
		}
	}
	return first
}

// runAlone runs one task, without padding.
func (m *Model) runAlone(b *batch, t *task, feeds map[string]*tensor.Tensor) {
	t.outputs, t.err = m.run(b, feeds, t.rows())
}

// run calls the model and checks that the results are a batch of so many rows.
func (m *Model) run(b *batch, feeds map[string]*tensor.Tensor, rows int) (out []*tensor.Tensor, err error) {
	ctx, end := tracing.Start(b.ctx, "run")
	defer func() { end(err) }()
	out, err = call(ctx, m, feeds, b.queue.fetches)
	if err != nil {
		return nil, err
	}
	if len(out) != len(b.queue.fetches) {
		return nil, status.Error(codes.Internal, "Wrong number of batched output tensors")
	}
	for _, o := range out {
		if o == nil || !complete(o) {
			return nil, status.Errorf(codes.Internal, "an output of the model %s does not have the data of its shape", m.id)
		}
		if len(o.Shape) == 0 {
			return nil, status.Error(codes.FailedPrecondition, "Batched output tensor has 0 dimensions")
		}
		if o.Shape[0] != rows {
			return nil, status.Error(codes.FailedPrecondition, "Batched output tensor's 0th dimension does not equal the sum of the 0th "+
				"dimension sizes of the input tensors")
		}
	}
	return out, nil
}

// call turns a panic of the model into an error, since a worker must survive it.
func call(ctx context.Context, m *Model, feeds map[string]*tensor.Tensor, fetches []string) (out []*tensor.Tensor, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New("model "+m.id.String(), p)
		}
	}()
	return m.inner.Run(ctx, feeds, fetches)
}
