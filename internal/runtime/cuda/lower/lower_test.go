package lower

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

func TestEveryOpHasOneLowering(t *testing.T) {
	seen := map[*ops.Def]int{}
	for i, f := range families() {
		for op := range f {
			if was, ok := seen[op]; ok {
				t.Errorf("op %s is in tables %d and %d", op.Name, was, i)
			}
			seen[op] = i
			if op != ops.ElementwiseRegion && !engine.Supported(op.Name) && op.Name[0] != '_' {
				t.Errorf("op %s is none of the engine's", op.Name)
			}
		}
	}
}

func of1(d tensor.DType, sizes ...int) *engine.Operand {
	return &engine.Operand{Type: graph.Type{DType: d, Shape: graph.BatchOf(sizes...)}}
}

func constant(v ...int32) *engine.Operand {
	c, err := tensor.FromSlice(v, len(v))
	if err != nil {
		panic(err)
	}
	return &engine.Operand{Type: graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(len(v))}, Constant: c}
}

// TestRefused checks that operations that kernels would do wrong are not supported.
func TestRefused(t *testing.T) {
	x, y := of1(tensor.Float32, 4), of1(tensor.Float64, 4)
	slot := &engine.Operand{Type: graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(4)}, Variable: true}
	scalar := &engine.Operand{Type: graph.Type{DType: tensor.Float32}}
	ins := func(o ...*engine.Operand) []*engine.Operand { return o }
	for name, o := range map[string]struct {
		op      string
		attrs   graph.Attrs
		in, out []*engine.Operand
	}{
		"no inputs":                {"AddV2", nil, nil, nil},
		"type of an element":       {"Exp", nil, ins(of1(tensor.Int32)), ins(of1(tensor.Int32))},
		"string":                   {"Identity", nil, ins(of1(tensor.String)), ins(of1(tensor.String))},
		"region without operands":  {"_Elementwise", nil, ins(x), ins(x)},
		"axes that are computed":   {"Sum", nil, ins(x, of1(tensor.Int32)), ins(x)},
		"axis beyond":              {"Sum", nil, ins(x, constant(5)), ins(x)},
		"mean of integers":         {"Mean", nil, ins(of1(tensor.Int32), constant(0)), ins(of1(tensor.Int32))},
		"all of floats":            {"All", nil, ins(x, constant(0)), ins(x)},
		"sum of bool":              {"Sum", nil, ins(of1(tensor.Bool), constant(0)), ins(of1(tensor.Bool))},
		"result of another type":   {"Sum", nil, ins(x, constant(0)), ins(y)},
		"softmax of float64":       {"Softmax", nil, ins(y), ins(y)},
		"softmax of a scalar":      {"Softmax", nil, ins(scalar), ins(scalar)},
		"labels":                   {"SparseSoftmaxCrossEntropyWithLogits", nil, ins(x, x), ins(of1(tensor.Float32), x)},
		"channels first":           {"FusedBatchNormV3", graph.Attrs{"data_format": []byte("NCHW")}, ins(x, slot, slot, slot, slot), ins(x, slot, slot, slot, slot, slot)},
		"norm of float64":          {"FusedBatchNormV3", nil, ins(y, slot, slot, slot, slot), ins(y, slot, slot, slot, slot, slot)},
		"an update of no variable": {"ResourceApplyGradientDescent", nil, ins(x, scalar, x), nil},
		"a rate that is no scalar": {"ResourceApplyGradientDescent", nil, ins(slot, slot, slot), nil},
		"a gradient too large":     {"ResourceApplyGradientDescent", nil, ins(slot, scalar, x), nil},
		"update_slots":             {"ResourceApplyAdagrad", graph.Attrs{"update_slots": false}, ins(slot, slot, scalar, slot), nil},
		"assignment of a type":     {"AssignVariableOp", nil, ins(slot, y), nil},
		"random float64":           {"StatelessRandomUniformV2", nil, ins(x, x, x, x), ins(y)},
		"random key":               {"StatelessRandomUniformV2", nil, ins(x, x, x, x), ins(x)},
		"range of bool":            {"Range", nil, ins(of1(tensor.Bool), of1(tensor.Bool), of1(tensor.Bool)), ins(of1(tensor.Bool))},
		"fill of another type":     {"Fill", nil, ins(x, scalar), ins(y)},
		"arg of bfloat16":          {"ArgMax", nil, ins(of1(tensor.BFloat16, 4), constant(1)), ins(of1(tensor.Int64))},
	} {
		err := Supports(&engine.Operation{Node: &graph.Node{Op: o.op, Attrs: o.attrs}, In: o.in, Out: o.out})
		if err == nil {
			t.Errorf("%s: expected an error", name)
		}
	}
}
