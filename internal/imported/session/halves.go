package session

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// Programs compute the two 16-bit float types in float32: inputs are widened, each result is rounded as the kernel of the single node
// rounds it, and outputs are narrowed. Weights stay in 16 bits: the engine reads them that way.

// halfForm adds a node whose operands are float32 already, and rounds its results.
type halfForm func(x *emission, d tensor.DType) ([]graph.Output, error)

// halfForms has the ops whose results are not simply computed in float32 and rounded to nearest once.
var halfForms = map[*ops.Def]halfForm{
	ops.Relu: exactly, ops.Relu6: exactly, ops.MaxPool: exactly, ops.Max: exactly, ops.Min: exactly, ops.Neg: exactly, ops.Abs: exactly,
	ops.MatMul: productOfHalves, ops.BatchMatMul: productOfHalves, ops.BatchMatMulV2: productOfHalves, ops.BatchMatMulV3: productOfHalves,
	ops.Einsum: onceOfBrain, ops.Softmax: onceOfBrain, ops.LogSoftmax: onceOfBrain,
	ops.Sigmoid: sigmoidOfHalves, ops.SquaredDifference: squaredDifferenceOfHalves,
}

// movers are ops that move elements.
var movers = map[*ops.Def]bool{
	ops.Identity: true, ops.StopGradient: true, ops.Snapshot: true, ops.EnsureShape: true, ops.PreventGradient: true, ops.GuaranteeConst: true,
	ops.Reshape: true, ops.Squeeze: true, ops.ExpandDims: true, ops.Transpose: true, ops.Concat: true, ops.ConcatV2: true, ops.Pack: true, ops.Unpack: true,
	ops.Split: true, ops.SplitV: true, ops.Slice: true, ops.StridedSlice: true, ops.Gather: true, ops.GatherV2: true, ops.ResourceGather: true, ops.GatherNd: true,
	ops.Tile: true, ops.Pad: true, ops.PadV2: true, ops.MirrorPad: true, ops.BroadcastTo: true, ops.Select: true, ops.SelectV2: true, ops.ReverseV2: true,
	ops.DepthToSpace: true, ops.SpaceToDepth: true, ops.SpaceToBatchND: true, ops.BatchToSpaceND: true, ops.ZerosLike: true, ops.Fill: true,
}

// halfOf returns the 16-bit type among a node's inputs and outputs, or false if there is none.
func halfOf(n *graph.Node) (tensor.DType, bool) {
	for _, in := range n.Inputs {
		if in.DType().Half() {
			return in.DType(), true
		}
	}
	for _, t := range n.Outputs {
		if t.DType.Half() {
			return t.DType, true
		}
	}
	return tensor.Invalid, false
}

// half adds a node with values of the 16-bit type d.
func (e *emitter) half(i int, d tensor.DType) error {
	n := e.p.nodes[i]
	op := ops.Find(n.Op)
	switch {
	case e.p.s.dev.Kind() != device.KindHost:
		return fmt.Errorf("element type %v is not supported", d)
	case op == ops.Cast:
		return e.cast(i)
	case movers[op] && e.narrow(i):
		return e.plain(i)
	case !movers[op] && halfForms[op] == nil && !eager.RoundsOnce(op, d):
		return fmt.Errorf("element type %v: rounds in steps", d)
	}
	x := &emission{emitter: e, n: n, attrs: maps.Clone(n.Attrs)}
	for name, a := range x.attrs {
		if t, ok := a.(tensor.DType); ok && t.Half() {
			x.attrs[name] = tensor.Float32
		}
	}
	for k := range n.Inputs {
		in, err := e.wideInput(i, k)
		if err != nil {
			return err
		}
		x.in = append(x.in, in)
	}
	for k, t := range n.Outputs {
		typ, err := e.typ(e.p.slots[n.Out(k)], wideType(t.DType))
		if err != nil {
			return err
		}
		x.types = append(x.types, typ)
	}
	form := e.halfForm(i)
	outs, err := form(x, d)
	if err != nil {
		return err
	}
	for k, t := range n.Outputs {
		switch at := e.p.slots[n.Out(k)]; {
		case k >= len(outs):
		case t.DType.Half():
			e.wide[at] = outs[k]
		default:
			e.made[at] = outs[k]
		}
	}
	return e.b.Err()
}

// halfForm chooses the form of node i.
func (e *emitter) halfForm(i int) halfForm {
	n := e.p.nodes[i]
	op := ops.Find(n.Op)
	form := halfForms[op]
	if form == nil {
		form = roundedOnce
		if movers[op] {
			form = exactly
		}
	}
	waiting := monotone[op] && e.unrounded[e.p.sources[i][0]]
	rounds := waiting || halfForms[op] == nil && !movers[op]
	switch next := e.reader(i); {
	case rounds && next != nil && monotone[ops.Find(next.Op)]:
		e.unrounded[e.p.slots[n.Out(0)]] = true
		return unrounded
	case waiting:
		return roundedOnce
	case e.goesOn(op, n, next):
		return unrounded
	}
	return form
}

// monotone has ops after which rounding gives the same as before them. After them there are fewer elements, or the op can be fused with
// the producer of its operand.
var monotone = map[*ops.Def]bool{ops.Relu: true, ops.Relu6: true, ops.MaxPool: true}

// reader returns the only reader of node i's result, as its first input; nil if there are several, or the result leaves the program.
func (e *emitter) reader(i int) (next *graph.Node) {
	at := e.p.slots[e.p.nodes[i].Out(0)]
	if slices.Contains(e.s.fetches, at) {
		return nil
	}
	for _, k := range e.s.nodes {
		for j, from := range e.p.sources[k] {
			if from != at {
				continue
			}
			if next != nil || j > 0 {
				return nil
			}
			next = e.p.nodes[k]
		}
	}
	return next
}

// wideType is the type that programs compute a type in.
func wideType(d tensor.DType) tensor.DType {
	if d.Half() {
		return tensor.Float32
	}
	return d
}

// narrow reports whether all 16-bit inputs of a node exist in 16 bits, which are cheaper to move.
func (e *emitter) narrow(i int) bool {
	for k, in := range e.p.nodes[i].Inputs {
		if at := e.p.sources[i][k]; in.DType().Half() && e.wide[at].Valid() {
			return false
		}
	}
	return true
}

// wideInput is input, with 16-bit values as float32.
func (e *emitter) wideInput(i, k int) (graph.Output, error) {
	at := e.p.sources[i][k]
	if o, ok := e.wide[at]; ok {
		return o, nil
	}
	in, err := e.input(i, k)
	if err != nil || !in.DType().Half() {
		return in, err
	}
	e.wide[at] = e.castTo(in, tensor.Float32)
	return e.wide[at], e.b.Err()
}

// castTo adds a cast of a program's value.
func (e *emitter) castTo(o graph.Output, d tensor.DType) graph.Output {
	t := graph.Type{DType: d, Shape: o.Shape()}
	return e.b.Op(ops.Cast.Name, e.b.Graph.UniqueName(o.Node.Name+"/"+d.String()), t, graph.Attrs{"SrcT": o.DType(), "DstT": d}, o)
}

// fetched returns a slot's value in its own type.
func (e *emitter) fetched(at int) graph.Output {
	if o, ok := e.made[at]; ok {
		return o
	}
	o, ok := e.wide[at]
	if !ok {
		return o
	}
	e.made[at] = e.castTo(o, e.p.dtypes[at])
	return e.made[at]
}

// cast adds a Cast from or to 16 bits.
func (e *emitter) cast(i int) error {
	n := e.p.nodes[i]
	in, err := e.wideInput(i, 0)
	if err != nil {
		return err
	}
	from, to := n.Inputs[0].DType(), n.Outputs[0].DType
	if w := wideType(to); in.DType() != w {
		in = e.castTo(in, w)
	}
	at := e.p.slots[n.Out(0)]
	switch {
	case !to.Half():
		e.made[at] = in
	case from == to:
		e.wide[at] = in
	default:
		x := &emission{emitter: e, n: n}
		e.wide[at] = x.rounded(nearest[to], in)
	}
	return e.b.Err()
}

// nearest has the op that rounds to each 16-bit type.
var nearest = map[tensor.DType]*ops.Def{tensor.BFloat16: ops.NearestBFloat16, tensor.Float16: ops.NearestFloat16}

// rounded adds a rounding of float32.
func (x *emission) rounded(by *ops.Def, o graph.Output) graph.Output {
	n := x.add(by.Name, []graph.Type{o.Type()}, graph.Attrs{"T": tensor.Float32}, o)
	if n == nil {
		return graph.Output{}
	}
	return n.Out(0)
}

// ofFloat32 adds the node as a float32 node.
func (x *emission) ofFloat32() ([]graph.Output, error) {
	if form := forms[ops.Find(x.n.Op)]; form != nil {
		return form(x)
	}
	return asItIs(x)
}

// exactly is for results that need no rounding to 16 bits.
func exactly(x *emission, _ tensor.DType) ([]graph.Output, error) { return x.ofFloat32() }

// roundedOnce rounds the results to nearest.
func roundedOnce(x *emission, d tensor.DType) ([]graph.Output, error) {
	return x.roundedBy(nearest[d])
}

// unrounded leaves the rounding to the next node, and sets a product's operand type.
func unrounded(x *emission, d tensor.DType) ([]graph.Output, error) {
	if x.n.Op == ops.MatMul.Name {
		x.attrs[engine.OperandsType] = engine.HalfType(d)
	}
	return x.ofFloat32()
}

// goesOn reports whether a node's result, a bfloat16 product or a convolution, is only used by a bias or normalization. TensorFlow's
// optimizer fuses the two into one node, which rounds once.
func (e *emitter) goesOn(op *ops.Def, n, next *graph.Node) bool {
	if next == nil || op != ops.Conv2D && (op != ops.MatMul || n.Outputs[0].DType != tensor.BFloat16) {
		return false
	}
	switch ops.Find(next.Op) {
	case ops.BiasAdd:
		return true
	case ops.FusedBatchNorm, ops.FusedBatchNormV2, ops.FusedBatchNormV3:
		return op == ops.Conv2D && !next.Bool("is_training")
	}
	return false
}

func (x *emission) roundedBy(by *ops.Def) ([]graph.Output, error) {
	outs, err := x.ofFloat32()
	if err != nil {
		return nil, err
	}
	for k := range outs {
		if k < len(x.n.Outputs) && x.n.Outputs[k].DType.Half() {
			outs[k] = x.rounded(by, outs[k])
		}
	}
	return outs, x.b.Err()
}

// productOfHalves is a bfloat16 matrix product, which TensorFlow rounds once. It rounds each step of a float16 product.
func productOfHalves(x *emission, d tensor.DType) ([]graph.Output, error) {
	if d != tensor.BFloat16 {
		return nil, fmt.Errorf("element type %v: rounds in steps", d)
	}
	x.attrs[engine.OperandsType] = engine.HalfType(d)
	if eager.CutsProducts() {
		return x.roundedBy(ops.TruncatedBFloat16)
	}
	return x.roundedBy(nearest[d])
}

// onceOfBrain rounds bfloat16 results once, as TensorFlow does with oneDNN. It rounds the steps of float16.
func onceOfBrain(x *emission, d tensor.DType) ([]graph.Output, error) {
	if d != tensor.BFloat16 {
		return nil, fmt.Errorf("element type %v: rounds in steps", d)
	}
	if x.n.Op == ops.Einsum.Name {
		x.operands = d
	}
	return x.roundedBy(nearest[d])
}

// each adds an elementwise op on values of the result's type.
func (x *emission) each(op *ops.Def, in ...graph.Output) graph.Output {
	n := x.add(op.Name, x.types[:1], graph.Attrs{"T": tensor.Float32}, in...)
	if n == nil {
		return graph.Output{}
	}
	return n.Out(0)
}

// scalar returns a number as an operand.
func (x *emission) scalar(v float32) graph.Output {
	return x.b.Const(x.b.Graph.UniqueName(x.n.Name+"/scalar"), tensor.Scalar(v))
}

// largest has the largest finite number of each type.
var largest = map[tensor.DType]float32{tensor.BFloat16: 0x1.fep127, tensor.Float16: 65504}

// sigmoidOfHalves is e/(1+e), each step rounded, where e is limited to the largest finite number. Adding 1 to that does not change it, so
// the result is 1 for an infinite power, as in TensorFlow.
func sigmoidOfHalves(x *emission, d tensor.DType) ([]graph.Output, error) {
	e := x.rounded(nearest[d], x.each(ops.Exp, x.in[0]))
	e = x.each(ops.Minimum, e, x.scalar(largest[d]))
	sum := x.rounded(nearest[d], x.each(ops.AddV2, e, x.scalar(1)))
	return []graph.Output{x.rounded(nearest[d], x.each(ops.RealDiv, e, sum))}, x.b.Err()
}

// squaredDifferenceOfHalves also rounds the difference.
func squaredDifferenceOfHalves(x *emission, d tensor.DType) ([]graph.Output, error) {
	less := x.rounded(nearest[d], x.each(ops.Sub, x.in...))
	return []graph.Output{x.rounded(nearest[d], x.each(ops.Square, less))}, x.b.Err()
}
