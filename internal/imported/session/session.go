package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Options say how a model is run.
type Options struct {
	MaxConcurrent int           // the maximum number of programs of one kind at the same time; 0: GOMAXPROCS
	Tags          []string      // the exact tags of the graph that Open loads; none: serve
	Limit         int64         // the maximum bytes of one tensor, and of all that idle programs hold; 0: eager.DefaultLimit
	Memory        int64         // the maximum bytes of all variables together; 0: what the process may use
	Device        device.Device // for compiled parts; nil: the host
	// HardPlacement refuses a model with ops for which only the host has a kernel, not the device; without it, they run on the host.
	HardPlacement bool
	// OnHost, if not nil, gets these ops, as "node (op): reason", and how many others the device does in the same run. It is called
	// once, for the first program with such ops.
	OnHost func(steps []string, others int)
	Check  Check
}

// Session is a loaded model. It implements servable.Model.
type Session struct {
	options  Options
	sigs     map[string]*pb.SignatureDef
	features map[string][]Feature         // the features that signatures parse
	shapes   map[graph.Output]graph.Shape // of feeds, if a signature states more than the graph
	graph    *graph.Graph
	env      *eager.Env
	dev      device.Device
	vars     *variables
	// doubtful has nodes without a kernel for single nodes, though a program may support them, and why. It does not change after Load.
	doubtful map[*graph.Node]error
	passes   bool                // the model passes over datasets
	calls    map[string]*updates // what functions of branches and loops update, by name

	trimMu      sync.Mutex
	trimTimer   *time.Timer                   // calls trim; nil if there is nothing to free
	trimStopped bool                          // the session is closed
	memory      atomic.Pointer[budget.Server] // of the last request; nil if memory is not counted

	reported  sync.Once    // of steps on the host
	constants int64        // bytes of the graph's constants
	idle      atomic.Int64 // bytes that idle programs hold
	waiting   atomic.Int64 // runs that wait for a program
	state     lock         // runs that update variables take all of it

	made   atomic.Int64 // number of plans so far: the clock of last use
	mu     sync.RWMutex
	plans  map[string]*plan
	closed bool
}

// maxPlans bounds how many combinations of feeds and fetches are kept; output filters make new ones.
const maxPlans = 128

// Signatures returns the model's signatures, which must not be changed.
func (s *Session) Signatures() map[string]*pb.SignatureDef { return s.sigs }

// Run computes the fetches from the feeds: see servable.Model. Feeds and fetches are names of tensors in a signature, or
// of tensors that these depend on.
func (s *Session) Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) (out []*tensor.Tensor, err error) {
	defer recovered(&err)
	if err := ctx.Err(); err != nil {
		return nil, statusOf(err)
	}
	for {
		p, err := s.plan(feeds, fetches)
		if err != nil {
			return nil, statusOf(err)
		}
		out, err = p.run(ctx, feeds)
		if err == nil {
			return out, nil
		}
		if err != errEvicted || ctx.Err() != nil {
			return nil, statusOf(err)
		}
	}
}

// plan returns the plan for these feeds and fetches.
func (s *Session) plan(feeds map[string]*tensor.Tensor, fetches []string) (*plan, error) {
	var room [8]string
	names := room[:0]
	for name := range feeds {
		names = append(names, name)
	}
	slices.Sort(names)
	var buf [256]byte
	key := buf[:0]
	for _, part := range [][]string{names, fetches} {
		for _, n := range part {
			key = append(append(key, n...), 0)
		}
		key = append(key, 0)
	}
	s.mu.RLock()
	p, closed := s.plans[string(key)], s.closed
	s.mu.RUnlock()
	switch {
	case closed:
		return nil, errClosed
	case p != nil:
		p.use()
		return p, nil
	}
	p, err := s.newPlan(slices.Clone(names), fetches, nil)
	if err != nil {
		return nil, err
	}
	return s.addPlan(string(key), p)
}

// addPlan adds a plan. If there are too many, it replaces the least recently used one.
func (s *Session) addPlan(key string, p *plan) (*plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if old := s.plans[key]; old != nil {
		return old, nil
	}
	if len(s.plans) >= maxPlans {
		var oldest string
		for k, p := range s.plans {
			if o := s.plans[oldest]; o == nil || p.used.Load() < o.used.Load() {
				oldest = k
			}
		}
		s.plans[oldest].close()
		delete(s.plans, oldest)
	}
	s.made.Add(1)
	p.use()
	s.plans[key] = p
	return p, nil
}

// Close frees the programs and variables. No Run may be in progress or begin later.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stopTrimming()
	for _, p := range slices.Collect(maps.Values(s.plans)) {
		p.close()
	}
	s.plans, s.graph = nil, nil
	s.env.Resources = nil
	err := s.vars.close()
	if s.options.Device == nil {
		err = errors.Join(err, s.dev.Close())
	}
	return err
}
