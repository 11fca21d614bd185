package session

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// form adds a node to a program, using ops that the engine has.
type form func(x *emission) ([]graph.Output, error)

// forms are for ops that the engine has under another name or as several ops.
var forms = map[*ops.Def]form{
	ops.FusedBatchNorm: batchNorm, ops.FusedBatchNormV2: batchNorm, ops.BatchMatMul: named(ops.BatchMatMulV2), ops.BatchMatMulV3: oneType,
	ops.IdentityN: passOn, ops.Snapshot: passOn, ops.GuaranteeConst: passOn, ops.EnsureShape: passOn, ops.Gather: gather, ops.ResourceGather: resourceGather, ops.Concat: concat,
	ops.SplitV: splitV, ops.Select: selectForm, ops.Rint: named(ops.Round), ops.Einsum: einsum, ops.FusedBatchNormV3: layerNorm, ops.SpaceToBatchND: spaceToBatch, ops.BatchToSpaceND: batchToSpace,
	ops.IntegerMatMul: integers, ops.IntegerConv2D: integers,
	ops.Conv2D: channelsLast, ops.DepthwiseConv2dNative: channelsLast, ops.MaxPool: channelsLast, ops.AvgPool: channelsLast, ops.BiasAdd: biasAdd,
	ops.Conv3D: channelsLast, ops.MaxPool3D: channelsLast, ops.AvgPool3D: channelsLast, ops.Conv2DBackpropInput: channelsLastAt(2), ops.Conv3DBackpropInputV2: channelsLastAt(2),
}

// named is the form of an op that the engine has under another name.
func named(op *ops.Def) form {
	return func(x *emission) ([]graph.Output, error) {
		return outputs(x.add(op.Name, x.types, x.attrs, x.in...)), x.b.Err()
	}
}

// oneType is a product of operands of one type; the engine has no others.
func oneType(x *emission) ([]graph.Output, error) {
	if a, b := x.n.Attrs["Ta"], x.n.Attrs["Tb"]; a != b || a != x.n.Attrs["Tout"] {
		return nil, fmt.Errorf("expected one element type, got %v, %v and %v", a, b, x.n.Attrs["Tout"])
	}
	return named(ops.BatchMatMulV2)(x)
}

func passOn(x *emission) ([]graph.Output, error) { return x.in, nil }

// batchNorm: the third version has one more output.
func batchNorm(x *emission) ([]graph.Output, error) {
	if x.n.Bool("is_training") {
		return nil, fmt.Errorf("expected statistics that are given")
	}
	types := append(append([]graph.Type{}, x.types[:min(5, len(x.types))]...), graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(0)})
	if len(types) != 6 {
		return nil, fmt.Errorf("expected 5 outputs, got %d", len(x.types))
	}
	return outputs(x.add("FusedBatchNormV3", types, x.attrs, x.in...)), x.b.Err()
}

func (x *emission) int(v int32) graph.Output {
	return x.b.Const(x.b.Graph.UniqueName(x.n.Name+"/int"), tensor.Scalar(v))
}

func (x *emission) ints(v []int32) graph.Output {
	t, err := tensor.FromSlice(v, len(v))
	if err != nil {
		x.b.Fail(err)
		return graph.Output{}
	}
	return x.b.Const(x.b.Graph.UniqueName(x.n.Name+"/ints"), t)
}

func gather(x *emission) ([]graph.Output, error) {
	return outputs(x.add("GatherV2", x.types, nil, x.in[0], x.in[1], x.int(0))), x.b.Err()
}

func resourceGather(x *emission) ([]graph.Output, error) {
	if x.n.Int("batch_dims", 0) != 0 {
		return nil, fmt.Errorf("batch_dims: expected 0")
	}
	table, err := x.read(x.n)
	if err != nil {
		return nil, err
	}
	if slices.Contains(table.Shape().Dims, graph.Fixed(0)) {
		return nil, fmt.Errorf("a table without elements: its op looks at the indices, GatherV2 does not")
	}
	return outputs(x.add("GatherV2", x.types, nil, table, x.in[1], x.int(0))), x.b.Err()
}

func concat(x *emission) ([]graph.Output, error) {
	in := append(append([]graph.Output{}, x.in[1:]...), x.in[0])
	return outputs(x.add("ConcatV2", x.types, x.attrs, in...)), x.b.Err()
}

// splitV slices out each piece.
func splitV(x *emission) ([]graph.Output, error) {
	axis, ok := x.in[2].Node.Attrs["value"].(*tensor.Tensor)
	if !ok || axis.Len() != 1 || len(x.types) == 0 {
		return nil, fmt.Errorf("expected a constant axis")
	}
	rank := x.types[0].Shape.Rank()
	a := int(axis.Float(0))
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		return nil, fmt.Errorf("axis %d of rank %d", a, rank)
	}
	var out []graph.Output
	at := 0
	for _, t := range x.types {
		begin := make([]int32, rank)
		begin[a] = int32(at)
		n := x.add("Slice", []graph.Type{t}, nil, x.in[0], x.ints(begin), x.ints(make([]int32, rank)))
		if d := t.Shape.Dims[a]; !d.Static() {
			return nil, errNotLinear
		}
		at += t.Shape.Dims[a].Const
		out = append(out, outputs(n)...)
	}
	return out, x.b.Err()
}

// selectForm: a condition with the shape of the choices, or a scalar, means the same as in SelectV2.
func selectForm(x *emission) ([]graph.Output, error) {
	if c := x.in[0].Shape(); c.Rank() != 0 && !c.Equal(x.types[0].Shape) {
		return nil, fmt.Errorf("a condition for rows")
	}
	return outputs(x.add("SelectV2", x.types, x.attrs, x.in...)), x.b.Err()
}

// biasAdd: images may have their channels first.
func biasAdd(x *emission) ([]graph.Output, error) {
	if r := x.in[0].Shape().Rank(); r != 4 && r != 5 {
		return asItIs(x)
	}
	return channelsLast(x)
}
