package collective

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	serviceName = "goestimator.Collective"
	linkMethod  = "/" + serviceName + "/Link"
)

// Gatherer is the part of keyvalue.KeyValue that forming a group uses.
type Gatherer interface {
	Gather(ctx context.Context, g keyvalue.Gather) ([][]byte, error)
}

// Config describes a group and this worker's place in it.
type Config struct {
	Endpoint *Endpoint
	Store    Gatherer
	Name     string         // of the group; "" is "workers"
	Tasks    []cluster.Task // by rank
	Rank     int            // of this worker
	// Generation is the number of this formation: the same on all workers, and larger than
	// in every former group of that name.
	Generation int64
	// Timeout bounds the formation; 0 is a minute.
	Timeout time.Duration
	// CallTimeout bounds a call, including the wait for the slowest worker; 0 is ten
	// minutes. A context may bound it further.
	CallTimeout time.Duration
	// BytesPerPack is how many bytes of small tensors are reduced together. 0 is
	// DefaultBytesPerPack, 1 reduces each tensor separately.
	BytesPerPack int
	// Describe describes, for Log, tasks that a call waits for, with the remaining work of
	// those that answer. Nil: they are not logged.
	Describe func(ctx context.Context, tasks []cluster.Task, todo string) []waiting.Target
	Log      *slog.Logger
}

// DefaultBytesPerPack is the default of Config.BytesPerPack.
const DefaultBytesPerPack = 4 << 20

func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		c.Name = "workers"
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.CallTimeout <= 0 {
		c.CallTimeout = 10 * time.Minute
	}
	if c.BytesPerPack <= 0 {
		c.BytesPerPack = DefaultBytesPerPack
	}
	switch {
	case c.Rank < 0 || c.Rank >= len(c.Tasks):
		return c, fmt.Errorf("collective: rank %d: expected 0 to %d, as there are %d tasks", c.Rank, len(c.Tasks)-1, len(c.Tasks))
	case c.Generation < 0 || c.Generation > maxGeneration:
		return c, fmt.Errorf("collective: generation %d: expected 0 to %d", c.Generation, int64(maxGeneration))
	case len(c.Tasks) > 1 && (c.Endpoint == nil || c.Store == nil):
		return c, errors.New("collective: a group of more than one task needs an endpoint and a key-value store")
	}
	return c, nil
}

// Endpoint accepts links from peers for the groups of one node.
type Endpoint struct {
	client cluster.Client

	mu     sync.Mutex
	groups map[string]*forming // the latest of each name
}

// forming is a group that accepts links.
type forming struct {
	*Group
	known chan struct{} // closed when the group's id is known
	links chan *inlet

	mu       sync.Mutex
	accepted []bool // ranks whose links have arrived
}

// accept reports whether a rank's link is expected, which is the case once.
func (f *forming) accept(rank int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.linked(), rank) || f.accepted[rank] {
		return false
	}
	f.accepted[rank] = true
	return true
}

// Server is the serving half of a node.
type Server interface {
	Register(cluster.Service) error
}

// Attach adds the collective service to a node that does not serve yet.
func Attach(n interface {
	cluster.Client
	Server
}) (*Endpoint, error) {
	e := &Endpoint{client: n, groups: map[string]*forming{}}
	return e, n.Register(cluster.Service{Name: serviceName, Streams: map[string]cluster.StreamHandler{"Link": e.link},
		Unary: map[string]cluster.Handler{"Where": e.where}})
}

// Form meets the other workers through the key-value store and returns the group when all
// links to and from this worker exist. A former group of the same name dies.
func Form(ctx context.Context, c Config) (*Group, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	g := newGroup(c)
	if g.size == 1 {
		g.run()
		return g, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	f := &forming{Group: g, known: make(chan struct{}), links: make(chan *inlet, g.size), accepted: make([]bool, g.size)}
	if err := c.Endpoint.expect(f); err != nil {
		g.cancel()
		return nil, err
	}
	g.run()
	if err := g.join(ctx, c, f); err != nil {
		err = fmt.Errorf("forming the group: %w", err)
		g.kill(err)
		g.Close()
		return nil, g.Err()
	}
	if c.Describe != nil {
		g.workers.Go(func() { g.lookOut(c) })
	}
	return g, nil
}

// expect makes the endpoint accept links for a new group.
func (e *Endpoint) expect(f *forming) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.groups[f.name]; old != nil {
		if old.generation >= f.generation && old.Err() == nil {
			return fmt.Errorf("collective: group %s generation %d: generation %d lives: close it first, and take a larger number", f.name, f.generation, old.generation)
		}
		old.kill(fmt.Errorf("this task forms generation %d", f.generation))
	}
	e.groups[f.name] = f
	return nil
}

// settings is the value that a worker stores for the others.
func settings(c Config) []byte {
	h := fnv.New64a()
	fmt.Fprint(h, c.Tasks)
	return wire.Encode(&wire.GroupSettings{BytesPerPack: uint64(c.BytesPerPack), Tasks: h.Sum64(), Nonce: rand.Uint64()})
}

// agree checks the others' settings and returns the group's id.
func agree(c Config, all [][]byte) (uint64, error) {
	h := fnv.New64a()
	var mine, theirs wire.GroupSettings
	if err := wire.Decode(all[c.Rank], &mine); err != nil {
		return 0, err
	}
	for r, b := range all {
		if err := wire.Decode(b, &theirs); err != nil {
			return 0, fmt.Errorf("%w: %v sent settings that cannot be read: %w", ErrMismatch, c.Tasks[r], err)
		}
		if theirs.BytesPerPack != uint64(c.BytesPerPack) {
			return 0, fmt.Errorf("%w: %v packs %d bytes, expected %d", ErrMismatch, c.Tasks[r], theirs.BytesPerPack, c.BytesPerPack)
		}
		if theirs.Tasks != mine.Tasks {
			return 0, fmt.Errorf("%w: %v has another list of tasks, expected %v", ErrMismatch, c.Tasks[r], c.Tasks)
		}
		h.Write(b)
	}
	return h.Sum64(), nil
}

// join meets the others and connects to them.
func (g *Group) join(ctx context.Context, c Config, f *forming) error {
	all, err := c.Store.Gather(ctx, keyvalue.Gather{
		Name: fmt.Sprintf("collective/%s/%d", g.name, g.generation), Rank: g.rank, Size: g.size, Value: settings(c)})
	if err != nil {
		return err
	}
	if len(all) != g.size {
		return fmt.Errorf("the key-value store gave the values of %d workers, expected %d", len(all), g.size)
	}
	if g.id, err = agree(c, all); err != nil {
		return err
	}
	close(f.known)
	links := g.linked()
	for _, r := range links {
		if err := g.connect(c.Endpoint.client, r); err != nil {
			return err
		}
	}
	for range links {
		select {
		case i := <-f.links:
			g.in[i.rank] = i
		case <-g.done:
			return g.Err().(*GroupError).Err
		case <-ctx.Done():
			return fmt.Errorf("%w: no link from %v", ctx.Err(), g.missing(links))
		}
	}
	return nil
}

// missing lists the tasks without a link.
func (g *Group) missing(links []int) []cluster.Task {
	var out []cluster.Task
	for _, r := range links {
		if g.in[r] == nil {
			out = append(out, g.tasks[r])
		}
	}
	return out
}

// connect opens the link to a peer.
func (g *Group) connect(client cluster.Client, rank int) error {
	s, err := client.Stream(g.ctx, g.tasks[rank], linkMethod)
	if err != nil {
		return err
	}
	o := &outlet{peer: g.tasks[rank], stream: s}
	if err := o.send(notice{g.header(hello), &wire.GroupText{Text: g.name}}, nil); err != nil {
		return peerError(o.peer, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err.(*GroupError).Err
	}
	g.out[rank] = o
	g.watch(o)
	return nil
}

// link is the handler of a peer's link.
func (e *Endpoint) link(ctx context.Context, s cluster.Stream) error {
	first, err := s.Recv()
	if err != nil {
		return err
	}
	defer first.Release()
	var h wire.GroupHeader
	err = decodeHeader(first.Header, &h)
	if err != nil || h.Kind != hello {
		return status.Errorf(codes.InvalidArgument, "expected a message that says hello: %v", err)
	}
	f, err := e.find(ctx, &h, textOf(first.Header).Text)
	if err != nil {
		return err
	}
	f.links <- &inlet{peer: f.tasks[h.Rank], rank: int(h.Rank), stream: s}
	return f.serve(ctx)
}

// find returns the group for a peer's hello.
func (e *Endpoint) find(ctx context.Context, h *wire.GroupHeader, name string) (*forming, error) {
	e.mu.Lock()
	f := e.groups[name]
	e.mu.Unlock()
	if f == nil {
		return nil, status.Errorf(codes.Aborted, "no group %q is being formed here", name)
	}
	select {
	case <-f.known: // the store answered a peer a moment before this task
	case <-f.done:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if err := f.Err(); h.Generation != uint64(f.generation) || err != nil {
		return nil, status.Errorf(codes.Aborted, "generation %d of group %s is over here, which is at %d", h.Generation, name, f.generation)
	}
	if h.Group != f.id || !f.accept(int(h.Rank)) {
		return nil, status.Errorf(codes.Aborted, "generation %d of group %s was formed without this process of rank %d", h.Generation, name, h.Rank)
	}
	return f, nil
}
