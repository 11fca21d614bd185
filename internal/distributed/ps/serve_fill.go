package ps

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// fill receives initial values until the caller's end, and answers once.
func (s *Server) fill(_ context.Context, st cluster.Stream) error {
	for {
		f, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return st.Send(&cluster.Frame{Header: wire.Encode(&wire.Empty{})})
		}
		if err != nil {
			return err
		}
		err = s.fillFrame(f)
		f.Release()
		if err != nil {
			return err
		}
	}
}

func (s *Server) fillFrame(f *cluster.Frame) error {
	var h wire.FillHeader
	if err := parse(f.Header, &h); err != nil {
		return err
	}
	x, err := s.findAny(h.Id)
	if err != nil {
		return err
	}
	if x.isReady() {
		return status.Error(codes.FailedPrecondition, "the session is created already: its values cannot be filled any more")
	}
	u, err := x.unit(int(h.Unit))
	if err != nil {
		return err
	}
	at := int(h.Offset)
	for _, b := range f.Body {
		if err := u.fill(int(h.Field), at, b); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		at += len(b)
	}
	return nil
}

func (s *session) isReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}
