package server

import (
	"context"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// patience is how long a task may take to answer that it is alive, before it counts as lost.
	patience = 30 * time.Second
	// askEvery is how often a task is asked during a call to it, by a call of GetStatus, since TensorFlow's servers refuse frequent
	// HTTP/2 pings.
	askEvery = 10 * time.Second
)

// alive is another task's worker. Its calls end with UNAVAILABLE if it hangs, neither answering nor closing the connection.
type alive struct {
	service.Remote
	task            string
	every, patience time.Duration

	mu       sync.Mutex
	answered time.Time // last successful answer
}

// Call implements service.Caller.
func (a *alive) Call(ctx context.Context, method string, in, out proto.Message) (proto.Message, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch *time.Timer
	ready := make(chan struct{})
	watch = time.AfterFunc(a.every, func() {
		<-ready
		switch {
		case ctx.Err() != nil:
		case a.answers(ctx):
			watch.Reset(a.every)
		default:
			cancel(status.Errorf(codes.Unavailable, "%s does not answer: it was asked for %v whether it is there", a.task, a.patience))
		}
	})
	close(ready)
	defer watch.Stop()
	answer, err := a.Remote.Call(ctx, method, in, out)
	if lost, ok := status.FromError(context.Cause(ctx)); err != nil && ok && lost.Code() == codes.Unavailable {
		err = lost.Err()
	}
	return answer, err
}

// answers asks the task whether it is alive. One answer is enough for all running calls.
func (a *alive) answers(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.answered) < a.every {
		return true
	}
	asked, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	_, err := service.Ask[rpcs.GetStatusResponse](asked, a.Remote, "GetStatus", &rpcs.GetStatusRequest{})
	if ctx.Err() == nil && status.Code(err) == codes.DeadlineExceeded {
		return false
	}
	if err == nil {
		a.answered = time.Now()
	}
	return true // a lost connection ends the calls by itself
}
