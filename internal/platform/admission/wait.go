package admission

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Wait ends a call whose message does not come. gRPC itself waits as long as the connection lives: a client that opens calls
// and sends nothing keeps their memory.
type Wait struct {
	limit time.Duration
	timer *time.Timer                   // nil: there is no limit
	stop  func() bool                   // ends the wait for the end of the server; nil: there is none
	over  atomic.Pointer[status.Status] // why the wait was ended; nil: it goes on
}

// came is why a wait is over whose message has come.
var came = status.New(codes.OK, "")

// ErrEnding is what calls and requests get whose message has not come when a server ends.
var ErrEnding = status.Error(codes.Unavailable, "the server is ending, and the request has not come whole: send it again")

// StartWait gives the call of ctx the limit to bring the next part of its message; 0: any time. The wait ends, too, when a server does: with
// the context ending, which may be nil.
func StartWait(ctx context.Context, limit time.Duration, ending context.Context) *Wait {
	w := &Wait{limit: limit}
	call, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ WriteStatus(*status.Status) error })
	if !ok {
		return w
	}
	end := func(why *status.Status) {
		if w.over.CompareAndSwap(nil, why) {
			_ = call.WriteStatus(why) // which ends what reads the message; the client may have gone
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

// More gives the limit anew: a part has come.
func (w *Wait) More() {
	if w.timer != nil && w.timer.Stop() {
		w.timer.Reset(w.limit)
	}
}

// Done ends the wait and returns err, which reading the message came to. Where the call was ended meanwhile, its client has been told why: that
// is the error then, DEADLINE_EXCEEDED for the limit, UNAVAILABLE for the end of the server.
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
