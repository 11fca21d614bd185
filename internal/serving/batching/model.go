package batching

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Model is a servable.Model whose Runs are batched.
type Model struct {
	id      servable.ID
	inner   servable.Model
	p       Parameters
	s       *Scheduler
	inputs  map[string]input  // by tensor name
	queues  map[string]*queue // non-empty; under the scheduler's lock
	running sync.WaitGroup    // batches
}

var _ servable.Model = (*Model)(nil)

// New returns the model m, named id, run in batches by the workers of s. p must be valid. Closing the result closes m.
func New(id servable.ID, m servable.Model, p Parameters, s *Scheduler) servable.Model {
	return &Model{id: id, inner: m, p: p, s: s, inputs: inputs(m.Signatures()), queues: map[string]*queue{}}
}

// Signatures implements servable.Model.
func (m *Model) Signatures() map[string]*pb.SignatureDef { return m.inner.Signatures() }

// Unwrap returns the model that runs.
func (m *Model) Unwrap() servable.Model { return m.inner }

// Queued returns how many rows wait for a batch of this model.
func (m *Model) Queued() int { return m.s.queued(m) }

// Close waits for the batches whose callers gave up, and closes the model.
func (m *Model) Close() error {
	m.running.Wait()
	return m.inner.Close()
}

// Run implements servable.Model. It returns the model's own errors and TensorFlow Serving's batching errors:
// Unavailable if the queue is full, ResourceExhausted if the deadline passed in it, InvalidArgument and
// FailedPrecondition for feeds or results that are no batch.
func (m *Model) Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	batchable, irregular := m.batchable(feeds)
	if len(fetches) == 0 || !batchable {
		return m.inner.Run(ctx, feeds, fetches)
	}
	rows, err := size(feeds)
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return m.inner.Run(ctx, feeds, fetches)
	}
	if rows > m.p.MaxBatchSize {
		kind := "batch size"
		if m.p.EnableLargeBatchSplitting {
			kind = "input batch size"
		}
		return nil, invalid("Task size %d is larger than maximum %s %d", rows, kind, m.p.MaxBatchSize)
	}
	return m.schedule(ctx, feeds, rows, irregular, fetches)
}

func (m *Model) schedule(ctx context.Context, feeds map[string]*tensor.Tensor, rows int, irregular bool, fetches []string) ([]*tensor.Tensor, error) {
	r := &request{ctx: ctx, feeds: feeds, done: make(chan struct{})}
	r.tasks = []*task{{req: r, to: rows}}
	names := slices.Compact(slices.Sorted(slices.Values(fetches)))
	if err := m.s.enqueue(m, r, key(feeds, irregular, names), names); err != nil {
		return nil, err
	}
	select {
	case <-r.done:
		return r.results(names, fetches)
	case <-ctx.Done():
		return nil, ended(ctx, m.s.abandon(r))
	}
}

// ended is the error of a request whose context ended, in the queue or while it ran.
func ended(ctx context.Context, queued bool) error {
	if queued && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return status.Error(codes.ResourceExhausted, "Run() timeout exceeded while waiting in batching queue")
	}
	return status.FromContextError(ctx.Err()).Err()
}

// key names the queue of a request. Feeds of irregular shapes share a queue only with feeds of the same shapes.
func key(feeds map[string]*tensor.Tensor, irregular bool, fetches []string) string {
	names := make([]string, 0, len(feeds))
	for n := range feeds {
		names = append(names, n)
	}
	slices.Sort(names)
	k := strings.Join(names, "\x00") + "\x00\x00" + strings.Join(fetches, "\x00")
	if irregular {
		for _, n := range names {
			k += fmt.Sprint(feeds[n].Shape[1:])
		}
	}
	return k
}

// size is dimension 0, which all feeds share.
func size(feeds map[string]*tensor.Tensor) (int, error) {
	if len(feeds) == 0 {
		return 0, invalid("Batching Run() must have at least one input tensor")
	}
	rows := -1
	for name, t := range feeds {
		switch {
		case !complete(t):
			return 0, invalid("the data of input %s does not fit its shape %v of %s", name, t.Shape, t.DType)
		case len(t.Shape) == 0:
			return 0, invalid("Batching Run() input tensors must have at least one dimension")
		case rows >= 0 && t.Shape[0] != rows:
			return 0, invalid("Batching Run() input tensors must have equal 0th-dimension size")
		}
		rows = t.Shape[0]
	}
	return rows, nil
}

// complete reports whether a tensor has as many elements as its shape says.
func complete(t *tensor.Tensor) bool {
	if slices.ContainsFunc(t.Shape, func(d int) bool { return d < 0 }) {
		return false
	}
	if t.DType == tensor.String {
		return len(t.Strings) == t.Len()
	}
	return t.DType.Size() > 0 && len(t.Bytes) == t.Len()*t.DType.Size()
}

// input is what the signatures say about a tensor.
type input struct {
	dtype tensor.DType
	dims  []int64 // -1: any
	any   bool    // rank is unknown
}

func inputs(sigs map[string]*pb.SignatureDef) map[string]input {
	all := map[string]input{}
	for _, s := range sigs {
		for _, info := range s.GetInputs() {
			shape := info.GetTensorShape()
			in := input{dtype: tensor.DType(info.GetDtype()), any: shape == nil || shape.GetUnknownRank()}
			for _, d := range shape.GetDim() {
				in.dims = append(in.dims, d.GetSize())
			}
			all[info.GetName()] = in
		}
	}
	return all
}

// batchable reports whether feeds may share a batch. Feeds that the model refuses, or that have no batch dimension, go
// to the model alone. Irregular feeds have shapes that differ from the signature's, which are not binding.
func (m *Model) batchable(feeds map[string]*tensor.Tensor) (batchable, irregular bool) {
	for name, t := range feeds {
		in, known := m.inputs[name]
		switch {
		case m.p.PadVariableLengthInputs && t.Len() == 0: // there is no element to pad with
			return false, false
		case !known:
		case t.DType != in.dtype, !in.any && (len(in.dims) == 0 || in.dims[0] >= 0):
			return false, false
		case !in.fits(t.Shape):
			irregular = true
		}
	}
	return true, irregular
}

func (in input) fits(shape []int) bool {
	if in.any {
		return true
	}
	if len(shape) != len(in.dims) {
		return false
	}
	for i, d := range in.dims {
		if d >= 0 && int64(shape[i]) != d {
			return false
		}
	}
	return true
}

// results puts the parts of a request together, in the order of fetches, which may repeat a name.
func (r *request) results(names, fetches []string) ([]*tensor.Tensor, error) {
	for _, t := range r.tasks {
		if t.err != nil {
			return nil, t.err
		}
	}
	account := budget.Of(r.ctx)
	out := make([]*tensor.Tensor, len(fetches))
	for i, f := range fetches {
		var err error
		if first := slices.Index(fetches, f); first < i {
			out[i], err = clone(out[first], account)
		} else {
			at, _ := slices.BinarySearch(names, f)
			out[i], err = r.output(f, at, account)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func clone(x *tensor.Tensor, account *budget.Account) (*tensor.Tensor, error) {
	if err := account.ReserveModel(x.MemoryBytes()); err != nil {
		return nil, err
	}
	return x.Clone(), nil
}

// output joins the parts of an output. The parts are garbage afterwards.
func (r *request) output(name string, at int, account *budget.Account) (*tensor.Tensor, error) {
	if len(r.tasks) == 1 {
		return r.tasks[0].outputs[at], nil
	}
	parts, size := make([]*tensor.Tensor, len(r.tasks)), 0
	for i, t := range r.tasks {
		parts[i] = t.outputs[at]
		size += len(parts[i].Bytes) + tensor.StringHeader*len(parts[i].Strings) // the strings themselves are shared
	}
	if err := account.ReserveModel(size); err != nil {
		return nil, err
	}
	whole, err := join(parts)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "output %s of a split request: %v", name, err)
	}
	for _, t := range r.tasks {
		t.outputs[at] = nil
	}
	account.ReleaseModel(size)
	return whole, nil
}
