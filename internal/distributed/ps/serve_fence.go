package ps

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// fences is a session's state of its latest checkpoint.
type fences struct {
	mu      sync.Mutex
	latest  uint64
	holding bool // the gate is closed for it
	since   time.Time
	hold    *time.Timer // opens the gate after a time limit
	lease   *time.Timer // drops the fence if it is not read
}

func (f *fences) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range []*time.Timer{f.hold, f.lease} {
		if t != nil {
			t.Stop()
		}
	}
}

// fenceBegin holds back pushes and marks the state; FenceEnd lets them continue. The chief asks server 0 first, so that no step is counted
// meanwhile.
func (s *Server) fenceBegin(ctx context.Context, req *wire.FenceRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	if err := s.mark(ctx, x, req.Fence); err != nil {
		return nil, err
	}
	return &wire.FenceReply{Step: x.now().step, Positions: x.listPositions()}, nil
}

// fenceMark marks the state of one of the other servers.
func (s *Server) fenceMark(ctx context.Context, req *wire.FenceRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	if err := s.mark(ctx, x, req.Fence); err != nil {
		return nil, err
	}
	held, err := x.unhold(req.Fence)
	return &wire.FenceReply{HeldNs: int64(held)}, err
}

func (s *Server) fenceEnd(_ context.Context, req *wire.FenceRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	held, err := x.unhold(req.Fence)
	return &wire.FenceReply{HeldNs: int64(held)}, err
}

// mark closes the gate and freezes all units.
func (s *Server) mark(ctx context.Context, x *session, fence uint64) error {
	if fence == 0 {
		return status.Error(codes.InvalidArgument, "checkpoint 0: expected a number other than 0")
	}
	if err := x.hold(ctx, s.c.FenceHold); err != nil {
		return err
	}
	x.fences.begin(x, fence, s.c)
	for _, u := range x.units {
		if err := u.freeze(fence); err != nil {
			_, _ = x.unhold(fence) // the reason of the failure matters more
			return status.Error(codes.Internal, err.Error())
		}
	}
	return nil
}

// hold closes the gate within a time limit.
func (s *session) hold(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.ends, cancel)()
	switch err := s.gate.close(limited); {
	case err == nil:
		return nil
	case s.ends.Err() != nil:
		return s.ended()
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	default:
		return status.Errorf(codes.ResourceExhausted, "checkpoint: pushes did not end within %v", limit)
	}
}

// begin records a fence for which the gate was closed.
func (f *fences) begin(x *session, fence uint64, c ServerConfig) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest, f.holding, f.since = fence, true, time.Now()
	f.hold = time.AfterFunc(c.FenceHold, func() {
		if _, err := x.unhold(fence); err == nil {
			c.Log.Warn("a checkpoint held pushes back for too long and is given up", "after", c.FenceHold)
			x.thaw(fence)
		}
	})
	if f.lease != nil {
		f.lease.Stop()
	}
	f.lease = time.AfterFunc(c.FenceLease, func() {
		_, _ = x.unhold(fence) // if the lease is shorter: nothing else would open the gate
		if x.thaw(fence) {
			c.Log.Warn("a checkpoint was not read for too long and is given up", "after", c.FenceLease)
		}
	})
}

// unhold opens the gate again and returns how long it was closed.
func (s *session) unhold(fence uint64) (time.Duration, error) {
	f := &s.fences
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.holding || f.latest != fence {
		return 0, status.Error(codes.NotFound, "the checkpoint took too long: pushes go on already")
	}
	f.holding = false
	f.hold.Stop()
	held := time.Since(f.since)
	s.gate.open()
	s.count(func(c *Stats) { c.Fences++; c.FenceHeld += held })
	return held, nil
}

// thaw drops the frozen state; it returns false if there is none.
func (s *session) thaw(fence uint64) bool {
	f := &s.fences
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.latest != fence || fence == 0 {
		return false
	}
	f.latest = 0
	f.lease.Stop()
	for _, u := range s.units {
		copied := u.thaw(fence)
		s.count(func(c *Stats) { c.CopiedBytes += copied })
	}
	return true
}

func (s *Server) release(_ context.Context, req *wire.FenceRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	if _, err := x.unhold(req.Fence); err == nil {
		s.c.Log.Warn("a checkpoint was given up while it held pushes back")
	}
	if x.thaw(req.Fence) {
		x.noteCheckpoint()
	}
	return &wire.Empty{}, nil
}

// maxSlice bounds what one ReadSlice returns.
const maxSlice = 16 << 20

var sliceBuffers = sync.Pool{New: func() any { return new([]byte) }}

// readSlice returns bytes of a field as of a fence.
func (s *Server) readSlice(_ context.Context, f *cluster.Frame) (*cluster.Frame, error) {
	var req wire.SliceRequest
	if err := parse(f.Header, &req); err != nil {
		return nil, err
	}
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	u, err := x.unit(int(req.Unit))
	if err != nil {
		return nil, err
	}
	if req.Length < 0 || req.Length > maxSlice {
		return nil, status.Errorf(codes.InvalidArgument, "%d bytes: expected at most %d", req.Length, maxSlice)
	}
	if !x.fences.renew(req.Fence, s.c.FenceLease) {
		return nil, status.Errorf(codes.NotFound, "there is no checkpoint %x: it was given up, or another began", req.Fence)
	}
	b, n := sliceBuffers.Get().(*[]byte), int(req.Length)
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	if err := u.readFrozen(req.Fence, int(req.Field), int(req.Offset), (*b)[:n]); err != nil {
		sliceBuffers.Put(b)
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &cluster.Frame{Header: wire.Encode(&wire.Empty{}), Body: [][]byte{(*b)[:n]}, Done: func() { sliceBuffers.Put(b) }}, nil
}

// renew extends the lease of the latest fence; it returns false for another one.
func (f *fences) renew(fence uint64, lease time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest == fence && fence != 0 && f.lease.Reset(lease)
}
