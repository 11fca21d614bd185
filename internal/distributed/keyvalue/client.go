package keyvalue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// Client is the Store of the leader as another task uses it; it is safe for concurrent use.
//
// Until the leader has answered once, calls wait for it to start. After that, calls fail
// with cluster.ErrPeerLost if it does not answer for 30 s. Calls of Set, Get and Members
// without a deadline in their context have the deadline of the node's calls.
type Client struct {
	node   cluster.Client
	leader cluster.Task

	mu    sync.Mutex
	store uint64 // the one that answered first; 0: none yet
	reset error  // the error once it is gone
}

// NewClient returns a Client that asks leader through node, as node's task.
func NewClient(node cluster.Client, leader cluster.Task) *Client {
	return &Client{node: node, leader: leader}
}

const (
	clientHold  = 5 * time.Second  // how long a waiting request is held
	clockSkew   = time.Second      // between the end of a call and the end of its context
	leaderGrace = 10 * time.Second // additional time for its answer
	leaderLost  = 30 * time.Second // how long a leader may be silent before it is lost
)

// call asks once.
func (c *Client) call(ctx context.Context, method string, r *wire.StoreRequest) (*wire.StoreReply, error) {
	c.mu.Lock()
	r.Store = c.store
	err := c.reset
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	f, err := c.node.Call(ctx, c.leader, "/"+serviceName+"/"+method, &cluster.Frame{Header: wire.Encode(r)})
	if err != nil {
		err = fromWire(err)
		if errors.Is(err, ErrLeaderReset) {
			c.lose(err)
		}
		return nil, err
	}
	defer f.Release()
	out, err := decodeReply(f.Header)
	if err != nil {
		return nil, fmt.Errorf("answer of %v to %s: %w", c.leader, method, err)
	}
	return out, c.pin(out.Store)
}

func (c *Client) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset = err
}

// pin records which Store answered.
func (c *Client) pin(store uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.reset != nil:
		return c.reset
	case c.store == 0:
		c.store = store
	case c.store != store:
		c.reset = fmt.Errorf("%v: %w", c.leader, ErrLeaderReset)
		return c.reset
	}
	return nil
}

func (c *Client) met() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store != 0
}

// poll asks until a reply is found or ctx, which has a deadline, ends. The error then comes
// with the last reply, if any.
func (c *Client) poll(ctx context.Context, method string, r *wire.StoreRequest) (*wire.StoreReply, error) {
	deadline, _ := ctx.Deadline()
	heard := time.Now()
	var last *wire.StoreReply
	for {
		// Half of the remaining time, so that an answer says what is missing before the end.
		hold := max(min(clientHold, time.Until(deadline)/2), 0)
		r.WaitMs = milliseconds(hold)
		once, cancel := context.WithTimeout(ctx, hold+leaderGrace)
		out, err := c.call(once, method, r)
		cancel()
		switch {
		case err == nil && out.Found:
			return out, nil
		case err == nil:
			last, heard = out, time.Now()
		case ctx.Err() != nil:
			return last, err
		case errors.Is(err, context.DeadlineExceeded) && time.Until(deadline) < clockSkew:
			<-ctx.Done() // the call ended a moment before ctx
			return last, err
		case !errors.Is(err, cluster.ErrPeerLost):
			return last, err
		case c.met() && time.Since(heard) > leaderLost:
			return last, fmt.Errorf("no answer for %v: %w", time.Since(heard).Round(time.Second), err)
		default:
			if err := pause(ctx, 100*time.Millisecond, nil, nil); err != nil {
				return last, err
			}
		}
		if ctx.Err() != nil {
			return last, ctx.Err()
		}
	}
}

// Set sets a value, in place of an earlier one.
func (c *Client) Set(ctx context.Context, key string, value []byte) error {
	_, err := c.call(ctx, "Set", &wire.StoreRequest{Name: key, Value: value})
	return err
}

// Get returns a value and whether it was set.
func (c *Client) Get(ctx context.Context, key string) ([]byte, bool, error) {
	out, err := c.call(ctx, "Get", &wire.StoreRequest{Name: key})
	if err != nil || len(out.Values) == 0 {
		return nil, false, err
	}
	return out.Values[0], true, nil
}

// Wait returns a value as soon as it is set, or an error at the end of ctx.
func (c *Client) Wait(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.poll(ctx, "Wait", &wire.StoreRequest{Name: key})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("wait for %q: %w", clip(key), ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("wait for %q: %w", clip(key), err)
	case len(out.Values) != 1:
		return nil, fmt.Errorf("wait for %q: %w: %d values from %v, expected one", clip(key), ErrInvalid, len(out.Values), c.leader)
	}
	return out.Values[0], nil
}

// Gather returns the values of all ranks, by rank, as soon as all are there.
func (c *Client) Gather(ctx context.Context, g Gather) ([][]byte, error) {
	out, err := c.meet(ctx, "Gather", g, 0)
	if err != nil {
		return nil, err
	}
	return out.Values, nil
}

// NextGeneration waits until all ranks of g.Name have asked and returns the same new number to all.
func (c *Client) NextGeneration(ctx context.Context, g Gather, after int64) (Generation, error) {
	if after < 0 {
		return Generation{}, fmt.Errorf("%w: generation %d of %q", ErrInvalid, after, clip(g.Name))
	}
	out, err := c.meet(ctx, "NextGeneration", g, after)
	if err != nil {
		return Generation{}, err
	}
	return Generation{int64(out.Generation), out.Values}, nil
}

// Missing lists ranks that do not wait in the current round of a name.
func (c *Client) Missing(ctx context.Context, name string) ([]int, error) {
	out, err := c.call(ctx, "Missing", &wire.StoreRequest{Name: name})
	if err != nil {
		return nil, err
	}
	return missingOf(out.Missing), nil
}

// meet is the common part of Gather and NextGeneration.
func (c *Client) meet(ctx context.Context, method string, g Gather, after int64) (*wire.StoreReply, error) {
	if g.Rank < 0 || g.Rank >= g.Size {
		return nil, fmt.Errorf("%w: gather %q: rank %d of %d ranks", ErrInvalid, clip(g.Name), g.Rank, g.Size)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	out, err := c.poll(ctx, method, &wire.StoreRequest{Name: g.Name, Rank: uint64(g.Rank), Size: uint64(g.Size), Value: g.Value, After: uint64(after)})
	if err != nil && ctx.Err() != nil {
		missing := &MissingError{Name: clip(g.Name), Size: g.Size, Err: ctx.Err()}
		if out != nil {
			missing.Ranks = missingOf(out.Missing)
		}
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	if len(out.Values) != g.Size {
		return nil, fmt.Errorf("gather %q: %w: %d values from %v, expected %d", clip(g.Name), ErrInvalid, len(out.Values), c.leader, g.Size)
	}
	return out, nil
}

// Members lists the tasks that have had a Presence, sorted by rank, then by task.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	out, err := c.call(ctx, "Members", &wire.StoreRequest{})
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(out.Members))
	for i, m := range out.Members {
		members[i] = memberOf(m)
	}
	return members, nil
}

// Beat reports that the task is alive.
func (c *Client) Beat(ctx context.Context, b Beat) (string, error) {
	if b.Rank < 0 {
		return "", fmt.Errorf("%w: rank %d", ErrInvalid, b.Rank)
	}
	out, err := c.call(ctx, "Beat", &wire.StoreRequest{Rank: uint64(b.Rank), Done: b.Done, KnowsStop: b.KnowsStop, WaitMs: milliseconds(b.Hold), StepSecs: b.StepSecs})
	if err != nil {
		return "", err
	}
	return out.Stop, nil
}
