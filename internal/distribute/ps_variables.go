package distribute

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/tensor"
)

// remoteVariables are declared here and live on parameter servers. Until the strategy is
// synchronized, they only have functions that make their values.
type remoteVariables struct {
	declared map[string]*declaration
	order    []string   // names in the order of declaration
	client   *ps.Client // nil until the strategy is synchronized
	plan     *ps.Plan
}

type declaration struct {
	typ   graph.Type
	value Fill
}

var _ Variables = (*remoteVariables)(nil)

// Create declares a variable.
func (v *remoteVariables) Create(name string, t graph.Type, initial Fill) error {
	if v.declared[name] != nil {
		return fmt.Errorf("variable %s already exists", name)
	}
	if v.declared == nil {
		v.declared = map[string]*declaration{}
	}
	v.declared[name] = &declaration{t, initial}
	v.order = append(v.order, name)
	return nil
}

// Names returns all names, sorted.
func (v *remoteVariables) Names() []string { return slices.Sorted(maps.Keys(v.declared)) }

// Type returns a variable's type.
func (v *remoteVariables) Type(name string) (graph.Type, bool) {
	d := v.declared[name]
	if d == nil {
		return graph.Type{}, false
	}
	return d.typ, true
}

// Set replaces the variable's initial value.
func (v *remoteVariables) Set(name string, value Fill) error {
	d := v.declared[name]
	switch {
	case d == nil:
		return fmt.Errorf("no variable %s among %d", name, len(v.declared))
	case v.client != nil:
		return fmt.Errorf("set variable %s: it is on parameter servers already: set it before training starts", name)
	}
	d.value = value
	return nil
}

// Get makes or fetches a whole value. For the optimizer's state it returns only initial
// values; checkpoints have later ones.
func (v *remoteVariables) Get(name string) (*tensor.Tensor, error) {
	d := v.declared[name]
	if d == nil {
		return nil, fmt.Errorf("no variable %s among %d", name, len(v.declared))
	}
	if v.client == nil {
		return d.value.tensor(d.typ)
	}
	ctx := context.Background()
	if name == GlobalStep {
		p, err := v.client.Pull(ctx, &ps.Mirror{})
		if err != nil {
			return nil, recoverable(ctx, err)
		}
		return tensor.Scalar(p.GlobalStep), nil
	}
	m, err := ps.NewMirror(v.plan, name)
	if err != nil {
		return nil, err
	}
	if _, err := v.client.Pull(ctx, m); err != nil {
		return nil, recoverable(ctx, err)
	}
	return m.Tensor(name), nil
}

// fill returns the function that makes a value, nil if it is unknown here.
func (v *remoteVariables) fill(name string) ps.Fill {
	if d := v.declared[name]; d != nil {
		return ps.Fill(d.value)
	}
	return nil
}
