package collective

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// exchangeBytes is the largest pack that every worker sends to every other,
	// which takes one hop instead of 2(N-1).
	exchangeBytes = 16 << 10
	// meshSize is the largest group in which each worker has a link to every other.
	// Larger groups only have the ring.
	meshSize = 16
	// partingTime is how long a dying group tries to tell its peers the reason, and a
	// closed one waits for peers that still read.
	partingTime = 250 * time.Millisecond
	lingerTime  = 2 * time.Second
)

// Group is one worker's end of a group of workers that compute together. Calls are
// collective: all workers make the same calls in the same order. Calls from several
// goroutines wait for each other; then the program must keep their order. The first
// error, or the end of a call's context, kills the group on all workers.
type Group struct {
	name         string
	generation   int64
	id           uint64
	tasks        []cluster.Task
	rank, size   int
	bytesPerPack int
	callTimeout  time.Duration

	ctx    context.Context // of the links
	cancel context.CancelFunc
	out    []*outlet // by rank, nil if there is no link
	in     []*inlet

	turn     chan struct{} // holds a token while no call is in progress
	call     uint64
	at       whereabouts
	limit    *time.Timer // ends a call that exceeds its time limit
	plans    []*plan     // latest first
	jobs     chan *schedule
	runs     chan *plan
	sent     chan struct{} // the sender has done a job
	wakeSend chan struct{}
	wakeRecv chan struct{}
	buffers  buffers

	mu      sync.Mutex
	err     error         // why the group is dead
	done    chan struct{} // closed when err is set
	workers sync.WaitGroup
	peers   sync.WaitGroup // watchers of outlets
}

// buffers is memory of the receiving side.
type buffers struct {
	block []byte   // part of a message to be added
	sum   []byte   // of an exchange
	parts [][]byte // of a vector
}

func newGroup(c Config) *Group {
	g := &Group{name: c.Name, generation: c.Generation, tasks: c.Tasks, rank: c.Rank, size: len(c.Tasks),
		bytesPerPack: c.BytesPerPack, callTimeout: c.CallTimeout,
		out: make([]*outlet, len(c.Tasks)), in: make([]*inlet, len(c.Tasks)),
		turn: make(chan struct{}, 1), jobs: make(chan *schedule), runs: make(chan *plan), sent: make(chan struct{}),
		wakeSend: make(chan struct{}, 1), wakeRecv: make(chan struct{}, 1), done: make(chan struct{}),
		buffers: buffers{block: aligned(readBytes), sum: aligned(exchangeBytes)}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.limit = time.AfterFunc(time.Hour, func() {
		g.kill(fmt.Errorf("a call took longer than %v", g.callTimeout))
	})
	g.limit.Stop()
	return g
}

// run starts the group's goroutines and admits calls.
func (g *Group) run() {
	g.workers.Add(2)
	go g.sendLoop()
	go g.reduceLoop()
	g.turn <- struct{}{}
}

// Rank is this worker's number in the group.
func (g *Group) Rank() int { return g.rank }

// Size is the number of workers.
func (g *Group) Size() int { return g.size }

// Generation is the number with which the group was formed.
func (g *Group) Generation() int64 { return g.generation }

// Done is closed when the group is dead or closed; Err then says why.
func (g *Group) Done() <-chan struct{} { return g.done }

// Err is nil while the group lives, else a *GroupError.
func (g *Group) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *Group) fullMesh() bool { return g.size <= meshSize }
func (g *Group) next() int      { return (g.rank + 1) % g.size }
func (g *Group) previous() int  { return modulo(g.rank-1, g.size) }
func (g *Group) linked() []int { // ranks to which this one sends and from which it receives
	var to []int
	for r := range g.size {
		if r != g.rank && (g.fullMesh() || r == g.next() || r == g.previous()) {
			to = append(to, r)
		}
	}
	return to
}

// begin waits for this call's turn and starts its clock; later is the number of
// tensors whose values come later. The caller passes stop to end.
func (g *Group) begin(ctx context.Context, later int) (stop func() bool, err error) {
	select {
	case <-g.turn:
	case <-g.done:
		return nil, g.Err()
	case <-ctx.Done():
		g.kill(fmt.Errorf("this task gave up: %w", context.Cause(ctx))) // the others may have begun
		return nil, g.Err()
	}
	if err := g.Err(); err != nil {
		g.turn <- struct{}{}
		return nil, err
	}
	g.call++
	g.at.begin(g.call, later)
	for r := range g.size {
		if g.out[r] != nil {
			g.out[r].index = 0
		}
		if g.in[r] != nil {
			g.in[r].index = 0
		}
	}
	g.limit.Reset(g.callTimeout)
	if ctx.Done() == nil {
		return nil, nil
	}
	return context.AfterFunc(ctx, func() { g.kill(fmt.Errorf("this task gave up: %w", context.Cause(ctx))) }), nil
}

func (g *Group) end(stop func() bool) {
	if stop != nil {
		stop()
	}
	g.limit.Stop()
	g.at.end()
	g.turn <- struct{}{}
}

// kill ends the group for err, once: all calls fail, and the peers get the cause.
func (g *Group) kill(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return
	}
	g.err = &GroupError{g.name, g.generation, err}
	g.part(&notice{g.header(farewell), &wire.GroupText{Text: err.Error(), Mismatch: errors.Is(err, ErrMismatch)}}, partingTime)
	close(g.done)
}

// part sends farewell, or just the end, to all peers, and cuts the links once they
// have ended, too, or patience is over.
func (g *Group) part(n *notice, patience time.Duration) {
	var parting sync.WaitGroup
	for _, o := range g.out {
		if o != nil {
			parting.Go(func() { o.part(n) })
		}
	}
	g.workers.Go(func() {
		over := make(chan struct{})
		go func() {
			parting.Wait()
			g.peers.Wait()
			close(over)
		}()
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-over:
		case <-t.C:
		}
		g.cancel()
		<-over
	})
}

// Close leaves the group and frees its resources. Unfinished calls fail. Peers that
// are still reading may continue for a moment.
func (g *Group) Close() error {
	select {
	case <-g.turn: // no call is in progress
		g.turn <- struct{}{}
		g.leave()
	default:
		g.kill(fmt.Errorf("%w by %v", ErrClosed, g.tasks[g.rank]))
	}
	g.workers.Wait()
	return nil
}

// Abort ends the group for the reason why on all workers, even on those without a
// call, and frees its resources.
func (g *Group) Abort(why error) error {
	g.kill(fmt.Errorf("this task gave up: %w", why))
	return g.Close()
}

// leave ends the group in good order.
func (g *Group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = &GroupError{g.name, g.generation, ErrClosed}
		g.part(nil, lingerTime)
		close(g.done)
	}
}

// serve is the handler of a link from a peer: it lasts as long as the group.
func (g *Group) serve(ctx context.Context) error {
	select {
	case <-g.done:
	case <-ctx.Done():
		return nil // the reader notices; only the next call misses a peer that left in good order
	}
	err := g.Err().(*GroupError).Err
	switch {
	case err == ErrClosed:
		return nil
	case errors.Is(err, ErrMismatch):
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return status.Error(codes.Aborted, err.Error())
}

// watch notices when a peer's end of a link is gone.
func (g *Group) watch(o *outlet) {
	g.peers.Go(func() {
		if err := o.end(); err != nil {
			g.kill(err)
		}
	})
}

func (g *Group) header(k wire.GroupMessageKind) *wire.GroupHeader {
	return &wire.GroupHeader{Kind: k, Group: g.id, Generation: uint64(g.generation), Rank: uint64(g.rank)}
}
