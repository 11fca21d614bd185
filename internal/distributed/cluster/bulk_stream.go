package cluster

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// bulkGrace is how long the end of a bulk connection waits for gRPC to report the reason.
	bulkGrace = time.Second
	// bulkFarewell bounds the last record of a stream that the peer has ended.
	bulkFarewell = 100 * time.Millisecond
)

// bulkClientStream is the calling side of a stream whose frames go over a bulk connection. It
// lives as long as a gRPC stream without messages.
type bulkClientStream struct {
	peer   *peer
	method string
	stream grpc.ClientStream
	ctx    context.Context
	cancel context.CancelCauseFunc
	conn   *bulkConn

	claimed atomic.Bool   // one goroutine decides what becomes of the connection
	over    chan struct{} // closed when gRPC has said how the stream ended
	status  error         // the reported error; io.EOF: success

	sending   sync.Mutex
	receiving sync.Mutex
	final     error // result of further calls of Recv; the connection no longer belongs to this stream
	message   Message
}

// watch waits for the end of the gRPC stream and ends the connection's part in it.
func (s *bulkClientStream) watch() {
	err := s.stream.RecvMsg(new(Frame))
	if err == nil {
		err = status.Error(codes.Internal, "a message came by gRPC, expected none")
	}
	s.status = err
	switch {
	case len(s.stream.Trailer().Get(bulkKey)) > 0:
		// Data that the peer has sent is still received, but the peer no longer receives.
		s.conn.conn.SetWriteDeadline(time.Unix(1, 0))
		close(s.over)
		<-s.ctx.Done() // all was received, or the caller gave up
		s.abandon()
	case status.Code(err) == codes.Canceled:
		close(s.over)
		s.abandon()
	default:
		s.conn.drop()
		close(s.over)
	}
}

// abandon takes the connection from a stream whose caller has left before its end. If the
// peer had already sent its end, the connection serves another stream.
func (s *bulkClientStream) abandon() {
	if s.claimed.Swap(true) {
		return
	}
	if !s.sending.TryLock() {
		s.conn.drop()
		return
	}
	defer s.sending.Unlock()
	if !s.receiving.TryLock() {
		s.conn.drop()
		return
	}
	s.final = s.failure(status.FromContextError(s.ctx.Err()).Err())
	s.receiving.Unlock()
	s.conn.conn.SetReadDeadline(time.Now().Add(bulkGrace))
	for !s.conn.ended {
		if _, err := s.conn.next(); err != nil && !errors.Is(err, io.EOF) {
			s.conn.drop()
			return
		}
	}
	s.conn.conn.SetReadDeadline(time.Time{})
	s.keep()
}

// keep returns the connection, which the peer has finished with, to the pool.
func (s *bulkClientStream) keep() {
	if !s.conn.endSent && !s.conn.broken.Load() {
		s.conn.conn.SetWriteDeadline(time.Now().Add(bulkFarewell))
		_ = s.conn.sendEnd()
	}
	if s.conn.broken.Load() {
		s.conn.drop()
		return
	}
	s.conn.conn.SetWriteDeadline(time.Time{})
	s.peer.bulk.put(s.conn)
}

// why returns the reason for the end of the stream; err is how the connection ended: io.EOF
// after its last record, or an error.
func (s *bulkClientStream) why(err error) error {
	if errors.Is(err, io.EOF) {
		<-s.over // gRPC monitors the peer
		return s.failure(s.status)
	}
	if errors.Is(err, ErrDamaged) {
		s.peer.damaged(err)
		err = status.Error(codes.DataLoss, err.Error())
	} else if code := status.Code(err); code == codes.Unknown {
		t := time.NewTimer(bulkGrace)
		defer t.Stop()
		select {
		case <-s.over:
			if !errors.Is(s.status, io.EOF) {
				return s.failure(s.status)
			}
		case <-t.C:
		}
		err = status.Errorf(codes.Unavailable, "the stream's connection broke: %v", err)
	}
	s.conn.drop()
	final := s.failure(err)
	s.cancel(final)
	return final
}

func (s *bulkClientStream) failure(err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	return s.peer.failure(s.ctx, s.method, err)
}

// Send sends a frame; if the stream has ended, the error is the reason.
func (s *bulkClientStream) Send(f *Frame) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.ended() {
		return s.failure(s.status)
	}
	err := s.conn.send(f)
	switch {
	case err == nil:
		return nil
	case !s.conn.broken.Load(): // the frame cannot be sent
		return s.failure(err)
	case s.ended():
		return s.failure(s.status)
	}
	return s.why(err)
}

// ended reports whether gRPC has reported the end of the stream.
func (s *bulkClientStream) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// CloseSend says that no more frames will be sent.
func (s *bulkClientStream) CloseSend() error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if !s.ended() && !s.conn.endSent {
		_ = s.conn.sendEnd() // Recv returns the error
	}
	return nil
}

// Recv receives a frame; io.EOF at the peer's end.
func (s *bulkClientStream) Recv() (*Frame, error) {
	m, err := s.next()
	if err != nil {
		return nil, err
	}
	return m.frame()
}

func (s *bulkClientStream) next() (*Message, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if s.final != nil {
		return nil, s.final
	}
	m, err := s.conn.next()
	if err != nil {
		s.end(err)
		return nil, s.final
	}
	s.message = Message{Header: m.Header, left: m.left, from: s}
	return &s.message, nil
}

func (s *bulkClientStream) readBody(p []byte) (int, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if s.final != nil {
		return 0, s.final
	}
	n, err := s.conn.message.Read(p)
	if err != nil {
		s.end(err)
		err = s.final
	}
	return n, err
}

// end ends the stream after err on the connection. The connection serves another stream if
// everything was received, and the peer knows that no more follows.
func (s *bulkClientStream) end(err error) {
	abandoned := s.claimed.Swap(true)
	s.final = s.why(err)
	switch {
	case abandoned:
	case errors.Is(err, io.EOF) && s.sending.TryLock():
		s.keep()
		s.sending.Unlock()
	default:
		s.conn.drop()
	}
	s.cancel(s.final)
}

// bulkServerStream is the serving side.
type bulkServerStream struct {
	ctx  context.Context
	slot *bulkSlot
	conn *bulkConn

	sending   sync.Mutex
	receiving sync.Mutex
	over      bool // guarded by both
	message   Message

	mu    sync.Mutex
	phase bulkPhase
}

// bulkPhase is the phase of a stream on its serving side.
type bulkPhase int

const (
	bulkServing bulkPhase = iota
	bulkEnding            // the last record is being sent
	bulkEnded
)

// interrupt ends reads and writes when the caller abandons the stream. A connection whose
// last record was sent is kept, since the caller will keep it.
func (s *bulkServerStream) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.phase {
	case bulkServing:
		s.slot.Close()
	case bulkEnding:
		s.conn.conn.SetWriteDeadline(time.Unix(1, 0))
	}
}

func (s *bulkServerStream) enter(p bulkPhase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase = p; p == bulkEnded {
		s.conn.conn.SetWriteDeadline(time.Time{})
	}
}

// serveBulk runs a handler whose frames go over a bulk connection.
func serveBulk(s grpc.ServerStream, slot *bulkSlot, h StreamHandler) error {
	b := &bulkServerStream{ctx: s.Context(), slot: slot, conn: slot.conn}
	stop := context.AfterFunc(s.Context(), b.interrupt)
	defer slot.free()
	defer stop()
	returned := false
	defer func() {
		if !returned { // a panic
			slot.Close()
		}
	}()
	err := b.begin()
	if err == nil {
		err = h(s.Context(), b)
	}
	returned = true
	if b.finish() {
		s.SetTrailer(metadata.Pairs(bulkKey, "end"))
	}
	return err
}

// begin drops the unreceived data of the previous stream.
func (s *bulkServerStream) begin() error {
	if s.slot.fresh {
		s.slot.fresh = false
		return nil
	}
	for !s.conn.ended {
		if _, err := s.conn.next(); err != nil && !errors.Is(err, io.EOF) {
			return s.failure(err)
		}
	}
	s.conn.renew()
	return nil
}

// finish ends the handler's use of the connection, and reports whether the caller will
// receive the end.
func (s *bulkServerStream) finish() bool {
	for _, m := range []*sync.Mutex{&s.sending, &s.receiving} {
		if !m.TryLock() { // a goroutine of the handler still uses it
			s.conn.Close()
			m.Lock()
		}
		defer m.Unlock()
	}
	s.over = true
	s.enter(bulkEnding)
	defer s.enter(bulkEnded)
	return !s.conn.broken.Load() && s.conn.sendEnd() == nil
}

func (s *bulkServerStream) failure(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, ErrDamaged):
		s.conn.carrier.damaged() // it ends all streams of the caller, which learns the reason
		return status.Error(codes.DataLoss, err.Error())
	case s.ctx.Err() != nil:
		return status.FromContextError(s.ctx.Err()).Err()
	case status.Code(err) != codes.Unknown:
		return err
	}
	return status.Errorf(codes.Unavailable, "the stream's connection broke: %v", err)
}

var errStreamOver = status.Error(codes.Canceled, "the stream is over: its handler has returned")

func (s *bulkServerStream) Send(f *Frame) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.over {
		return errStreamOver
	}
	if err := s.conn.send(f); err != nil {
		return s.failure(err)
	}
	return nil
}

func (s *bulkServerStream) Recv() (*Frame, error) {
	m, err := s.next()
	if err != nil {
		return nil, err
	}
	return m.frame()
}

func (s *bulkServerStream) next() (*Message, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if s.over {
		return nil, errStreamOver
	}
	m, err := s.conn.next()
	if err != nil {
		return nil, s.failure(err)
	}
	s.message = Message{Header: m.Header, left: m.left, from: s}
	return &s.message, nil
}

func (s *bulkServerStream) readBody(p []byte) (int, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if s.over {
		return 0, errStreamOver
	}
	n, err := s.conn.message.Read(p)
	if err != nil {
		err = s.failure(err)
	}
	return n, err
}
