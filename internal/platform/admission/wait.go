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
	timer *time.Timer // nil: there is no limit
	over  atomic.Bool
}

// StartWait gives the call of ctx the limit to bring the next part of its message; 0: any time.
func StartWait(ctx context.Context, limit time.Duration) *Wait {
	w := &Wait{limit: limit}
	call, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ WriteStatus(*status.Status) error })
	if limit > 0 && ok {
		w.timer = time.AfterFunc(limit, func() {
			w.over.Store(true)
			_ = call.WriteStatus(w.status()) // which ends what reads the message; the client may have gone
		})
	}
	return w
}

// More gives the limit anew: a part has come.
func (w *Wait) More() {
	if w.timer != nil && w.timer.Stop() {
		w.timer.Reset(w.limit)
	}
}

// Done ends the wait and returns err, which reading the message came to, or DEADLINE_EXCEEDED where the limit made it fail.
func (w *Wait) Done(err error) error {
	if w.timer != nil {
		w.timer.Stop()
	}
	if err != nil && w.over.Load() {
		return w.status().Err()
	}
	return err
}

func (w *Wait) status() *status.Status {
	return status.Newf(codes.DeadlineExceeded, "the next part of the message did not come whole within %v", w.limit)
}
