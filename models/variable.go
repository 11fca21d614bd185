package models

import (
	"cmp"
	"fmt"

	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// Initializer fills a variable's initial value. Equal keys give equal values;
// the key is derived from the model's seed and the variable's name.
type Initializer interface {
	Init(t *tensor.Tensor, key uint64) error
}

// Regularizer returns a scalar penalty on a variable, nil for none.
type Regularizer func(c Context, variable *G.Node) *G.Node

// Variable is a named state of the model.
type Variable struct {
	Name      string // full name, scopes included: "dense/kernel"
	DType     tensor.DType
	Shape     []int
	Init      Initializer
	Trainable bool
	Frozen    bool    // it keeps its value in training: see Builder.Frozen
	Node      *G.Node // its value in the graph that made it
}

// VarOption adjusts a variable when it is made.
type VarOption func(*varOptions)

type varOptions struct {
	init        Initializer
	untrained   bool
	dtype       tensor.DType
	regularizer Regularizer
}

// WithInit sets the initializer. The default is that of tf.get_variable: Glorot uniform,
// or zeros for types that are not floating point.
func WithInit(i Initializer) VarOption { return func(o *varOptions) { o.init = i } }

// NonTrainable excludes the variable from training by optimizers.
func NonTrainable() VarOption { return func(o *varOptions) { o.untrained = true } }

// WithDType sets an element type other than the model's float type.
func WithDType(d tensor.DType) VarOption { return func(o *varOptions) { o.dtype = d } }

// WithRegularizer adds the variable's penalty to the regularization losses.
func WithRegularizer(r Regularizer) VarOption { return func(o *varOptions) { o.regularizer = r } }

// Variable makes a variable in the current scope and returns its value. Making
// the same name twice is an error.
func (b *Builder) Variable(name string, shape []int, opts ...VarOption) *G.Node {
	if b.Failed() {
		return nil
	}
	o := varOptions{dtype: b.opts.DType}
	for _, f := range opts {
		f(&o)
	}
	full := b.join(name)
	if b.byName[full] != nil {
		b.Failf("variable %s already exists: make it once, or in another scope", full)
		return nil
	}
	if err := cmp.Or(checkName(name, full), checkShape(shape)); err != nil {
		b.Failf("variable %s: %w", full, err)
		return nil
	}
	dt, err := GorgoniaType(o.dtype)
	if err != nil {
		b.Failf("variable %s: %w", full, err)
		return nil
	}
	if o.init == nil {
		o.init = defaultInit(o.dtype)
	}
	v := &Variable{Name: full, DType: o.dtype, Shape: append([]int(nil), shape...), Init: o.init,
		Frozen: b.frozen > 0 || b.opts.Frozen != nil && b.opts.Frozen(full), Node: b.leaf(full, dt, shape)}
	v.Trainable = !o.untrained && !v.Frozen && o.dtype.Float()
	b.variables = append(b.variables, v)
	b.byName[full], b.byNode[v.Node] = v, v
	if o.regularizer != nil {
		if l := o.regularizer(b, v.Node); l != nil {
			b.AddLoss(l)
		}
	}
	return v.Node
}

// maxElements bounds the elements of one tensor: a larger number is a mistake.
const maxElements = 1 << 40

// checkShape checks the shape of a variable or input.
func checkShape(shape []int) error {
	size := 1
	for i, n := range shape {
		if n <= 0 {
			return fmt.Errorf("dimension %d of shape %v: expected > 0", i, shape)
		}
		if size > maxElements/n {
			return fmt.Errorf("shape %v: expected at most 2^40 elements", shape)
		}
		size *= n
	}
	return nil
}

// defaultInit is tf.get_variable's choice.
func defaultInit(d tensor.DType) Initializer {
	if d.Float() {
		return initializers.GlorotUniform()
	}
	return initializers.Zeros()
}

// Variables returns all variables in the order in which they were made.
func (b *Builder) Variables() []*Variable { return b.variables }

// TrainableVariables returns the variables that optimizers update, in the order in
// which they were made.
func (b *Builder) TrainableVariables() []*Variable {
	var out []*Variable
	for _, v := range b.variables {
		if v.Trainable {
			out = append(out, v)
		}
	}
	return out
}

// VariableOf returns the variable whose value is the node n, nil for none.
func (b *Builder) VariableOf(n *G.Node) *Variable { return b.byNode[n] }

// GorgoniaType returns Gorgonia's type for d.
func GorgoniaType(d tensor.DType) (gtensor.Dtype, error) {
	switch d {
	case tensor.Float32:
		return gtensor.Float32, nil
	case tensor.Float64:
		return gtensor.Float64, nil
	case tensor.Int32:
		return gtensor.Int32, nil
	case tensor.Int64:
		return gtensor.Int64, nil
	case tensor.Uint8:
		return gtensor.Uint8, nil
	case tensor.Bool:
		return gtensor.Bool, nil
	case tensor.String:
		return gtensor.String, nil
	}
	return gtensor.Dtype{}, fmt.Errorf("type %v has no form in Gorgonia: expected float32, float64, int32, int64, uint8, bool or string", d)
}

// GraphType returns the element type for Gorgonia's dt, Invalid if there is none.
func GraphType(dt gtensor.Dtype) tensor.DType {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Bool, tensor.String} {
		if t, _ := GorgoniaType(d); t == dt {
			return d
		}
	}
	return tensor.Invalid
}
