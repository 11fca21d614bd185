package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// over is for calls that have ended when they return.
var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// WithTimeout is context.WithTimeout for calls. Their errors then include the
// time they waited.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
}

func (n *Node) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return WithTimeout(ctx, n.config.CallTimeout)
}

// short returns the method's name without the service's.
func short(method string) string { return method[strings.LastIndexByte(method, '/')+1:] }

// Call sends a request to a task and returns its answer, which the caller must
// release. It waits for a task that is not up yet, until the context's deadline
// or, without one, for the call timeout. Errors from the peer or the connection
// are *PeerError.
func (n *Node) Call(ctx context.Context, to Task, method string, req *Frame) (*Frame, error) {
	p, err := n.peer(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := n.withDeadline(n.identify(ctx, to))
	defer cancel()
	o, err := newOutgoing(req, n.config.MaxMessageBytes)
	if err != nil {
		return nil, p.failure(ctx, short(method), err)
	}
	ctx, w, err := p.enter(ctx)
	if err != nil {
		return nil, p.failure(context.Background(), short(method), err)
	}
	defer w.cancel(nil)
	defer p.leave(w)
	answer := new(Frame)
	var by grpcpeer.Peer
	err = p.conn.Invoke(ctx, method, o, answer, grpc.WaitForReady(true), grpc.CallContentSubtype(codecName), grpc.Peer(&by))
	o.wait(over, connOf(&by))
	if err != nil {
		answer.Release()
		return nil, p.failure(ctx, short(method), err)
	}
	return answer, nil
}

// Stream opens a stream to a task. It waits for the task as Call does, but only
// for the peer timeout if the task was up before. The stream itself has no
// deadline except the context's: a silent peer ends it after the peer timeout.
func (n *Node) Stream(ctx context.Context, to Task, method string) (ClientStream, error) {
	p, err := n.peer(to)
	if err != nil {
		return nil, err
	}
	ctx, w, err := p.enter(n.identify(ctx, to))
	if err != nil {
		return nil, p.failure(context.Background(), short(method), err)
	}
	patience := n.config.CallTimeout
	if p.met() {
		patience = min(patience, n.config.PeerTimeout)
	}
	late := time.AfterFunc(patience, func() { w.cancel(context.DeadlineExceeded) })
	st, err := n.open(ctx, w.cancel, p, method)
	p.leave(w)
	if !late.Stop() && err == nil {
		err = status.Error(codes.DeadlineExceeded, "the peer is not up")
	}
	if err != nil {
		err = p.failure(ctx, short(method), err)
		w.cancel(err)
		return nil, err
	}
	return st, nil
}

// open opens a stream whose frames go over a bulk connection, if there is one
// that belongs to the gRPC connection of the stream. cancel ends ctx.
func (n *Node) open(ctx context.Context, cancel context.CancelCauseFunc, p *peer, method string) (ClientStream, error) {
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	for {
		with, stop := context.WithCancel(ctx)
		bulk := n.bulk(ctx, p)
		if bulk != nil {
			with = metadata.AppendToOutgoingContext(with, bulkKey, bulk.ticket.String())
		}
		s, err := p.conn.NewStream(with, desc, method, grpc.WaitForReady(true), grpc.CallContentSubtype(codecName))
		if err != nil {
			stop()
			if bulk != nil {
				bulk.drop()
			}
			return nil, err
		}
		end := func(cause error) { cancel(cause); stop() }
		if bulk == nil {
			return &clientStream{peer: p, method: short(method), limit: n.config.MaxMessageBytes, stream: s, ctx: ctx, cancel: end}, nil
		}
		if by, _ := grpcpeer.FromContext(s.Context()); connOf(by) == bulk.carrier {
			st := &bulkClientStream{peer: p, method: short(method), stream: s, ctx: ctx, cancel: end, conn: bulk, over: make(chan struct{})}
			go st.watch()
			return st, nil
		}
		stop() // the peer was reconnected meanwhile
		bulk.drop()
	}
}
