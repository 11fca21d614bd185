package transport

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// clientLink is the client's end of a link, which sends requests and receives responses.
type clientLink struct {
	*link
	address string

	mu       sync.Mutex
	waiting  map[uint32]*waiting // by call
	last     uint32              // number of a call
	incoming map[uint32]*incomingResponse
}

// waiting is a call waiting for its response.
type waiting struct {
	answered chan struct{}
	head     responseHead
	body     mem.BufferSlice
	err      error // of the link
}

// incomingResponse is a response in parts. Only the reader uses it.
type incomingResponse struct {
	incoming
	head responseHead
	left int // missing bytes
}

func newClientLink(l *link, address string) *clientLink {
	return &clientLink{link: l, address: address, waiting: map[uint32]*waiting{}, incoming: map[uint32]*incomingResponse{}}
}

// begin numbers a call. It returns no call if the link is closed, or has too many calls.
func (l *clientLink) begin() (uint32, *waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil || len(l.waiting) >= maxCalls/2 {
		return 0, nil
	}
	for {
		l.last++
		if l.waiting[l.last] == nil {
			break
		}
	}
	w := &waiting{answered: make(chan struct{})}
	l.waiting[l.last] = w
	return l.last, w
}

// forget removes a call and returns it, or nil if there is none.
func (l *clientLink) forget(call uint32) *waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[call]
	delete(l.waiting, call)
	return w
}

// invoke calls a method. It returns false if the call did not begin, so that it may take another way.
func (l *clientLink) invoke(ctx context.Context, method string, in, out any) (*responseHead, bool, error) {
	head := requestHead{method: method}
	if deadline, ok := ctx.Deadline(); ok {
		if head.timeout = time.Until(deadline); head.timeout <= 0 {
			return nil, true, status.FromContextError(context.DeadlineExceeded).Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, true, status.FromContextError(err).Err()
	}
	head.header, _ = metadata.FromOutgoingContext(ctx)
	call, w := l.begin()
	if w == nil {
		return nil, false, nil
	}
	o, err := encode(request, call, &head, in)
	if err != nil {
		l.forget(call)
		return nil, true, err
	}
	if err := l.exchange(ctx, o, w); err != nil {
		return nil, true, err
	}
	if w.err != nil {
		return nil, true, w.err
	}
	defer w.body.Free()
	if w.head.status.Code() != codes.OK {
		return &w.head, true, w.head.status.Err()
	}
	if err := (codec.Codec{}).Unmarshal(w.body, out); err != nil {
		return &w.head, true, status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return &w.head, true, nil
}

// exchange sends a request and waits for its response.
func (l *clientLink) exchange(ctx context.Context, o *outgoing, w *waiting) error {
	stop, sent := func() {}, (chan struct{})(nil)
	if len(o.parts) == 0 {
		_ = l.send(ctx, o) // a failed link ends all waiting calls, and the end of ctx is found below
		o.free()
	} else {
		var sending context.Context
		sending, stop = context.WithCancel(ctx)
		sent = make(chan struct{})
		l.beside(func() {
			defer close(sent)
			defer o.free()
			_ = l.send(sending, o) // as above
		})
	}
	defer stop()
	select {
	case <-w.answered:
	case <-ctx.Done():
		if l.forget(o.call) == nil { // the response has arrived
			<-w.answered
			break
		}
		l.beside(func() {
			if sent != nil {
				<-sent
			}
			l.sendEmpty(cancel, o.call)
		})
		return status.FromContextError(ctx.Err()).Err()
	}
	if sent != nil { // an error may arrive before the whole message was sent
		stop()
		<-sent
	}
	return nil
}

// beside runs f in a goroutine or, if the link is closed, at once.
func (l *clientLink) beside(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		f()
		return
	}
	l.done.Go(f)
}

// run reads responses until the link is closed. Then all calls end.
func (l *clientLink) run() {
	l.done.Go(func() { l.watch(beat) })
	l.close(l.read(l.handle))
	lost := status.Errorf(codes.Unavailable, "the connection to %s is lost: %v", l.address, l.cause)
	l.mu.Lock()
	all := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range all {
		w.err = lost
		close(w.answered)
	}
	l.done.Wait()
}

// handle reads the data after a header.
func (l *clientLink) handle(h header) (err error) {
	switch h.kind {
	case response:
		err = l.response(h)
	case data:
		err = l.data(h)
	default:
		err = fmt.Errorf("%w: a server does not send kind %d", errMalformed, h.kind)
	}
	l.in.bulk = len(l.incoming) > 0
	return err
}

// response reads a response, or the beginning of one in parts.
func (l *clientLink) response(h header) error {
	b, err := l.in.next(int(h.length))
	if err != nil {
		return err
	}
	var head responseHead
	if err := head.parse(b[:h.head]); err != nil {
		return err
	}
	if head.sizes != nil {
		if l.incoming[h.call] != nil || int(h.length) > int(h.head) {
			return fmt.Errorf("%w: two responses of a call", errMalformed)
		}
		if len(l.incoming) >= maxCalls {
			return fmt.Errorf("%w: %d responses at the same time", errMalformed, len(l.incoming))
		}
		l.incoming[h.call] = &incomingResponse{incoming{sizes: head.sizes}, head, sum(head.sizes)}
		return nil
	}
	l.answer(h.call, head, mem.BufferSlice{mem.Copy(b[h.head:], pool)})
	return nil
}

// data reads a frame of a response.
func (l *clientLink) data(h header) error {
	in := l.incoming[h.call]
	if in == nil {
		return fmt.Errorf("%w: data of no response", errMalformed)
	}
	l.mu.Lock()
	wanted := l.waiting[h.call] != nil
	l.mu.Unlock()
	if !wanted {
		in.end()
	}
	left := in.left - int(h.length)
	if left < 0 {
		return fmt.Errorf("%w: more data than announced", errMalformed)
	}
	in.left = left
	whole, _, err := in.receive(l.in, int(h.length))
	if err != nil {
		return err
	}
	if left == 0 {
		delete(l.incoming, h.call)
	}
	if whole {
		l.answer(h.call, in.head, in.whole)
	}
	return nil
}

// answer ends a call, unless it was cancelled.
func (l *clientLink) answer(call uint32, head responseHead, body mem.BufferSlice) {
	w := l.forget(call)
	if w == nil {
		body.Free()
		return
	}
	w.head, w.body = head, body
	close(w.answered)
}

// maxCalls is how many calls of a link may run at the same time. Another task has a call of RecvTensor for each tensor that it waits
// for. A client begins half as many: at the server, a cancelled or just answered call may still be running.
const maxCalls = 1 << 14

func sum(all []int) (n int) {
	for _, k := range all {
		n += k
	}
	return n
}
