package export

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// onnxOps has the ops with a form in ONNX, by TensorFlow's names. The definitions
// are from version 17 of the operators.
var onnxOps = merged(mathOps, shapeOps, imageOps, indexOps, structureOps)

// OnnxOps returns the names of the ops with a form in ONNX, sorted.
func OnnxOps() []string { return slices.Sorted(maps.Keys(onnxOps)) }

// merged returns the families by name, and the ops that are operators of ONNX themselves.
func merged(families ...map[*ops.Def]func(*site) error) map[string]func(*site) error {
	all := map[string]func(*site) error{}
	for _, d := range ops.Defs() {
		if d.Onnx != "" {
			all[d.Name] = as(d.Onnx)
		}
	}
	for _, f := range families {
		for op, form := range f {
			all[op.Name] = form
		}
	}
	return all
}

// as applies the operator op to the node's inputs.
func as(op string) func(*site) error {
	return func(s *site) error { return s.emit(op, nil, s.ins()...) }
}

// after applies operators one after another to a value.
func after(ops ...string) func(*site) error {
	return func(s *site) error {
		x := s.in(0)
		for _, op := range ops {
			x = s.step(op, nil, x)
		}
		return s.yield(x)
	}
}

var mathOps = map[*ops.Def]func(*site) error{
	ops.BiasAdd: biasAdd,

	ops.Rsqrt: after("Sqrt", "Reciprocal"),

	ops.NotEqual:          func(s *site) error { return s.emit("Not", nil, s.step("Equal", nil, s.ins()...)) },
	ops.Square:            func(s *site) error { return s.emit("Mul", nil, s.in(0), s.in(0)) },
	ops.SquaredDifference: func(s *site) error { d := s.step("Sub", nil, s.ins()...); return s.emit("Mul", nil, d, d) },
	ops.LeakyRelu: func(s *site) error {
		return s.emit("LeakyRelu", map[string]any{"alpha": s.node.Float("alpha", 0.2)}, s.in(0))
	},
	ops.Relu6:         relu6,
	ops.Log1p:         func(s *site) error { return s.shifted("Add", 1, "Log") },
	ops.Expm1:         func(s *site) error { return s.shifted("Sub", 1, "") },
	ops.FloorMod:      floorMod,
	ops.FloorDiv:      floorDiv,
	ops.DivNoNan:      divNoNan,
	ops.Softmax:       lastAxis("Softmax"),
	ops.LogSoftmax:    lastAxis("LogSoftmax"),
	ops.MatMul:        matMul,
	ops.BatchMatMulV2: batchMatMul,
	ops.BatchMatMul:   batchMatMul,
	ops.Sum:           reduceSum,
	ops.Mean:          reduce("ReduceMean"),
	ops.Max:           reduce("ReduceMax"),
	ops.Min:           reduce("ReduceMin"),
	ops.Prod:          reduce("ReduceProd"),
	ops.ArgMax:        argument("ArgMax"),
	ops.ArgMin:        argument("ArgMin"),
	ops.Cast:          func(s *site) error { return s.yield(s.cast(s.in(0), s.node.Outputs[0].DType)) },
}

func lastAxis(op string) func(*site) error {
	return func(s *site) error { return s.emit(op, map[string]any{"axis": -1}, s.in(0)) }
}

func biasAdd(s *site) error {
	if s.node.Str("data_format") == "NCHW" {
		return fmt.Errorf("data_format NCHW is not translated")
	}
	return s.emit("Add", nil, s.ins()...)
}

func relu6(s *site) error {
	zero, err := s.scalar("zero", s.node.Outputs[0].DType, 0)
	if err != nil {
		return err
	}
	six, err := s.scalar("six", s.node.Outputs[0].DType, 6)
	if err != nil {
		return err
	}
	return s.emit("Clip", nil, s.in(0), zero, six)
}

// shifted is log(x+1), or exp(x)-1.
func (s *site) shifted(op string, by float64, then string) error {
	c, err := s.scalar("one", s.node.Outputs[0].DType, by)
	if err != nil {
		return err
	}
	if then != "" {
		return s.emit(then, nil, s.step(op, nil, s.in(0), c))
	}
	return s.emit(op, nil, s.step("Exp", nil, s.in(0)), c)
}

func floorMod(s *site) error {
	if s.node.Outputs[0].DType.Float() {
		return fmt.Errorf("only integers are translated")
	}
	return s.emit("Mod", nil, s.ins()...)
}

// floorDiv of integers is (x - x mod y) / y, of floats floor(x / y).
func floorDiv(s *site) error {
	if s.node.Outputs[0].DType.Float() {
		return s.emit("Floor", nil, s.step("Div", nil, s.ins()...))
	}
	return s.emit("Div", nil, s.step("Sub", nil, s.in(0), s.step("Mod", nil, s.ins()...)), s.in(1))
}

// divNoNan is 0 if the divisor is 0.
func divNoNan(s *site) error {
	zero, err := s.scalar("zero", s.node.Outputs[0].DType, 0)
	if err != nil {
		return err
	}
	return s.emit("Where", nil, s.step("Equal", nil, s.in(1), zero), zero, s.step("Div", nil, s.ins()...))
}

func matMul(s *site) error {
	a, b := s.in(0), s.in(1)
	if s.node.Bool("transpose_a") {
		a = s.swapped(a, 1, 0)
	}
	if s.node.Bool("transpose_b") {
		b = s.swapped(b, 1, 0)
	}
	return s.emit("MatMul", nil, a, b)
}

func batchMatMul(s *site) error {
	in := s.ins()
	for i, adjoint := range []string{"adj_x", "adj_y"} {
		if !s.node.Bool(adjoint) {
			continue
		}
		r, err := s.rank(i)
		if err != nil {
			return err
		}
		perm := make([]int, r)
		for j := range perm {
			perm[j] = j
		}
		perm[r-1], perm[r-2] = r-2, r-1
		in[i] = s.swapped(in[i], perm...)
	}
	return s.emit("MatMul", nil, in...)
}

// reduce makes an op that takes its axes as an attribute; without axes the value does not change.
func reduce(op string) func(*site) error {
	return func(s *site) error {
		axes, err := s.ints(1)
		if err != nil {
			return err
		}
		if len(axes) == 0 {
			return s.yield(s.in(0))
		}
		return s.emit(op, map[string]any{"axes": axes, "keepdims": truth(s.node.Bool("keep_dims"))}, s.in(0))
	}
}

func reduceSum(s *site) error {
	axes, err := s.ints(1)
	if err != nil {
		return err
	}
	if len(axes) == 0 {
		return s.yield(s.in(0))
	}
	return s.emit("ReduceSum", map[string]any{"keepdims": truth(s.node.Bool("keep_dims"))}, s.in(0), s.int64s("axes", axes...))
}

func argument(op string) func(*site) error {
	return func(s *site) error {
		axis, err := s.axis(1, 0)
		if err != nil {
			return err
		}
		x := s.step(op, map[string]any{"axis": axis, "keepdims": 0}, s.in(0))
		if d := s.node.Outputs[0].DType; d != tensor.Int64 {
			x = s.cast(x, d)
		}
		return s.yield(x)
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
