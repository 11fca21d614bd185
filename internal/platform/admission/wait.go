package admission

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Wait ends a call whose message does not arrive. gRPC itself waits as long as the connection lives: a client that opens calls and sends
// nothing keeps their memory.
type Wait struct {
	limit time.Duration
	timer *time.Timer                   // nil: there is no limit
	stop  func() bool                   // stops waiting for the server to shut down; nil: it does not
	over  atomic.Pointer[status.Status] // why the wait was ended; nil: it continues
}

// came is the reason when the message has arrived.
var came = status.New(codes.OK, "")

// ErrEnding is the error of calls and requests whose message has not arrived when a server shuts down.
var ErrEnding = status.Error(codes.Unavailable, "the server is ending, and the request has not come whole: send it again")

// StartWait gives the call of ctx the time limit for the next part of its message; 0: unlimited. The wait also ends when the server shuts
// down: with the context ending, which may be nil.
func StartWait(ctx context.Context, limit time.Duration, ending context.Context) *Wait {
	w := &Wait{limit: limit}
	call, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ WriteStatus(*status.Status) error })
	if !ok {
		return w
	}
	end := func(why *status.Status) {
		if w.over.CompareAndSwap(nil, why) {
			_ = call.WriteStatus(why) // ends the reading of the message; the client may have left
		}
	}
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() { end(w.late()) })
	}
	if ending != nil {
		w.stop = context.AfterFunc(ending, func() { end(status.Convert(ErrEnding)) })
	}
	return w
}

// More restarts the limit: a part has arrived.
func (w *Wait) More() {
	if w.timer != nil && w.timer.Stop() {
		w.timer.Reset(w.limit)
	}
}

// Done ends the wait and returns err, the result of reading the message. If the call was ended meanwhile, it returns the error that was
// sent to the client: DEADLINE_EXCEEDED for the limit, UNAVAILABLE for the end of the server.
func (w *Wait) Done(err error) error {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.stop != nil {
		w.stop()
	}
	if !w.over.CompareAndSwap(nil, came) {
		return w.over.Load().Err()
	}
	return err
}

func (w *Wait) late() *status.Status {
	return status.Newf(codes.DeadlineExceeded, "the next part of the message did not come whole within %v", w.limit)
}
