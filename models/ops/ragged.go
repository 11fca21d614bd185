package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// RaggedToDense returns the first steps of each example: [batch, steps], or [batch,
// steps, width] if r has steps of more than one value. Shorter examples are padded with
// -1 for integers and 0 for other types. r.MaxLength() steps include everything. It has
// no gradient.
func RaggedToDense(c models.Context, r *models.Ragged, steps int) *G.Node {
	const name = "RaggedTensorToTensor"
	if !readyRagged(c, name, r) {
		return nil
	}
	if steps < 1 {
		c.Core().Failf("%s: %d steps: expected at least 1", name, steps)
		return nil
	}
	rows, width := r.Offsets.Shape()[0]-1, r.Width()
	t := models.GraphType(r.Values.Dtype())
	flat := apply(c, spec{op: name, outs: []kind{{r.Values.Dtype(), []int{rows, steps * width}}},
		attrs: graph.Attrs{"T": t, "Tindex": tensor.Int64, "Tshape": tensor.Int64,
			"num_row_partition_tensors": int64(1), "row_partition_types": [][]byte{[]byte("ROW_SPLITS")}},
		emit: func(e *emission) []graph.Output {
			shape, _ := tensor.FromSlice([]int64{-1, int64(steps * width)}, 2)
			return e.all(e.Const(e.Name+"/shape", shape), e.in[0], e.padding(t), e.in[1])
		}}, r.Values, r.Offsets)
	if width == 1 || flat == nil {
		return flat
	}
	return Reshape(c, flat, rows, steps, width)
}

// padding emits the scalar that replaces missing values.
func (e *emission) padding(d tensor.DType) graph.Output {
	v := tensor.New(d)
	switch d {
	case tensor.Int32:
		v = tensor.Scalar(int32(-1))
	case tensor.Int64:
		v = tensor.Scalar(int64(-1))
	}
	return e.Const(e.Name+"/default_value", v)
}

// SequenceLengths returns the number of steps of every example, int64 [batch].
func SequenceLengths(c models.Context, r *models.Ragged) *G.Node {
	const name = "SequenceLengths"
	if !readyRagged(c, name, r) {
		return nil
	}
	rows := r.Offsets.Shape()[0] - 1
	values := apply(c, spec{op: "Sub", outs: []kind{{gtensor.Int64, []int{rows}}}, emit: func(e *emission) []graph.Output {
		ends, starts := lower.Ends(e.Builder, e.Name, e.in[0])
		return []graph.Output{e.Op("Sub", e.Name, ends.Type(), graph.Attrs{"T": tensor.Int64}, ends, starts)}
	}}, r.Offsets)
	if r.Width() == 1 || values == nil {
		return values
	}
	return binary(c, "FloorDiv", values, Scalar(c, tensor.Int64, float64(r.Width())), nil)
}

// rowNumbers returns the number of the example that each value belongs to, int32, and
// -1 for negative ids, including the padding after the last example.
func rowNumbers(c models.Context, ids, offsets *G.Node) *G.Node {
	if !ready(c, "UpperBound", ids, offsets) {
		return nil
	}
	return apply(c, spec{op: "SelectV2", outs: []kind{{gtensor.Int32, ids.Shape()}}, emit: func(e *emission) []graph.Output {
		return []graph.Output{lower.RowNumbers(e.Builder, e.Name, e.in[0], e.in[1])}
	}}, ids, offsets)
}

// readyRagged is ready for a ragged operand and others.
func readyRagged(c models.Context, op string, r *models.Ragged, in ...*G.Node) bool {
	if !ready(c, op, in...) {
		return false
	}
	switch {
	case r == nil:
		c.Core().Failf("%s: the ragged operand is nil: expected a feature", op)
	case r.Values == nil || r.Offsets == nil:
		c.Core().Failf("%s: the operand has no values and offsets: expected a ragged feature", op)
	case r.Values.Dims() != 1 || r.Offsets.Dims() != 1 || r.Offsets.Dtype() != gtensor.Int64:
		c.Core().Failf("%s: values %v%v, offsets %v%v: expected vectors, and int64 offsets", op, r.Values.Dtype(), r.Values.Shape(), r.Offsets.Dtype(), r.Offsets.Shape())
	case r.Weights != nil && (!r.Weights.Shape().Eq(r.Values.Shape()) || !isFloat(r.Weights)):
		c.Core().Failf("%s: weights %v%v: expected floats of shape %v", op, r.Weights.Dtype(), r.Weights.Shape(), r.Values.Shape())
	default:
		return true
	}
	return false
}

func isIDs(c models.Context, op string, ids *G.Node) bool {
	if dt := ids.Dtype(); dt != gtensor.Int32 && dt != gtensor.Int64 {
		c.Core().Failf("%s: ids are %v: expected int32 or int64 (ops.Cast converts)", op, dt)
		return false
	}
	return true
}

func isTable(c models.Context, op string, table *G.Node) bool {
	if len(table.Shape()) == 0 || !isFloat(table) {
		c.Core().Failf("%s: the table is %v%v: expected floats [rows, ...]", op, table.Dtype(), table.Shape())
		return false
	}
	return true
}
