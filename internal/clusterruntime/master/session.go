package master

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// session is a client's graph with the plans of its steps.
type session struct {
	members
	master  *Master
	handle  string
	tasks   []Task // the tasks that it may use
	created bool   // its workers were asked to open it
	soft    bool
	logs    bool // log the devices of nodes
	devices []*device_attributes_go_proto.DeviceAttributes
	cluster partition.Cluster
	client  string          // the connection that opened it
	account *budget.Account // pays for the graph

	timeout int64 // of steps without one, in milliseconds; 0: none

	mu        sync.Mutex
	def       *graph_go_proto.GraphDef
	graph     *graph.Graph      // of def, lowered
	lowered   map[string]string // see partition.Request
	version   int64
	plans     map[string]*planned // by the request of a step
	requests  int64               // for plans, so far
	running   map[*running]bool   // steps
	active    time.Time           // when the last step ended
	bytes     atomic.Int64        // of def
	divided   atomic.Int64        // number of graphs so far
	callables map[int64]callable
	next      int64 // number of the next callable
	closed    bool
	cleaners  map[Task]*cleaner

	partials   map[string]*partialRun // by handle
	partialRun int64                  // so far
}

// extendFrom adds nodes to a graph with a certain version.
func (s *session) extendFrom(def *graph_go_proto.GraphDef, version int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.isClosed()
	}
	if version != s.version {
		return 0, status.Errorf(codes.Aborted, "Current version is %d but caller expected %d.", s.version, version)
	}
	err := s.extend(def)
	return s.version, err
}

// extend adds nodes to the graph. Plans stay valid: their nodes have not changed. The mutex is held, or no one else has the session.
func (s *session) extend(def *graph_go_proto.GraphDef) error {
	if def == nil {
		def = &graph_go_proto.GraphDef{}
	}
	whole := def
	if s.def != nil {
		whole = &graph_go_proto.GraphDef{Versions: s.def.GetVersions(), Library: s.def.GetLibrary(), Node: append(slices.Clip(s.def.GetNode()), def.GetNode()...)}
		if lib := def.GetLibrary(); lib != nil {
			if whole.Library == nil {
				whole.Library = lib
			} else {
				whole.Library = proto.CloneOf(whole.Library)
				addFunctions(whole, def)
			}
		}
	}
	if err := s.grow(def); err != nil {
		return err
	}
	g, outputs, err := lower(whole)
	if err != nil {
		s.shrink(def)
		return status.Error(codes.InvalidArgument, err.Error())
	}
	s.def, s.graph, s.lowered = whole, g, outputs
	s.version++
	return nil
}

// lower reads a graph and lowers its calls, branches and loops.
func lower(def *graph_go_proto.GraphDef) (*graph.Graph, map[string]string, error) {
	lowered, err := inline.Lower(def)
	if err != nil {
		return nil, nil, err
	}
	g, err := graphdef.FromGraphDef(lowered.Graph)
	return g, lowered.Outputs, err
}

// addFunctions adds the new functions.
func addFunctions(whole, def *graph_go_proto.GraphDef) {
	has := map[string]bool{}
	for _, f := range whole.GetLibrary().GetFunction() {
		has[f.GetSignature().GetName()] = true
	}
	for _, f := range def.GetLibrary().GetFunction() {
		if !has[f.GetSignature().GetName()] {
			whole.Library.Function = append(whole.Library.Function, f)
		}
	}
	whole.Library.Gradient = append(whole.Library.Gradient, def.GetLibrary().GetGradient()...)
}

// plan divides a graph and registers the parts.
func (s *session) plan(ctx context.Context, g *graph.Graph, r partition.Request) (*plan, error) {
	c := s.cluster
	c.Soft = s.soft
	r.Number = s.divided.Add(1)
	parts, err := partition.Divide(g, r, c)
	if err != nil {
		code := codes.InvalidArgument
		switch {
		case errors.Is(err, partition.ErrNotFound):
			code = codes.NotFound
		case errors.Is(err, partition.ErrUnsupported):
			code = codes.Unimplemented
		}
		return nil, status.Error(code, err.Error())
	}
	if s.logs {
		s.master.logPlacement(parts)
	}
	return s.register(ctx, parts)
}
