package feature

import (
	"fmt"
	"slices"
)

// Kind is the form in which a model receives a column.
type Kind int

// The kinds of an Input.
const (
	Numbers     Kind = iota // float32 [Width] per example
	IDs                     // ragged ids, with optional weights, that select rows of a variable, which are combined per example
	NumberSteps             // ragged float32: the Width numbers of each step, one step after another
	IDSteps                 // ragged ids, one per step, each of which selects a row of Table; -1 selects zeros
)

// String is the kind's name.
func (k Kind) String() string {
	return [...]string{"numbers", "ids", "number steps", "id steps"}[k]
}

// Input says which column of the records a model reads for a feature column, and
// which variables the column has.
//
// Rows of a variable are combined by ids with weights w, all 1 if there are
// none. Sum is the sum of w*row. Mean is the sum divided by the sum of w. Sqrtn is
// the sum divided by the square root of the sum of w*w. Without ids, or with a
// divisor of 0, the result is zeros.
type Input struct {
	Column  string // TensorFlow's name
	Kind    Kind
	Values  string // column of the transformed records
	Weights string // column of the ids' weights, float32, as ragged as Values; "": all are 1
	Width   int    // numbers that an example (or step) adds to a dense layer; 0 for ids of a linear model
	Buckets int    // ids lie in [0, Buckets)

	Combiner Combiner  // of ids; for an embedding in a linear model, of Table
	MaxNorm  float64   // rows of Table with a larger L2 norm are scaled to it on reading; 0: no limit
	Table    *Variable // [Buckets, Width], for an embedding
	Kernel   *Variable // for a linear model: [Buckets or Width, units]
	Pad      float32   // for NumberSteps: the padding after an example's last step
}

// Variable describes a variable of a column.
type Variable struct {
	Name   string // below the scope of the layer; the whole name if Global
	Global bool   // shared by columns of several layers
	Shape  []int
	Stddev float64 // of the truncated normal distribution around 0 that initializes it; 0: zeros
	// Trainable is false for frozen embeddings.
	Trainable bool
	// Checkpoint and Tensor name an initial value to use instead; "": none.
	Checkpoint, Tensor string
}

// The scopes of tf.estimator's canned models.
const (
	LinearScope = "linear/linear_model"
	DenseScope  = "dnn/input_from_feature_columns/input_layer"
)

// In returns the name of the variable in a scope such as LinearScope.
func (v *Variable) In(scope string) string {
	if v.Global || scope == "" {
		return v.Name
	}
	return scope + "/" + v.Name
}

// Dense returns what a dense layer reads, in the order of concatenation.
func (p *Plan) Dense() []Input { return slices.Clone(p.dense) }

// Sequence returns what a sequence layer reads, in the order of concatenation.
func (p *Plan) Sequence() []Input { return slices.Clone(p.series) }

// Linear returns what a linear model with that many outputs reads. Its bias,
// [units], is named bias_weights.
func (p *Plan) Linear(units int) ([]Input, error) {
	if err := positive("the number of outputs of a linear model", units); err != nil {
		return nil, err
	}
	out := slices.Clone(p.linear)
	for i := range out {
		k := *out[i].Kernel
		k.Shape = []int{k.Shape[0], units}
		out[i].Kernel = &k
	}
	return out, nil
}

// Width returns the length of the concatenated dense inputs.
func Width(in []Input) int {
	n := 0
	for _, i := range in {
		n += i.Width
	}
	return n
}

// String is like "job_embedding: ids of job/ids, [1000 8] mean".
func (in Input) String() string {
	s := fmt.Sprintf("%s: %s of %s", in.Column, in.Kind, in.Values)
	if in.Weights != "" {
		s += " weighted by " + in.Weights
	}
	for _, v := range []*Variable{in.Table, in.Kernel} {
		if v != nil {
			s += fmt.Sprintf(", %s %v", v.Name, v.Shape)
		}
	}
	return s
}
