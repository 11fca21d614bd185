package session

import (
	"fmt"
	"maps"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// variables are the model's variables. Only the eager part has variables that some signature updates; other variables are in the engine
// if programs read them, and in the eager part if its nodes do.
type variables struct {
	env     *eager.Env
	engine  *engine.Variables
	updated map[string]bool

	mu       sync.Mutex
	compiled map[string]bool // variables that the engine has
	eager    map[string]bool // variables that eager nodes read
}

func newVariables(dev device.Device, env *eager.Env) (*variables, error) {
	e, err := engine.NewVariables(dev)
	if err != nil {
		return nil, err
	}
	return &variables{env: env, engine: e, updated: map[string]bool{}, compiled: map[string]bool{}, eager: map[string]bool{}}, nil
}

// key returns the name that eager nodes use for the variable of a VarHandleOp.
func key(n *graph.Node) string {
	name := n.Str("shared_name")
	if name == "" {
		name = n.Name
	}
	return eager.ResourceKey(n.Str("container"), name)
}

// of returns the variable that a resource comes from.
func (v *variables) of(o graph.Output) (string, bool) {
	o = origin(o, func(graph.Output) bool { return false })
	if o.Node.Op != "VarHandleOp" {
		return "", false
	}
	return key(o.Node), true
}

// readBy returns the variable that a node reads: its first input.
func (v *variables) readBy(n *graph.Node) (string, bool) {
	if len(n.Inputs) == 0 {
		return "", false
	}
	return v.of(n.Inputs[0])
}

// writes reports whether a node updates variables or tables.
func writes(n *graph.Node) bool {
	if d := ops.Find(n.Op); d != nil {
		return d.State == ops.Writes || iteratorOps[d]
	}
	return len(n.Outputs) == 0
}

// note finds the variables that the serving nodes, and the functions that they call, update.
func (v *variables) note(nodes []*graph.Node, calls map[string]*updates) {
	mark := func(o graph.Output) {
		if from := made(o); from.Node.Op == "VarHandleOp" {
			v.updated[key(from.Node)] = true
		}
	}
	for _, n := range nodes {
		if writes(n) {
			for _, in := range n.Inputs {
				mark(in)
			}
		}
		for _, name := range eager.Called(n) {
			if u := calls[name]; u != nil {
				maps.Copy(v.updated, u.names)
				u.resources(n, mark)
			}
		}
	}
}

// value returns a variable's current value, or nil if it has none.
func (v *variables) value(name string) *tensor.Tensor {
	t, err := v.env.Resources.Variable(name).Load()
	if err != nil {
		return nil
	}
	return t
}

// typ returns a variable's type, or false if it has no value.
func (v *variables) typ(name string) (graph.Type, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.compiled[name] {
		return v.engine.Type(name)
	}
	if t := v.value(name); t != nil {
		return graph.Type{DType: t.DType, Shape: graph.ShapeOf(t.Shape...)}, true
	}
	return graph.Type{}, false
}

// compile copies a variable to the engine.
func (v *variables) compile(name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.compiled[name] {
		return nil
	}
	t := v.value(name)
	if t == nil {
		return fmt.Errorf("variable %q: %w", name, eager.ErrUninitialized)
	}
	if err := v.engine.Create(name, t); err != nil {
		return err
	}
	v.compiled[name] = true
	return nil
}

// read notes that eager nodes read a variable.
func (v *variables) read(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.eager[name] = true
}

// close frees the engine's variables.
func (v *variables) close() error { return v.engine.Close() }

// release frees the copies of variables that only programs read.
func (v *variables) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name := range v.compiled {
		if !v.eager[name] && !v.updated[name] {
			v.env.Resources.Bind(name, compiledVariable{v.engine, name})
		}
	}
}

// compiledVariable makes a variable of the engine available to eager nodes.
type compiledVariable struct {
	vars *engine.Variables
	name string
}

// Load implements eager.Variable.
func (c compiledVariable) Load() (*tensor.Tensor, error) { return c.vars.Get(c.name) }

// Update implements eager.Variable.
func (c compiledVariable) Update(func(*tensor.Tensor) (*tensor.Tensor, error)) error {
	return fmt.Errorf("variable %q is not one that a signature updates", c.name)
}
