package ps

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// ClientConfig describes a client.
type ClientConfig struct {
	Client  cluster.Client
	Servers []cluster.Task // in the order of plans
	Rank    int            // of this worker, from 0
	// Transfer is the type in which float32 values and gradients are sent: see ParseTransfer;
	// 0 is Float32.
	Transfer tensor.DType
	Timeout  time.Duration // of a request whose context has no deadline; 0: 60 s
	Log      *slog.Logger  // nil: slog.Default()
}

// Client connects a worker or the chief to the parameter servers. Its methods may run
// concurrently, except that calls that begin or join a session (Connect, WaitReady, Create)
// must run alone, and pushes one after the other. It must be closed.
type Client struct {
	c  ClientConfig
	id uint64 // of this run of the worker

	known   knownIDs
	streams streams

	mu       sync.Mutex
	plan     *Plan
	ids      []*wire.SessionID // by server; nil: not connected
	sequence uint64
}

// NewClient returns a client that has not joined a session yet.
func NewClient(c ClientConfig) *Client {
	if c.Transfer == tensor.Invalid {
		c.Transfer = tensor.Float32
	}
	if c.Timeout <= 0 {
		c.Timeout = 60 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Client{c: c, id: nonZero()}
}

func nonZero() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}

// Progress is the state that server 0 reports to all workers.
type Progress struct {
	GlobalStep int64
	Stop       bool   // training must stop
	Reason     string // why
	Came       []int  // after WaitStep in synchronous plans: ranks whose gradients for the present step have arrived
}

func progressOf(m *wire.Progress) Progress {
	return Progress{GlobalStep: m.GetStep(), Stop: m.GetStop(), Reason: m.GetReason()}
}

// Status is the state of all servers.
type Status struct {
	// Ready reports that all have the same session, with the client's plan.
	Ready bool
	Progress
	Session uint64 // 0: none, or not the same on all servers
	Last    int64  // the global step at which training ends; 0: none
	Servers []ServerStatus
}

// ServerStatus is the state of one server.
type ServerStatus struct {
	Task                 cluster.Task
	Incarnation, Session uint64
	Ready                bool
	Finished             *Outcome // the chief's report; nil: none yet
	Digest               string   // of its plan
	Stats                Stats
}

// Connect asks all servers for their state and joins their session if they are ready. It waits
// for servers that are not up yet until ctx ends. The error is a *settings.DifferError that
// wraps ErrPlan if the servers hold another plan.
func (c *Client) Connect(ctx context.Context, p *Plan) (Status, error) {
	return c.connect(ctx, p, false)
}

// WaitReady is Connect that waits until the chief has created a session. If the chief has
// ended the servers instead, the error is a *FinishedError.
func (c *Client) WaitReady(ctx context.Context, p *Plan) (Status, error) {
	for {
		s, err := c.connect(ctx, p, true)
		for _, x := range s.Servers {
			if x.Finished != nil {
				return s, &FinishedError{x.Task, *x.Finished}
			}
		}
		if err != nil || s.Ready {
			return s, err
		}
		select { // servers may differ for a moment while a session begins
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return s, fmt.Errorf("waiting for the chief to create the variables on the parameter servers: %w", ctx.Err())
		}
	}
}

func (c *Client) connect(ctx context.Context, p *Plan, wait bool) (Status, error) {
	if p.Servers != len(c.c.Servers) {
		return Status{}, fmt.Errorf("%d parameter servers, the plan has %d", len(c.c.Servers), p.Servers)
	}
	replies := make([]*wire.StatusReply, p.Servers)
	err := c.each(func(i int) error {
		replies[i] = &wire.StatusReply{}
		return c.ask(ctx, i, "Status", &wire.StatusRequest{Wait: wait}, replies[i])
	})
	if err != nil {
		return Status{}, err
	}
	s := Status{Ready: true, Session: replies[0].Id.GetSession(), Last: replies[0].Last, Progress: progressOf(replies[0].Progress)}
	ids := make([]*wire.SessionID, p.Servers)
	for i, r := range replies {
		s.Servers = append(s.Servers, serverStatus(r, c.c.Servers[i]))
		ids[i] = r.Id
		if r.Id.GetSession() != s.Session {
			s.Session = 0
		}
		s.Ready = s.Ready && r.Ready && s.Session != 0 && r.Server == int64(i)
	}
	for i, r := range replies {
		if s.Ready && r.Digest != p.Digest() {
			return s, c.otherPlan(p, i, r)
		}
	}
	if s.Ready {
		c.join(p, ids)
	}
	return s, nil
}

// otherPlan returns how the plan of a server's session differs from p.
func (c *Client) otherPlan(p *Plan, server int, r *wire.StatusReply) error {
	theirs, err := settings.Parse(r.Settings)
	if err != nil {
		return explain(c.c.Servers[server], err)
	}
	list := p.Settings.Differences(theirs)
	if len(list) == 0 {
		list = []settings.Difference{{Name: "plan", Mine: p.Digest(), Theirs: r.Digest}}
	}
	return fmt.Errorf("%w: %w", ErrPlan, c.Differ(server, list...))
}

// Differ is the error of a task whose settings differ from the session of a server.
func (c *Client) Differ(server int, list ...settings.Difference) error {
	return &settings.DifferError{Mine: "this task", Theirs: fmt.Sprintf("the job on %v", c.c.Servers[server]), Differences: list}
}

// serverStatus is a server's reply in the form for callers of the package.
func serverStatus(m *wire.StatusReply, task cluster.Task) ServerStatus {
	s := ServerStatus{Task: task, Incarnation: m.Id.GetIncarnation(), Session: m.Id.GetSession(), Ready: m.Ready, Digest: m.Digest, Stats: statsOf(m.Stats)}
	if m.Finished {
		o := outcomeOf(m.Outcome)
		s.Finished = &o
	}
	return s
}

func (c *Client) join(p *Plan, ids []*wire.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.ids = p, ids
}

// connection returns the plan and the session that the client has joined.
func (c *Client) connection() (*Plan, []*wire.SessionID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		return nil, nil, ErrNotConnected
	}
	return c.plan, c.ids, nil
}

// each calls f for all servers at once and returns the errors.
func (c *Client) each(f func(server int) error) error {
	errs := make([]error, len(c.c.Servers))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return join(errs)
}

// join joins errors, real ones first: cancellations often follow from them.
func join(errs []error) error {
	slices.SortStableFunc(errs, func(a, b error) int {
		x, y := cancelled(a), cancelled(b)
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	return errors.Join(errs...)
}

func cancelled(err error) bool {
	return errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled
}

// deadline gives a context a deadline if it has none.
func (c *Client) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return cluster.WithTimeout(ctx, c.c.Timeout)
}

// retry repeats a request that may arrive twice while the connection to a server breaks.
func (c *Client) retry(ctx context.Context, server int, method string, attempt func() error) error {
	return retry(ctx, attempt, func(err error) {
		c.c.Log.Warn("the connection to a parameter server broke; the request is sent again", "server", c.c.Servers[server], "method", method, "error", err)
	})
}

// retry repeats attempts, with growing pauses, while a connection breaks and ctx lasts. It
// calls note for each failure except the last.
func retry(ctx context.Context, attempt func() error, note func(error)) error {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := attempt()
		if err == nil || status.Code(err) != codes.Unavailable || ctx.Err() != nil {
			return err
		}
		note(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// ask is call for requests that may arrive twice.
func (c *Client) ask(ctx context.Context, server int, method string, req, reply proto.Message) error {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	return c.retry(ctx, server, method, func() error { return c.call(ctx, server, method, req, reply) })
}

// call sends a request to a server and decodes its answer.
func (c *Client) call(ctx context.Context, server int, method string, req, reply proto.Message) error {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	f, err := c.c.Client.Call(ctx, c.c.Servers[server], methodName(method), &cluster.Frame{Header: wire.Encode(req)})
	if err != nil {
		return explain(c.c.Servers[server], err)
	}
	defer f.Release()
	if err := wire.Decode(f.Header, reply); err != nil {
		return explain(c.c.Servers[server], err)
	}
	return nil
}

// WaitStep waits until the global step is at least step, training must stop, or ctx ends; in
// the last case, the latest known progress comes with the error.
func (c *Client) WaitStep(ctx context.Context, step int64) (Progress, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	var last Progress
	for {
		_, ids, err := c.connection()
		if err != nil {
			return last, err
		}
		var r wire.WaitReply
		if err := c.ask(ctx, 0, "WaitStep", &wire.WaitRequest{Id: ids[0], Step: step}, &r); err != nil {
			return last, err
		}
		last = progressOf(r.Progress)
		last.Came = ints(r.Came)
		if last.GlobalStep >= step || last.Stop {
			return last, nil
		}
		if err := ctx.Err(); err != nil {
			return last, fmt.Errorf("parameter server %v: step %d did not come, it is at %d: %w", c.c.Servers[0], step, last.GlobalStep, err)
		}
	}
}

// SetStop asks all workers to stop, through the replies that they get. The first reason
// counts.
func (c *Client) SetStop(ctx context.Context, reason string) error {
	_, ids, err := c.connection()
	if err != nil {
		return err
	}
	return c.ask(ctx, 0, "Stop", &wire.StopRequest{Id: ids[0], Reason: reason}, &wire.Empty{})
}

// Later reports whether training that ends at step a lasts longer than training that ends at
// step b; 0 is no end.
func Later(a, b int64) bool { return b != 0 && (a == 0 || a > b) }

// Extend moves the end of training to a later global step, 0 for none. Tasks that join later
// get the new end.
func (c *Client) Extend(ctx context.Context, last int64) error {
	_, ids, err := c.connection()
	if err != nil {
		return err
	}
	return c.ask(ctx, 0, "Extend", &wire.ExtendRequest{Id: ids[0], Last: last}, &wire.Empty{})
}

// Finish reports the outcome of the training to all servers, whose processes then end. It
// needs no session.
func (c *Client) Finish(ctx context.Context, o Outcome) error {
	return c.each(func(i int) error {
		var s wire.StatusReply
		if err := c.ask(ctx, i, "Status", &wire.StatusRequest{}, &s); err != nil {
			return err
		}
		return c.ask(ctx, i, "Finish", &wire.FinishRequest{Id: s.Id, Outcome: o.message()}, &wire.Empty{})
	})
}
