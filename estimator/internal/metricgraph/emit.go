package metricgraph

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// ErrNone is wrapped by Emit's error for an accumulator that has no form as a graph.
var ErrNone = errors.New("the metric has no form as a graph: metrics.NewFormula makes metrics that have one")

// Emitted is a metric as nodes of a graph, in the manner of tf.compat.v1.metrics.
type Emitted struct {
	// Value is the metric over all batches that Update has added, float32 as in
	// TensorFlow. Update adds a batch; its value is the metric including that batch.
	Value, Update graph.Output
	// Variable holds the sums, float64. Their initial value is First.
	Variable string
	First    *tensor.Tensor
}

// Emit adds nodes of TensorFlow's ops that compute what acc computes from the same
// operands, ignoring what acc has seen. scope, which ends in a slash, is the prefix of
// the names of nodes and variable. The nodes do not check labels and predictions as
// acc.Update does. The error wraps ErrNone if acc is not of package metrics.
func Emit(b *graph.Builder, scope string, acc metrics.Accumulator, args ...graph.Output) (Emitted, error) {
	form, ok := metrics.FormOf(acc)
	if !ok {
		return Emitted{}, fmt.Errorf("%T: %w", acc, ErrNone)
	}
	e := &emission{b: b, scope: scope, args: args, form: form}
	out, err := e.emit(kindOf(form))
	if err != nil {
		return out, fmt.Errorf("%s: %w", form.Name, err)
	}
	return out, nil
}

// emit adds the nodes of a metric of that kind.
func (e *emission) emit(k kind) (Emitted, error) {
	if err := e.check(len(e.args)); err != nil {
		return Emitted{}, err
	}
	b, n := e.b, k.sums(e.form)
	out := Emitted{Variable: b.Graph.UniqueName(e.scope + "sums"), First: tensor.New(tensor.Float64, n)}
	for i := range n {
		tensor.Values[float64](out.First)[i] = k.first
	}
	t := e.floats(n)
	v := b.Variable(out.Variable, t)
	batch := k.batch(e)
	if err := b.Err(); err != nil {
		return out, err
	}
	var fold *graph.Node
	if k.first == 0 {
		fold = b.Node("AssignAddVariableOp", e.scope+"add", nil, graph.Attrs{"dtype": tensor.Float64}, v, batch)
	} else {
		fold = b.Node("AssignVariableOp", e.scope+"assign", nil, graph.Attrs{"dtype": tensor.Float64}, v, e.joined(k.first > 0, b.Read(v, t), batch))
	}
	out.Value = e.result("value", k.value(e, b.Read(v, t)))
	out.Update = e.result("update_op", k.value(e, b.Read(v, t, fold)))
	return out, b.Err()
}

// emission adds the nodes of one metric. TensorFlow infers unknown shapes.
type emission struct {
	b     *graph.Builder
	scope string
	args  []graph.Output
	form  metrics.Form
}

// check checks for one to three numeric operands of known rank.
func (e *emission) check(n int) error {
	if n < 1 || n > 3 {
		return fmt.Errorf("%d operands: expected values, or labels and predictions, and optionally weights", n)
	}
	for i, a := range e.args {
		if !a.Valid() || a.Shape().UnknownRank || a.DType() == tensor.String {
			return fmt.Errorf("operand %d: expected numbers of known rank", i)
		}
	}
	return nil
}

func (e *emission) floats(sizes ...int) graph.Type {
	return graph.Type{DType: tensor.Float64, Shape: graph.ShapeOf(sizes...)}
}

// op adds an op whose operands all have the first one's type, and whose result has type d.
func (e *emission) op(op string, d tensor.DType, attrs graph.Attrs, in ...graph.Output) graph.Output {
	all := graph.Attrs{}
	if in[0].Valid() {
		all["T"] = in[0].DType()
	}
	for k, v := range attrs {
		all[k] = v
	}
	return e.b.Op(op, e.scope+op, graph.Type{DType: d, Shape: graph.Shape{UnknownRank: true}}, all, in...)
}

// of adds an op on float64.
func (e *emission) of(op string, in ...graph.Output) graph.Output {
	return e.op(op, tensor.Float64, nil, in...)
}

func (e *emission) scalar(v float64) graph.Output {
	return e.b.Scalar(e.scope+"Const", tensor.Float64, v)
}

func (e *emission) ints(v ...int) graph.Output {
	t := tensor.New(tensor.Int32, len(v))
	for i, x := range v {
		tensor.Values[int32](t)[i] = int32(x)
	}
	return e.b.Const(e.scope+"Const", t)
}

func (e *emission) cast(x graph.Output, d tensor.DType) graph.Output {
	if !x.Valid() || x.DType() == d {
		return x
	}
	return e.b.Op("Cast", e.scope+"Cast", graph.Type{DType: d, Shape: x.Shape()}, graph.Attrs{"SrcT": x.DType(), "DstT": d, "Truncate": false}, x)
}

func (e *emission) reshape(x graph.Output, sizes ...int) graph.Output {
	return e.op("Reshape", x.DType(), graph.Attrs{"Tshape": tensor.Int32}, x, e.ints(sizes...))
}

// flat gives x as a vector of type d.
func (e *emission) flat(x graph.Output, d tensor.DType) graph.Output {
	return e.reshape(e.cast(x, d), -1)
}

// slice gives n elements of a vector.
func (e *emission) slice(x graph.Output, from, n int) graph.Output {
	return e.op("Slice", x.DType(), graph.Attrs{"Index": tensor.Int32}, x, e.ints(from), e.ints(n))
}

// at gives one element of a vector, as a scalar.
func (e *emission) at(x graph.Output, i int) graph.Output {
	return e.b.Op("Reshape", e.scope+"Reshape", graph.Type{DType: x.DType()}, graph.Attrs{"T": x.DType(), "Tshape": tensor.Int32}, e.slice(x, i, 1), e.ints())
}

// gather gives elements of a vector.
func (e *emission) gather(x graph.Output, at []int) graph.Output {
	return e.b.Op("GatherV2", e.scope+"GatherV2", e.floats(len(at)), graph.Attrs{"Tparams": tensor.Float64, "Tindices": tensor.Int32, "Taxis": tensor.Int32, "batch_dims": int64(0)},
		x, e.ints(at...), e.b.Scalar(e.scope+"axis", tensor.Int32, 0))
}

// over reduces a tensor, or its axes, by Sum, Max, Min, Any.
func (e *emission) over(op string, x graph.Output, axes ...int) graph.Output {
	attrs := graph.Attrs{"Tidx": tensor.Int32, "keep_dims": false}
	if op == "Any" {
		return e.b.Op(op, e.scope+op, graph.Type{DType: tensor.Bool}, attrs, x, e.ints(axes...))
	}
	return e.op(op, x.DType(), attrs, x, e.ints(axes...))
}

// sum adds up a vector.
func (e *emission) sum(x graph.Output) graph.Output { return e.over("Sum", x, 0) }

func (e *emission) compare(op string, x, y graph.Output) graph.Output {
	var attrs graph.Attrs
	if op == "Equal" || op == "NotEqual" {
		attrs = graph.Attrs{"incompatible_shape_error": true}
	}
	return e.op(op, tensor.Bool, attrs, x, y)
}

func (e *emission) choose(when, then, otherwise graph.Output) graph.Output {
	return e.b.Op("SelectV2", e.scope+"SelectV2", graph.Type{DType: then.DType(), Shape: graph.Shape{UnknownRank: true}}, graph.Attrs{"T": then.DType()}, when, then, otherwise)
}

// pack makes a vector of scalars.
func (e *emission) pack(in ...graph.Output) graph.Output {
	return e.op("Pack", tensor.Float64, graph.Attrs{"N": int64(len(in)), "axis": int64(0)}, in...)
}

// joined returns the lesser or the greater of x and y; NaN wins.
func (e *emission) joined(lesser bool, x, y graph.Output) graph.Output {
	op := "Maximum"
	if lesser {
		op = "Minimum"
	}
	nan := e.b.Op("LogicalOr", e.scope+"LogicalOr", graph.Type{DType: tensor.Bool, Shape: graph.Shape{UnknownRank: true}}, nil,
		e.op("IsNan", tensor.Bool, nil, x), e.op("IsNan", tensor.Bool, nil, y))
	return e.choose(nan, e.nan(), e.of(op, x, y))
}

// result returns the output that a signature has.
func (e *emission) result(name string, x graph.Output) graph.Output {
	if !x.Valid() {
		return x
	}
	return e.b.Op("Identity", e.scope+name, graph.Type{DType: tensor.Float32, Shape: x.Shape()}, graph.Attrs{"T": tensor.Float32}, e.cast(x, tensor.Float32))
}
