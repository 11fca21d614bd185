package models

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// Builder collects what a model_fn makes: Gorgonia nodes, variables, updates, losses,
// predictions and summaries. Its first error sticks: on a Builder that has failed, ops
// and layers do nothing and return nil, so a model_fn need not check each. A Builder is
// used by one goroutine, inside Build.
type Builder struct {
	opts   Options
	graph  *G.ExprGraph
	scopes []string
	frozen int            // active calls of Frozen
	block  int            // the number of the active call of Recompute, 0 for none
	blocks int            // calls of Recompute
	used   map[string]int // names of ops and of unique scopes

	inputs    []Input
	ragged    []*RaggedInput
	variables []*Variable
	byName    map[string]*Variable
	byNode    map[*G.Node]*Variable
	updates   []Update
	losses    []*G.Node
	predicted map[string]*G.Node
	summaries []Summary
	err       error

	recomputed map[string]int // ops of blocks, by name
}

// Core returns b itself.
func (b *Builder) Core() *Builder { return b }

// Mode returns what the graph is built for.
func (b *Builder) Mode() Mode { return b.opts.Mode }

// Training reports whether the mode is Train.
func (b *Builder) Training() bool { return b.opts.Mode == Train }

// Batch returns the number of rows that the graph is being built for. It is a
// stand-in: graphs are built at two sizes and run at any.
func (b *Builder) Batch() int { return b.opts.Batch }

// Seed returns the seed of the whole model.
func (b *Builder) Seed() int64 { return b.opts.Seed }

// DType returns the float type of variables and activations.
func (b *Builder) DType() tensor.DType { return b.opts.DType }

// Expr returns the Gorgonia graph under construction.
func (b *Builder) Expr() *G.ExprGraph { return b.graph }

// Err returns the first error.
func (b *Builder) Err() error { return b.err }

// Fail records the first error.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Failf records a formatted error that begins with the current scope.
func (b *Builder) Failf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if s := b.ScopeName(); s != "" {
		err = fmt.Errorf("%s: %w", s, err)
	}
	b.Fail(err)
}

// Failed reports whether an error was recorded.
func (b *Builder) Failed() bool { return b.err != nil }

// Scope runs fn with name appended to the scope of variables and ops; a name that
// TensorFlow does not accept fails the model.
func (b *Builder) Scope(name string, fn func()) {
	if err := checkName(name, b.join(name)); err != nil {
		b.Failf("scope: %w", err)
	}
	b.scopes = append(b.scopes, name)
	defer func() { b.scopes = b.scopes[:len(b.scopes)-1] }()
	fn()
}

// Frozen runs fn, whose variables keep their values in training: no gradient is
// computed, sent or reduced for them, the optimizer has no slots for them, and Assign
// does not change them.
func (b *Builder) Frozen(fn func()) {
	b.frozen++
	defer func() { b.frozen-- }()
	fn()
}

// UniqueScope is Scope, but appends "_1", "_2", ... to a name that was used before in
// the same scope, as tf.layers does.
func (b *Builder) UniqueScope(name string, fn func()) {
	full := b.unique("scope:" + b.join(name))
	b.Scope(strings.TrimPrefix(full, "scope:"+b.join("")), fn)
}

// ScopeName returns the current scope, its parts separated by "/".
func (b *Builder) ScopeName() string { return strings.Join(b.scopes, "/") }

// UniqueName returns the scoped name of an op. It is unique and valid in
// TensorFlow: "_" replaces other characters.
func (b *Builder) UniqueName(op string) string {
	name := b.unique(nodeName(b.join(op)))
	if b.block > 0 {
		if b.recomputed == nil {
			b.recomputed = map[string]int{}
		}
		b.recomputed[name] = b.block
	}
	return name
}

func (b *Builder) join(name string) string {
	if len(b.scopes) == 0 {
		return name
	}
	return b.ScopeName() + "/" + name
}

func (b *Builder) unique(name string) string {
	n := b.used[name]
	b.used[name] = n + 1
	if n == 0 {
		return name
	}
	return b.unique(fmt.Sprintf("%s_%d", name, n))
}

// Input is a fed leaf of the graph.
type Input struct {
	Name  string // the node's name, unique
	DType tensor.DType
	Node  *G.Node
}

// Input adds a leaf that is fed at run time; shape includes the batch. The name may be
// any text, such as a column's name. In the node's name, "_" replaces characters that
// TensorFlow does not accept, and a number makes it unique.
func (b *Builder) Input(name string, d tensor.DType, shape ...int) *G.Node {
	if b.Failed() {
		return nil
	}
	dt, err := GorgoniaType(d)
	if err == nil {
		err = checkShape(shape)
	}
	if err == nil && name == "" {
		err = errNoName
	}
	if err != nil {
		b.Failf("input %s: %w", name, err)
		return nil
	}
	name = b.unique(nodeName(name))
	n := b.leaf(name, dt, shape)
	b.inputs = append(b.inputs, Input{name, d, n})
	return n
}

func (b *Builder) leaf(name string, dt gtensor.Dtype, shape []int) *G.Node {
	if len(shape) == 0 {
		return G.NewScalar(b.graph, dt, G.WithName(name))
	}
	return G.NewTensor(b.graph, dt, len(shape), G.WithName(name), G.WithShape(shape...))
}

// Inputs returns the fed leaves in the order in which they were made.
func (b *Builder) Inputs() []Input { return b.inputs }

// Update assigns a node's value to a variable after each training step.
type Update struct {
	Variable *Variable
	Value    *G.Node
}

// Assign makes each training step set the variable, a node that Variable returned, to
// value, which must have the same shape. Moving averages of batch normalization use it.
func (b *Builder) Assign(variable, value *G.Node) {
	if b.Failed() {
		return
	}
	v := b.byNode[variable]
	switch {
	case v == nil:
		b.Failf("assign: %v is no variable of this model", variable)
		return
	case value == nil:
		b.Failf("assign to variable %s: the value is nil: expected a node", v.Name)
		return
	case GraphType(value.Dtype()) != v.DType || !value.Shape().Eq(variable.Shape()):
		b.Failf("assign to variable %s: the value is %v %v: expected %v %v", v.Name, value.Dtype(), value.Shape(), v.DType, v.Shape)
		return
	}
	if !v.Frozen {
		b.updates = append(b.updates, Update{v, value})
	}
}

// Updates returns the assignments.
func (b *Builder) Updates() []Update { return b.updates }

// AddPrediction adds a prediction to those of the model's head: a value [batch, ...] that a network computes on the way, such as the code of an
// autoencoder. Package heads adds it to the Spec.
func (b *Builder) AddPrediction(name string, x *G.Node) {
	if b.Failed() {
		return
	}
	if name == "" || x == nil || len(x.Shape()) == 0 || b.predicted[name] != nil {
		b.Failf("prediction %q: expected a node [batch, ...], and a name that no other has", name)
		return
	}
	if b.predicted == nil {
		b.predicted = map[string]*G.Node{}
	}
	b.predicted[name] = x
}

// AddedPredictions returns the predictions that AddPrediction has added.
func (b *Builder) AddedPredictions() map[string]*G.Node { return b.predicted }

// AddLoss adds a scalar to the model's regularization losses.
func (b *Builder) AddLoss(loss *G.Node) {
	if b.Failed() {
		return
	}
	if loss == nil || len(loss.Shape()) > 0 {
		b.Failf("regularization loss %v: expected a scalar node", loss)
		return
	}
	b.losses = append(b.losses, loss)
}

// RegularizationLosses returns the losses added by AddLoss, in order.
func (b *Builder) RegularizationLosses() []*G.Node { return b.losses }
