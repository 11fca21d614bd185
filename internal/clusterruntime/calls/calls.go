package calls

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Options of a Calls.
type Options struct {
	Task  string // names the task in errors, as "/job:ps/task:0"
	Token string // that callers must send; "": none
	// Memory pays for messages; nil: not counted.
	Memory *budget.Server
	// Codec reads messages; nil: gRPC's own.
	Codec encoding.CodecV2
	// Ended is called after each call. It may be nil.
	Ended func(Call)
}

// Call describes a call that ended.
type Call struct {
	Service, Method string
	Took            time.Duration
	Err             error
}

// Calls tracks the calls to a task's services. It is safe for concurrent use.
type Calls struct {
	o Options

	mu       sync.Mutex
	running  int       // calls, except queries
	last     time.Time // when a call last began or ended
	steps    map[*call]bool
	draining bool
	drained  chan struct{} // closed when no step is running any more, once draining
}

// call is a running call.
type call struct {
	calls   *Calls
	service string
	method  string
	looks   bool
	start   time.Time
	ctx     context.Context
	end     context.CancelCauseFunc
	account *budget.Account  // of the message
	place   *admission.Place // of the connection
	using   atomic.Bool      // of the place, while a message is being answered
}

// New returns a Calls without calls.
func New(o Options) *Calls {
	if o.Codec == nil {
		o.Codec = encoding.GetCodecV2(proto.Name)
	}
	return &Calls{o: o, last: time.Now(), steps: map[*call]bool{}, drained: make(chan struct{})}
}

// looking are the methods that only check whether the task is alive. They do not count as use.
var looking = []string{"GetStatus"}

// beginning are the methods that begin or continue something. A task that shuts down refuses them, and waits for running ones.
var beginning = []string{
	"CreateSession", "ExtendSession", "PartialRunSetup", "RunStep", "MakeCallable", "RunCallable",
	"CreateWorkerSession", "RegisterGraph", "RunGraph",
	"CreateContext", "UpdateContext", "Enqueue", "StreamingEnqueue", "RunComponentFunction",
}

// begin admits a call, or returns why not.
func (c *Calls) begin(ctx context.Context, service, method string) (*call, error) {
	if err := c.checkToken(ctx, service); err != nil {
		return nil, err
	}
	one := &call{calls: c, service: service, method: method, looks: slices.Contains(looking, method), start: time.Now(), place: admission.PlaceOf(ctx)}
	one.ctx, one.end = context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	begins := slices.Contains(beginning, method)
	if begins && c.draining {
		one.end(nil)
		return nil, status.Errorf(codes.Unavailable, "%s is ending: it takes no more steps", c.o.Task)
	}
	if begins {
		c.steps[one] = true
	}
	if !one.looks {
		c.running++
		c.last = one.start
	}
	return one, nil
}

// done ends the call, and returns the error for its caller.
func (one *call) done(err error) error {
	if cause := endedBy(one.ctx); err != nil && cause != nil && status.Code(err) == codes.Canceled {
		err = cause
	}
	one.end(nil)
	one.account.Close()
	one.use(false)
	c := one.calls
	now := time.Now()
	c.mu.Lock()
	if !one.looks {
		c.running--
		c.last = now
	}
	delete(c.steps, one)
	if c.draining && len(c.steps) == 0 {
		c.isDrained()
	}
	c.mu.Unlock()
	if c.o.Ended != nil {
		c.o.Ended(Call{one.service, one.method, now.Sub(one.start), err})
	}
	return err
}

// isDrained records that no step is running. The mutex is held.
func (c *Calls) isDrained() {
	select {
	case <-c.drained:
	default:
		close(c.drained)
	}
}

// endedBy returns the status with which a task ended the context, or nil if it did not.
func endedBy(ctx context.Context) error {
	cause := context.Cause(ctx)
	if s, ok := status.FromError(cause); ok && s.Code() == codes.Unavailable {
		return cause
	}
	return nil
}

// Cause returns err or, if the task ended the context because it shuts down, UNAVAILABLE with the reason.
func Cause(ctx context.Context, err error) error {
	if cause := endedBy(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// Idle returns how long no call has been running; 0 during a call.
func (c *Calls) Idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running > 0 {
		return 0
	}
	return time.Since(c.last)
}

// Steps returns how many calls that begin or continue something are running.
func (c *Calls) Steps() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.steps)
}

// Drain refuses new steps, and waits for running ones until ctx ends. Then it ends the rest with UNAVAILABLE, and returns their number.
func (c *Calls) Drain(ctx context.Context) (cut int) {
	c.mu.Lock()
	c.draining = true
	if len(c.steps) == 0 {
		c.isDrained()
	}
	c.mu.Unlock()
	select {
	case <-c.drained:
		return 0
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.steps {
		one.end(status.Errorf(codes.Unavailable, "%s is ending: the step took longer than it waits", c.o.Task))
	}
	return len(c.steps)
}

const bearer = "Bearer "

// checkToken compares the token of a caller with the required one.
func (c *Calls) checkToken(ctx context.Context, service string) error {
	if c.o.Token == "" {
		return nil
	}
	header, _ := metadata.FromIncomingContext(ctx)
	shown := ""
	if all := header.Get("authorization"); len(all) > 0 {
		shown, _ = strings.CutPrefix(all[0], bearer)
	}
	got, want := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(c.o.Token))
	if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return nil
	}
	what := "a wrong job token"
	if shown == "" {
		what = "no job token"
	}
	return status.Errorf(codes.Unauthenticated, "%s was called for %s with %s: callers need the GOESTIMATOR_JOB_TOKEN of the task; TensorFlow's own clients and servers send none, so start the task without it for them", c.o.Task, service, what)
}
