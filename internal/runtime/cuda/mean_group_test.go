package cuda

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// sharedMeans makes a mean for every GPU as if each belonged to another process.
func sharedMeans(t *testing.T, all []*Device, values []Value) []*Mean {
	t.Helper()
	n := peers.NewMemory()
	id, err := n.NewID()
	if err != nil {
		t.Fatal(err)
	}
	means, errs := make([]*Mean, len(all)), make([]error, len(all))
	var each sync.WaitGroup
	for i, d := range all {
		each.Go(func() {
			var g peers.Group
			if g, errs[i] = n.Join(t.Context(), []driver.Context{d.Context()}, peers.Place{ID: id, First: i, Total: len(all)}); errs[i] == nil {
				means[i], errs[i] = NewSharedMean([]*Device{d}, values, g)
			}
		})
	}
	each.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return means
}

// TestSharedMean takes means of three GPUs of several processes; one has no values.
func TestSharedMean(t *testing.T) {
	_, all := several(t, 3, func(c driver.Context) driver.Context { return c })
	means := sharedMeans(t, all, []Value{{tensor.Float32, 70}, {tensor.Float64, 1}})
	errs := make([]error, len(all))
	got := make([]*tensor.Tensor, len(all))
	var each sync.WaitGroup
	for i, m := range means {
		each.Go(func() {
			s, err := all[i].NewStream()
			if err != nil {
				errs[i] = err
				return
			}
			v := tensor.New(tensor.Float32, 70)
			tensor.Values[float32](v)[69] = float32(10 * (i + 1))
			b, err := all[i].Alloc(len(v.Bytes))
			if err != nil {
				errs[i] = err
				return
			}
			errs[i] = errors.Join(s.Upload(b, 0, v.Bytes), s.Synchronize(), m.Put(0, 0, engine.Resident{Buffer: b}, len(v.Bytes)))
			if i == 2 {
				errs[i] = errors.Join(errs[i], m.Clear(0))
			}
			at := m.Place(0, 0)
			errs[i] = errors.Join(errs[i], m.Take(context.Background(), 2), s.Download(v.Bytes, at.Buffer, at.Offset), s.Synchronize())
			got[i] = v
		})
	}
	each.Wait()
	for i, v := range got {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if x := tensor.Values[float32](v)[69]; x != 15 {
			t.Errorf("GPU %d: expected 15, got %g", i, x)
		}
		if err := means[i].Close(); err != nil {
			t.Error(err)
		}
	}
}

// stuck is a group whose sums only end when it is aborted.
type stuck struct {
	failed  error
	aborted chan struct{}
	deaf    chan struct{} // if not nil, the stream waits for this instead
}

func (g *stuck) Reduce(_ context.Context, parts []peers.Part) error {
	parts[0].Stream.(*waiting).until = g.aborted
	if g.deaf != nil {
		parts[0].Stream.(*waiting).until = g.deaf
	}
	return nil
}
func (g *stuck) Check() error { return g.failed }
func (g *stuck) Abort() error { close(g.aborted); return nil }
func (g *stuck) Close() error { return nil }

// waiting is a stream whose work ends with a channel.
type waiting struct {
	driver.Stream
	until chan struct{}
}

func (s *waiting) Synchronize() error {
	if s.until != nil {
		<-s.until
		s.until = nil
	}
	return s.Stream.Synchronize()
}

// patient is a context whose streams are waiting.
type patient struct{ driver.Context }

func (c patient) NewStream() (driver.Stream, error) {
	s, err := c.Context.NewStream()
	return &waiting{Stream: s}, err
}

// TestSharedMeanOfOneThatIsGone: a sum in the GPU's stream that waits for a vanished process ends when the context ends, or when
// the group reports the failure.
func TestSharedMeanOfOneThatIsGone(t *testing.T) {
	gone := errors.New("gone")
	for _, told := range []bool{false, true} {
		_, all := several(t, 1, func(c driver.Context) driver.Context { return patient{c} })
		g := &stuck{aborted: make(chan struct{})}
		m, err := NewSharedMean(all[:1], []Value{{tensor.Float32, 3}}, g)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		if told {
			g.failed = gone
		} else {
			cancel(gone)
		}
		if err := m.Take(ctx, 1); !errors.Is(err, gone) {
			t.Errorf("expected %v, got %v", gone, err)
		}
		cancel(nil)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSharedMeanOfAStuckGPU: a GPU that does not end aborted work is lost, and closing it does not wait.
func TestSharedMeanOfAStuckGPU(t *testing.T) {
	abortPatience = 10 * time.Millisecond
	defer func() { abortPatience = 10 * time.Second }()
	f, all := several(t, 1, func(c driver.Context) driver.Context { return patient{c} })
	program, err1 := all[0].Lower(nil, engine.LowerOptions{})
	host, err2 := all[0].AllocHost(8)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	g := &stuck{aborted: make(chan struct{}), deaf: make(chan struct{})}
	m, err := NewSharedMean(all[:1], []Value{{tensor.Float32, 3}}, g)
	if err != nil {
		t.Fatal(err)
	}
	stream := m.gpus[0].stream.s
	g.failed = errors.New("gone")
	if err := m.Take(t.Context(), 1); !errors.Is(err, device.ErrLost) {
		t.Errorf("expected %v, got %v", device.ErrLost, err)
	}
	for _, call := range []string{"Free", "FreeHost"} { // they would wait for the sum
		f.Inject(call, 0, errors.New(call))
	}
	if err := errors.Join(m.Close(), program.Close(), host.Free(), all[0].Close()); err != nil {
		t.Error(err)
	}
	close(g.deaf)
	if err := errors.Join(stream.Close(), all[0].zeroing.s.Close()); err != nil { // their goroutines end
		t.Error(err)
	}
}

func TestSharedMeanOfBooleans(t *testing.T) {
	if _, err := NewSharedMean(nil, []Value{{tensor.Bool, 3}}, nil); err == nil {
		t.Error("booleans: expected an error")
	}
}
