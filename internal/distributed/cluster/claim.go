package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/runconfig"
)

// ErrTaken is wrapped by errors that report that another live process has the role and index of this one.
var ErrTaken = errors.New("the task is taken")

// takenCode is the code of ErrTaken on the wire; handlers do not use it.
const takenCode = codes.OutOfRange

// sameTask says why two processes may be one task, and what to do.
const sameTask = "two processes have the same role and index: a TF_CONFIG that was copied to another host without a new task, or a former run that still goes on; " +
	"give each process a TF_CONFIG of its own (goestimator tf-config prints them), or end the one that is too many"

const (
	// lookAgain is how often a newcomer's claim checks the process that has its task.
	lookAgain = 20 * time.Millisecond
	// lastWords is the age of a claim from which on received data shows that the other process is alive: earlier
	// data may have been sent before that process died.
	lastWords = time.Second
)

// claims are the processes that have called a node, by task. A process has its task until its connection ends; a
// silent one's ends after the peer timeout.
type claims struct {
	mu sync.Mutex
	of map[Task]claim
}

type claim struct {
	incarnation uint64
	conn        *watchedConn
}

// rival gives a task to the caller, unless another process has it, whose claim it returns.
func (c *claims) rival(p Peer, conn *watchedConn) (claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, known := c.of[p.Task]
	if known && held.incarnation != p.Incarnation && !held.conn.isClosed() {
		return held, true
	}
	if c.of == nil {
		c.of = map[Task]claim{}
	}
	c.of[p.Task] = claim{p.Incarnation, conn} // the newest: an older connection may be lost without this node having noticed
	return claim{}, false
}

// checkClaim admits a caller that is the only process of its task. A newcomer waits for the end of the previous
// process, and is refused as soon as that shows that it is alive.
func (n *Node) checkClaim(ctx context.Context) error {
	caller, ok := PeerOf(ctx)
	by, _ := grpcpeer.FromContext(ctx)
	conn := connOf(by)
	if _, listed := n.config.Spec.Address(caller.Task.Job, caller.Task.Index); !ok || !listed || conn == nil {
		return nil // not a task that others could have
	}
	if caller.Task == n.config.Task && caller.Incarnation != n.incarnation {
		return status.Errorf(takenCode, "%v at %s answers here, the caller at %v says that it is the same task: %s", caller.Task, n.Addr(), conn.RemoteAddr(), sameTask)
	}
	for began := time.Now(); ; {
		held, taken := n.claims.rival(caller, conn)
		switch {
		case !taken:
			return nil
		case held.conn.readSince(began.Add(lastWords)):
			return status.Errorf(takenCode, "%v is the process at %v, which is alive; the one at %v came later: %s", caller.Task, held.conn.RemoteAddr(), conn.RemoteAddr(), sameTask)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-n.closing:
			return status.Error(codes.Unavailable, "the task ends")
		}
	}
}

// ownService answers a node that calls its own address.
const ownService = "goestimator.Own"

func own() Service {
	return Service{Name: ownService, Unary: map[string]Handler{"Check": func(context.Context, *Frame) (*Frame, error) { return nil, nil }}}
}

// CheckOwn calls this task's own address once. It returns an error with ErrTaken if another process of the same task
// answers there: then peers call that process and not this one. It returns nil if nothing can be reached.
func (n *Node) CheckOwn(ctx context.Context) error {
	if n.listener == nil {
		return nil
	}
	p, err := n.newPeer(n.config.Task)
	if err != nil {
		return nil // the task has no address that peers could call
	}
	defer p.close()
	o, err := newOutgoing(&Frame{}, n.config.MaxMessageBytes)
	if err != nil {
		return err
	}
	answer := new(Frame)
	err = p.conn.Invoke(n.identify(ctx, p.task), "/"+ownService+"/Check", o, answer, grpc.CallContentSubtype(codecName))
	answer.Release()
	if status.Code(err) != takenCode {
		return nil
	}
	return p.failure(ctx, "Check", err)
}

// listenError explains why a task cannot listen, and what to do.
func listenError(c Config, err error) error {
	err = fmt.Errorf("cluster: %v cannot listen at %s: %w", c.Task, c.Address, err)
	if errors.Is(err, syscall.EADDRINUSE) {
		return runconfig.Mistake(fmt.Errorf("%w: another process of this host listens there: if it is a task of this job, %s", err, sameTask))
	}
	return err
}
