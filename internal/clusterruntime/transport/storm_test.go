package transport

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// storm is a path to a server on which bytes arrive late and in small pieces, and connections end at any byte.
type storm struct {
	t    *testing.T
	l    net.Listener
	to   string
	done sync.WaitGroup
	over atomic.Bool // new connections are not disturbed

	mu     sync.Mutex
	random *rand.Rand
	open   map[net.Conn]bool
}

// newStorm puts a storm between the client and the server of a rig.
func newStorm(r *rig, seed uint64) *storm {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	s := &storm{t: r.t, l: l, to: r.conn.address, random: rand.New(rand.NewPCG(seed, 5)), open: map[net.Conn]bool{}}
	s.done.Go(s.accept)
	r.t.Cleanup(func() {
		_ = l.Close()
		s.end()
		s.done.Wait()
	})
	return s
}

// end ends all connections.
func (s *storm) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
}

func (s *storm) draw(n int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Int64N(n)
}

func (s *storm) note(c net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.open[c] = true
	} else {
		delete(s.open, c)
	}
}

func (s *storm) accept() {
	for {
		from, err := s.l.Accept()
		if err != nil {
			return
		}
		s.done.Go(func() { s.serve(from) })
	}
}

// serve copies in both directions until one of them ends.
func (s *storm) serve(from net.Conn) {
	s.note(from, true)
	defer s.note(from, false)
	to, err := net.Dial("tcp", s.to)
	if err != nil {
		_ = from.Close()
		return
	}
	s.note(to, true)
	defer s.note(to, false)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			s.copy(way[0], way[1])
			_, _ = from.Close(), to.Close()
		})
	}
	both.Wait()
}

// copy copies data in pieces, with pauses, until the connection ends or its number of bytes is reached.
func (s *storm) copy(from, to net.Conn) {
	if s.over.Load() {
		_, _ = io.Copy(to, from)
		return
	}
	left, b := s.draw(16<<20), make([]byte, 64<<10)
	if s.draw(4) == 0 {
		left = s.draw(500) // within the prefaces and the first frames
	}
	for left > 0 {
		n, err := from.Read(b[:1+s.draw(int64(len(b)))])
		if s.draw(8) == 0 {
			time.Sleep(time.Duration(s.draw(int64(2 * time.Millisecond))))
		}
		if _, werr := to.Write(b[:min(int64(n), left)]); err != nil || werr != nil {
			return
		}
		left -= int64(n)
	}
}

// TestStorm: whenever connections end, and however late their bytes arrive, each call ends with its own answer or an error that
// says why. In the end, calls use this transport again, and no memory is held.
func TestStorm(t *testing.T) {
	for seed := range uint64(2) {
		r := serve(t, ways[1+seed%2*2])
		s := newStorm(r, seed)
		c, err := NewConn(s.l.Addr().String(), r.conn.o)
		if err != nil {
			t.Fatal(err)
		}
		c.retry = 10 * time.Millisecond
		direct := r.conn
		r.conn = c
		var all sync.WaitGroup
		var answered atomic.Int64
		for i := range uint64(6) {
			all.Go(func() { r.stormy(rand.New(rand.NewPCG(seed, i)), &answered) })
		}
		all.Wait()
		s.over.Store(true)
		s.end()
		until(t, "a call after the storm", func() bool {
			_, err := call[rpcs.RunStepResponse](t.Context(), r, "RunStep", requestOf("x", 3<<20), grpc.WaitForReady(true))
			return err == nil && c.Direct()
		})
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		r.conn = direct
		until(t, "nothing is held", func() bool { return r.memory.Used() == 0 })
		t.Logf("%d calls were answered", answered.Load())
	}
}

// stormy calls with messages of all sizes, and cancels some calls.
func (r *rig) stormy(draw *rand.Rand, answered *atomic.Int64) {
	for range 12 {
		in := requestOf("x", draw.IntN([]int{10, 50_000, 400_000, 6 << 20}[draw.IntN(4)]))
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
		if draw.IntN(4) == 0 {
			go func(after time.Duration) {
				time.Sleep(after)
				cancel()
			}(time.Duration(draw.IntN(3000)) * time.Microsecond)
		}
		out, err := call[rpcs.RunStepResponse](ctx, r, "RunStep", in, grpc.WaitForReady(true))
		switch code := status.Code(err); {
		case code == codes.DeadlineExceeded:
			r.t.Errorf("a call took a minute: %v", err)
		case err != nil && code != codes.Unavailable && code != codes.Canceled && code != codes.ResourceExhausted && code != codes.Internal:
			r.t.Errorf("got %v", err)
		case err == nil:
			answered.Add(1)
			if !proto.Equal(out, &rpcs.RunStepResponse{Tensor: in.GetFeed(), StatusErrorMessage: in.GetSessionHandle()}) {
				r.t.Error("the answer of another call")
			}
		}
		cancel()
	}
}
