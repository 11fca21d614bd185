package cluster

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	grpcpeer "google.golang.org/grpc/peer"
)

const (
	// sendDoubt is how long a Send waits until it checks whether the stream is
	// over.
	sendDoubt = 50 * time.Millisecond
	// maxEarly bounds the frames that are received ahead.
	maxEarly = 64
)

// clientStream is the calling side of a stream.
type clientStream struct {
	peer   *peer
	method string
	limit  int
	stream grpc.ClientStream
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards receiving
	early []*Frame   // received ahead, while looking for the stream's end
	final error      // why the stream ended

	waiting atomic.Bool // a Send waits for its frame to be sent
}

// Send sends a frame; if the stream has ended, the error is the reason.
func (s *clientStream) Send(f *Frame) error {
	o, err := newOutgoing(f, s.limit)
	if err != nil {
		return s.peer.failure(s.ctx, s.method, err)
	}
	err = s.stream.SendMsg(o)
	p, _ := grpcpeer.FromContext(s.stream.Context())
	s.waiting.Store(true)
	look := time.AfterFunc(sendDoubt, s.look)
	o.wait(s.stream.Context().Done(), connOf(p))
	look.Stop()
	s.waiting.Store(false)
	switch {
	case errors.Is(err, io.EOF):
		return s.drain()
	case err != nil:
		err = s.peer.failure(s.ctx, s.method, err)
		s.cancel(err)
	}
	return err
}

// drain receives the rest of a stream that is over, because gRPC reports the reason
// only after that. Recv returns the frames later.
func (s *clientStream) drain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.final == nil {
		if f := s.receive(); f != nil {
			s.early = append(s.early, f)
		}
	}
	return s.final
}

// look receives a frame ahead. Otherwise gRPC would neither report that the peer
// has ended a stream, nor release a frame that it was about to send: a Send could
// wait until its deadline.
func (s *clientStream) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waiting.Load() || s.final != nil || len(s.early) >= maxEarly {
		return
	}
	if f := s.receive(); f != nil {
		s.early = append(s.early, f)
		time.AfterFunc(sendDoubt, s.look)
	}
}

// Recv receives a frame; io.EOF at the peer's end.
func (s *clientStream) Recv() (*Frame, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.early) > 0 {
		f := s.early[0]
		s.early = s.early[1:]
		return f, nil
	}
	if s.final == nil {
		if f := s.receive(); f != nil {
			return f, nil
		}
	}
	return nil, s.final
}

// receive returns the next frame, or nil if there is none and final is set.
func (s *clientStream) receive() *Frame {
	f := new(Frame)
	err := s.stream.RecvMsg(f)
	if err == nil {
		return f
	}
	if !errors.Is(err, io.EOF) {
		err = s.peer.failure(s.ctx, s.method, err)
	}
	s.final = err
	s.cancel(err)
	return nil
}

// CloseSend says that no more frames will be sent.
func (s *clientStream) CloseSend() error { return s.stream.CloseSend() }
