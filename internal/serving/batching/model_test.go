package batching

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// half computes y = x/2 + 2 for any shape, takes its time, and records the batches.
type half struct {
	busy time.Duration
	mu   sync.Mutex
	ran  []*tensor.Tensor
}

func (h *half) model() *servable.Func {
	return &servable.Func{Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		x := feeds["x:0"]
		h.mu.Lock()
		h.ran = append(h.ran, x.Clone())
		h.mu.Unlock()
		if h.busy > 0 {
			select {
			case <-time.After(h.busy):
			case <-ctx.Done():
				return nil, status.FromContextError(ctx.Err()).Err()
			}
		}
		var out []*tensor.Tensor
		for range fetches {
			y := x.Clone()
			for i, v := range tensor.Values[float32](y) {
				if v < 0 {
					return nil, status.Error(codes.InvalidArgument, "negative")
				}
				tensor.Values[float32](y)[i] = v/2 + 2
			}
			out = append(out, y)
		}
		return out, nil
	}}
}

// sizes are the rows of the batches so far.
func (h *half) sizes() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []int
	for _, x := range h.ran {
		all = append(all, x.Shape[0])
	}
	return all
}

func floats(t testing.TB, values []float32, shape ...int) map[string]*tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(values, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*tensor.Tensor{"x:0": x}
}

// bench is a scheduler with one worker, a model on it, and calls in progress.
type bench struct {
	*testing.T
	h     *half
	s     *Scheduler
	m     servable.Model
	calls sync.WaitGroup
}

func newBench(t *testing.T, p Parameters) *bench {
	b := &bench{T: t, h: &half{busy: time.Second}, s: NewScheduler(Options{Threads: 1})}
	b.m = New(servable.ID{Name: "half", Version: 1}, b.h.model(), p, b.s)
	return b
}

// go1 starts a call and returns when the call waits.
func (b *bench) go1(ctx context.Context, check func(y *tensor.Tensor, err error), values []float32, shape ...int) {
	b.calls.Go(func() {
		y, err := b.m.Run(ctx, floats(b, values, shape...), []string{"y:0"})
		if err != nil {
			check(nil, err)
			return
		}
		check(y[0], nil)
	})
	synctest.Wait()
}

func (b *bench) end() {
	b.calls.Wait()
	b.s.Close()
	if len(b.m.(*Model).queues) != 0 || len(b.s.active) != 0 {
		b.Error("queues are left")
	}
}

// wants checks for an answer.
func (b *bench) wants(shape []int, values ...float32) func(*tensor.Tensor, error) {
	return func(y *tensor.Tensor, err error) {
		switch {
		case err != nil:
			b.Error(err)
		case !slices.Equal(y.Shape, shape) || !slices.Equal(tensor.Values[float32](y), values):
			b.Errorf("got %v %v, expected %v %v", y.Shape, tensor.Values[float32](y), shape, values)
		}
	}
}

// fails checks for an error.
func (b *bench) fails(code codes.Code, text string) func(*tensor.Tensor, error) {
	return func(_ *tensor.Tensor, err error) {
		if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), text) {
			b.Errorf("got %v, expected %v %q", err, code, text)
		}
	}
}

func small(change func(p *Parameters)) Parameters {
	p := Defaults()
	p.MaxBatchSize = 4
	change(&p)
	return p
}

// bubble runs a test with its own clock.
func bubble(t *testing.T, p Parameters, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, p)
		f(b)
		b.end()
	})
}

// Requests that arrive while the only worker is busy become one batch, even with a timeout of zero.
func TestBatchesWhatQueues(t *testing.T) {
	bubble(t, Defaults(), func(b *bench) {
		for i := range 5 {
			v := float32(i)
			b.go1(b.Context(), b.wants([]int{2}, v/2+2, v/2+2.5), []float32{v, v + 1}, 2)
		}
		b.calls.Wait()
		if s := b.h.sizes(); !slices.Equal(s, []int{2, 8}) {
			t.Errorf("batches of %v rows, expected [2 8]", s)
		}
	})
}

// A batch that is not full waits for its timeout, and no longer; a full one does not wait.
func TestTimeout(t *testing.T) {
	bubble(t, small(func(p *Parameters) { p.BatchTimeout = 10 * time.Second }), func(b *bench) {
		start := time.Now()
		b.go1(b.Context(), b.wants([]int{1}, 2), []float32{0}, 1)
		time.Sleep(4 * time.Second)
		b.go1(b.Context(), b.wants([]int{1}, 3), []float32{2}, 1)
		b.calls.Wait()
		if d := time.Since(start); d != 11*time.Second {
			t.Errorf("took %v, expected the time-out and a run", d)
		}
		start = time.Now()
		b.go1(b.Context(), b.wants([]int{4}, 2, 2, 2, 2), make([]float32, 4), 4)
		b.calls.Wait()
		if d := time.Since(start); d != time.Second {
			t.Errorf("a full batch took %v", d)
		}
		if s := b.h.sizes(); !slices.Equal(s, []int{2, 4}) {
			t.Errorf("batches of %v rows", s)
		}
	})
}

// A batch grows to an allowed size with copies of row 0 of its last request; shorter rows are padded with their tensor's first element.
func TestPadding(t *testing.T) {
	p := small(func(p *Parameters) {
		p.MaxBatchSize, p.AllowedBatchSizes, p.PadVariableLengthInputs = 8, []int{1, 5, 8}, true
	})
	bubble(t, p, func(b *bench) {
		b.go1(b.Context(), b.wants([]int{1, 1}, 2), []float32{0}, 1, 1)
		b.go1(b.Context(), b.wants([]int{2, 3}, 3, 4, 3, 5, 6, 3), []float32{2, 4, 6, 8}, 2, 2)
		b.go1(b.Context(), b.wants([]int{1, 3}, 2.5, 3.5, 4.5), []float32{1, 3, 5}, 1, 3)
		b.calls.Wait()
		want := []float32{2, 4, 2, 6, 8, 2, 1, 3, 5, 1, 3, 5, 1, 3, 5}
		if got := b.h.ran[1]; !slices.Equal(got.Shape, []int{5, 3}) || !slices.Equal(tensor.Values[float32](got), want) {
			t.Errorf("ran with %v %v, expected %v", got.Shape, tensor.Values[float32](got), want)
		}
	})
}

// A request too large for a batch is refused, or split so that batches are full.
func TestSplitting(t *testing.T) {
	bubble(t, small(func(*Parameters) {}), func(b *bench) {
		b.go1(b.Context(), b.fails(codes.InvalidArgument, "Task size 5 is larger than maximum batch size 4"), make([]float32, 5), 5)
	})
	p := small(func(p *Parameters) {
		p.MaxBatchSize, p.EnableLargeBatchSplitting, p.MaxExecutionBatchSize, p.MaxEnqueuedBatches = 10, true, 4, 3
	})
	bubble(t, p, func(b *bench) {
		b.go1(b.Context(), b.fails(codes.InvalidArgument, "Task size 11 is larger than maximum input batch size 10"), make([]float32, 11), 11)
		b.go1(b.Context(), b.wants([]int{1}, 2), []float32{0}, 1)
		b.go1(b.Context(), b.wants([]int{3}, 2, 3, 4), []float32{0, 2, 4}, 3)
		b.go1(b.Context(), b.wants([]int{6}, 2, 3, 4, 5, 6, 7), []float32{0, 2, 4, 6, 8, 10}, 6)
		b.go1(b.Context(), b.fails(codes.Unavailable, "The batch scheduling queue to which this task was submitted is full"), make([]float32, 4), 4)
		b.calls.Wait()
		if s := b.h.sizes(); !slices.Equal(s, []int{1, 4, 4, 1}) {
			t.Errorf("batches of %v rows", s)
		}
	})
}

func TestQueueFull(t *testing.T) {
	bubble(t, small(func(p *Parameters) { p.MaxEnqueuedBatches = 2 }), func(b *bench) {
		for range 3 { // one runs, two are queued
			b.go1(b.Context(), b.wants([]int{3}, 2, 2, 2), make([]float32, 3), 3)
		}
		b.go1(b.Context(), b.fails(codes.Unavailable, "The batch scheduling queue to which this task was submitted is full"), make([]float32, 2), 2)
		b.go1(b.Context(), b.wants([]int{1}, 2), []float32{0}, 1) // the open batch has room
	})
}

// A request whose deadline has passed leaves the queue with TensorFlow Serving's error. A cancelled request leaves, too, and
// a batch that nobody waits for is stopped.
func TestLeaving(t *testing.T) {
	bubble(t, small(func(*Parameters) {}), func(b *bench) {
		running, stop := context.WithCancel(b.Context())
		b.go1(running, b.fails(codes.Canceled, "context canceled"), []float32{0}, 1)
		soon, cancel := context.WithTimeout(b.Context(), 100*time.Millisecond)
		defer cancel()
		b.go1(soon, b.fails(codes.ResourceExhausted, "Run() timeout exceeded while waiting in batching queue"), []float32{1}, 1)
		gone, leave := context.WithCancel(b.Context())
		b.go1(gone, b.fails(codes.Canceled, "context canceled"), []float32{2}, 1)
		b.go1(b.Context(), b.wants([]int{1}, 3.5), []float32{3}, 1)
		time.Sleep(200 * time.Millisecond)
		leave()
		synctest.Wait()
		if n := b.s.Queued(); n != 1 {
			t.Errorf("%d rows wait, expected 1", n)
		}
		start := time.Now()
		stop()
		b.calls.Wait()
		if d := time.Since(start); d != time.Second {
			t.Errorf("the next batch ended after %v: the abandoned one was not stopped", d)
		}
		if s := b.h.sizes(); !slices.Equal(s, []int{1, 1}) {
			t.Errorf("batches of %v rows", s)
		}
	})
}

// A request that leaves a running batch does not disturb the others in it.
func TestAbandonedBesideOthers(t *testing.T) {
	bubble(t, Defaults(), func(b *bench) {
		b.go1(b.Context(), b.wants([]int{1}, 2), []float32{0}, 1)
		short, cancel := context.WithTimeout(b.Context(), 1500*time.Millisecond)
		defer cancel()
		start := time.Now()
		b.go1(short, func(_ *tensor.Tensor, err error) {
			if d := time.Since(start); status.Code(err) != codes.DeadlineExceeded || d != 1500*time.Millisecond {
				t.Errorf("got %v after %v", err, d)
			}
		}, []float32{2}, 1)
		b.go1(b.Context(), b.wants([]int{1}, 4), []float32{4}, 1)
		b.calls.Wait()
	})
}

// If one request's values make a batch fail, only this request fails.
func TestOneBadRequest(t *testing.T) {
	bubble(t, Defaults(), func(b *bench) {
		b.go1(b.Context(), b.wants([]int{1}, 2), []float32{0}, 1)
		b.go1(b.Context(), b.wants([]int{1}, 3), []float32{2}, 1)
		b.go1(b.Context(), b.fails(codes.InvalidArgument, "negative"), []float32{-1}, 1)
		b.go1(b.Context(), b.wants([]int{2}, 4, 5), []float32{4, 6}, 2)
	})
}

func TestIncompatibleShapes(t *testing.T) {
	bubble(t, Defaults(), func(b *bench) {
		b.go1(b.Context(), b.wants([]int{1, 1}, 2), []float32{0}, 1, 1)
		b.go1(b.Context(), b.wants([]int{1, 2}, 3, 4), []float32{2, 4}, 1, 2)
		b.go1(b.Context(), b.fails(codes.FailedPrecondition, "Tensors with name 'x:0' from different tasks have different shapes and padding is turned off."+
			"Set pad_variable_length_inputs to true, or ensure that all tensors with the same namehave equal dimensions starting with the first dim."),
			[]float32{2, 4, 6}, 1, 3)
		b.go1(b.Context(), b.wants([]int{1, 2}, 5, 6), []float32{6, 8}, 1, 2)
		b.calls.Wait()
		b.go1(b.Context(), b.fails(codes.InvalidArgument, "Batching Run() input tensors must have at least one dimension"), []float32{1})
		_, err := b.m.Run(b.Context(), nil, []string{"y:0"})
		b.fails(codes.InvalidArgument, "Batching Run() must have at least one input tensor")(nil, err)
		_, err = b.m.Run(b.Context(), map[string]*tensor.Tensor{"x:0": {DType: tensor.Float32, Shape: []int{3}, Bytes: make([]byte, 8)}}, []string{"y:0"})
		b.fails(codes.InvalidArgument, "the data of input x:0 does not fit its shape [3] of float32")(nil, err)
		_, err = b.m.Run(b.Context(), map[string]*tensor.Tensor{"a": tensor.New(tensor.Float32, 1), "b": tensor.New(tensor.Float32, 2)}, []string{"y:0"})
		b.fails(codes.InvalidArgument, "Batching Run() input tensors must have equal 0th-dimension size")(nil, err)
	})
}

// Feeds that the signature does not allow, and inputs without a batch dimension, go to the model alone.
func TestBatchable(t *testing.T) {
	shape := func(dims ...int64) *tensor_shape_go_proto.TensorShapeProto {
		s := &tensor_shape_go_proto.TensorShapeProto{}
		for _, d := range dims {
			s.Dim = append(s.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: d})
		}
		return s
	}
	info := func(name string, s *tensor_shape_go_proto.TensorShapeProto) *pb.TensorInfo {
		return &pb.TensorInfo{Dtype: types_go_proto.DataType_DT_FLOAT, Encoding: &pb.TensorInfo_Name{Name: name}, TensorShape: s}
	}
	m := New(servable.ID{}, &servable.Func{Sigs: map[string]*pb.SignatureDef{"s": {Inputs: map[string]*pb.TensorInfo{
		"x": info("x:0", shape(-1, 3)), "fixed": info("fixed:0", shape(1, 3)), "scalar": info("scalar:0", shape()), "any": info("any:0", nil),
	}}}}, Defaults(), NewScheduler(Options{})).(*Model)
	defer m.s.Close()
	for _, c := range []struct {
		name                 string
		x                    *tensor.Tensor
		batchable, irregular bool
	}{
		{"x:0", tensor.New(tensor.Float32, 2, 3), true, false},
		{"x:0", tensor.New(tensor.Float32, 2, 4), true, true},
		{"x:0", tensor.New(tensor.Float32, 2), true, true},
		{"x:0", tensor.New(tensor.Int32, 2, 3), false, false},
		{"fixed:0", tensor.New(tensor.Float32, 1, 3), false, false},
		{"scalar:0", tensor.New(tensor.Float32), false, false},
		{"any:0", tensor.New(tensor.Float32, 2, 9, 9), true, false},
		{"other:0", tensor.New(tensor.Int32, 2), true, false},
	} {
		if batchable, irregular := m.batchable(map[string]*tensor.Tensor{c.name: c.x}); batchable != c.batchable || irregular != c.irregular {
			t.Errorf("%s %v %v: batchable %v, odd %v", c.name, c.x.DType, c.x.Shape, batchable, irregular)
		}
	}
}

// over is a context whose deadline has passed and whose Done channel is not closed yet.
type over struct{ context.Context }

func (over) Err() error { return context.DeadlineExceeded }

// TestExpiredWaitForNobodysRun: a request that has expired when its batch starts gets its error then, not at the end of the others' run.
func TestExpiredWaitForNobodysRun(t *testing.T) {
	bubble(t, small(func(*Parameters) {}), func(b *bench) {
		b.go1(b.Context(), b.wants([]int{1}, 2), []float32{0}, 1) // a second
		start := time.Now()
		b.go1(over{b.Context()}, func(_ *tensor.Tensor, err error) {
			b.fails(codes.ResourceExhausted, "Run() timeout exceeded while waiting in batching queue")(nil, err)
			if d := time.Since(start); d != time.Second {
				b.Errorf("it waited for %v, expected a second", d)
			}
		}, []float32{1}, 1)
		b.go1(b.Context(), b.wants([]int{1}, 3), []float32{2}, 1)
		b.calls.Wait()
		if s := b.h.sizes(); !slices.Equal(s, []int{1, 1}) {
			t.Errorf("batches of %v rows", s)
		}
	})
}
