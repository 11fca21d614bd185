package session

import (
	"runtime"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// Of makes a Session of a graph without state: everything its nodes depend on is fed. It keeps the graph, which must not change.
func Of(g *graph.Graph, o Options) (*Session, error) {
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = runtime.GOMAXPROCS(0)
	}
	if o.Limit <= 0 {
		o.Limit = eager.DefaultLimit
	}
	s := &Session{options: o, state: newLock(), graph: g, dev: o.Device, shapes: map[graph.Output]graph.Shape{}, plans: map[string]*plan{}}
	if s.dev == nil {
		s.dev = device.NewHost()
	}
	s.env = &eager.Env{Limit: o.Limit, Resources: eager.NewResources()}
	var err error
	s.vars, err = newVariables(s.dev, s.env)
	return s, err
}
