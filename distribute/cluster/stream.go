package cluster

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	grpcpeer "google.golang.org/grpc/peer"
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
	early []*Frame   // received by Send on its way to the stream's error
	final error      // what ended the stream
}

// Send sends a frame; where the stream has ended the error says what ended it.
func (s *clientStream) Send(f *Frame) error {
	o, err := newOutgoing(f, s.limit)
	if err != nil {
		return s.peer.failure(s.ctx, s.method, err)
	}
	err = s.stream.SendMsg(o)
	p, _ := grpcpeer.FromContext(s.stream.Context())
	o.wait(s.stream.Context().Done(), connOf(p))
	switch {
	case errors.Is(err, io.EOF):
		return s.drain()
	case err != nil:
		err = s.peer.failure(s.ctx, s.method, err)
		s.cancel(err)
	}
	return err
}

// drain receives all that is left of a stream that is over, because gRPC tells
// only then what ended it. Recv returns the frames later.
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

// receive returns the next frame, nil where there is none and final is set.
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
