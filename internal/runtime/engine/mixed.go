package engine

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// What BF16Mixed does with an op, after TensorFlow's auto_mixed_precision: products work on bfloat16; followers do where
// an operand is bfloat16 and their results lead to products; reducers read bfloat16 where the accelerator can, and sum
// up and give float32; all else works in float32.
type manner uint8

const (
	inFull manner = iota
	multiplies
	follows
	sumsUp
)

var manners = map[string]manner{
	"MatMul": multiplies, "BatchMatMul": multiplies, "BatchMatMulV2": multiplies, "Conv2D": multiplies, "Conv2DBackpropInput": multiplies, "Conv2DBackpropFilter": multiplies,
	"DepthwiseConv2dNative": multiplies, "DepthwiseConv2dNativeBackpropInput": multiplies, "DepthwiseConv2dNativeBackpropFilter": multiplies,

	"BiasAdd": follows, "Add": follows, "AddV2": follows, "AddN": follows, "Sub": follows, "Mul": follows, "Neg": follows,
	"Relu": follows, "Relu6": follows, "LeakyRelu": follows, "Elu": follows, "Selu": follows, "Tanh": follows, "Sigmoid": follows, "Erf": follows,
	"ReluGrad": follows, "Relu6Grad": follows, "LeakyReluGrad": follows, "EluGrad": follows, "SeluGrad": follows, "TanhGrad": follows, "SigmoidGrad": follows,
	"Maximum": follows, "Minimum": follows, "SelectV2": follows, "ZerosLike": follows,
	"MaxPool": follows, "MaxPoolGrad": follows, "AvgPool": follows, "AvgPoolGrad": follows, "FusedBatchNormV3": follows, "FusedBatchNormGradV3": follows,
	"Transpose": follows, "Pad": follows, "ConcatV2": follows, "Slice": follows, "StridedSlice": follows,

	"Mean": sumsUp, "Sum": sumsUp, "BiasAddGrad": sumsUp, "SparseSoftmaxCrossEntropyWithLogits": sumsUp,
}

// narrowed are the operands and results of ops of which only some may be bfloat16; of others all of float32 may.
var narrowed = map[string]struct{ in, out []int }{
	"FusedBatchNormV3":     {[]int{0}, []int{0}},
	"FusedBatchNormGradV3": {[]int{0, 1}, []int{0}},
}

// mixer rewrites ops for BF16Mixed.
type mixer struct {
	dev   Accelerator
	ops   []*op
	users map[*op][]*op
	leads map[*op]bool // results reach a product through followers
	casts map[port]port
}

// mix lets products and what follows them work on bfloat16, with Cast ops between, one for each value. Variables, fetches
// and feeds keep their types.
func (t *acceleratorTarget) mix(p *plan, ops []*op) []*op {
	sorted, err := sortOps(ops, nil)
	if err != nil {
		return ops // order reports the error
	}
	m := &mixer{dev: t.dev, users: map[*op][]*op{}, leads: map[*op]bool{}, casts: map[port]port{}}
	for _, o := range sorted {
		for _, in := range o.in {
			m.users[in.op] = append(m.users[in.op], o)
		}
	}
	for i := len(sorted) - 1; i >= 0; i-- {
		m.leads[sorted[i]] = slices.ContainsFunc(m.users[sorted[i]], m.wants)
	}
	for _, o := range sorted {
		m.visit(o)
		m.ops = append(m.ops, o)
	}
	for i, f := range p.fetched {
		p.fetched[i] = m.as(f, tensor.Float32)
	}
	return m.ops
}

// wants reports whether an op would rather have its operands in bfloat16.
func (m *mixer) wants(o *op) bool {
	switch {
	case o.feed >= 0 || o.phantom:
		return false
	case o.def.alias:
		return m.leads[o]
	}
	switch manners[o.node.Op] {
	case multiplies:
		return true
	case follows:
		return m.leads[o]
	case sumsUp: // of images
		return o.node.Op == "Mean" && typeOf(o.in[0]).Shape.Rank() > 2
	}
	return false
}

func (m *mixer) visit(o *op) {
	if o.feed >= 0 || o.phantom || len(o.in) == 0 {
		return
	}
	narrow := slices.ContainsFunc(o.in, func(p port) bool { return typeOf(p).DType == tensor.BFloat16 })
	how := manners[o.node.Op]
	switch {
	case o.def.alias:
		if narrow {
			o.retype(map[int]bool{0: true})
		}
		return
	case how == multiplies:
		in, out := m.operands(o)
		if m.leads[o] && m.try(o, in, out) || m.try(o, in, nil) || m.try(o, in, out) {
			return
		}
	case how == follows && narrow && m.leads[o]:
		if in, out := m.operands(o); m.try(o, in, out) {
			return
		}
	case how == sumsUp && narrow:
		if in, _ := m.operands(o); m.try(o, in, nil) {
			return
		}
	}
	m.widen(o)
}

// operands returns which inputs and outputs may be bfloat16.
func (m *mixer) operands(o *op) (in, out map[int]bool) {
	in, out = map[int]bool{}, map[int]bool{}
	some, limited := narrowed[o.node.Op]
	for i, p := range o.in {
		if d := typeOf(p).DType; (d == tensor.Float32 || d == tensor.BFloat16) && !p.op.phantom {
			in[i] = !limited || slices.Contains(some.in, i)
		}
	}
	for i, t := range o.node.Outputs {
		out[i] = t.DType == tensor.Float32 && (!limited || slices.Contains(some.out, i))
	}
	return in, out
}

// try gives an op the operands and results in bfloat16 that are named, others of that type in float32, if the accelerator
// has such a kernel.
func (m *mixer) try(o *op, in, out map[int]bool) bool {
	trial := &op{node: o.node}
	trial.retype(out)
	operation := typedOperation(trial.node, o.in)
	for i, narrow := range in {
		x := operation.In[i]
		if x.Type.DType = tensor.Float32; narrow {
			x.Type.DType, x.Constant = tensor.BFloat16, nil
		}
	}
	if m.dev.Supports(operation) != nil {
		return false
	}
	o.node = trial.node
	for i, narrow := range in {
		d := tensor.Float32
		if narrow {
			d = tensor.BFloat16
		}
		o.in[i] = m.as(o.in[i], d)
	}
	return true
}

// widen makes all operands float32.
func (m *mixer) widen(o *op) {
	for i, p := range o.in {
		o.in[i] = m.as(p, tensor.Float32)
	}
}

// retype makes the results that are named bfloat16.
func (o *op) retype(out map[int]bool) {
	n := *o.node
	n.Outputs = slices.Clone(n.Outputs)
	for i := range n.Outputs {
		if out[i] && n.Outputs[i].DType == tensor.Float32 {
			n.Outputs[i].DType = tensor.BFloat16
		}
	}
	o.node = &n
}

// as returns a value as float32 or bfloat16, by a Cast if it is the other of the two.
func (m *mixer) as(p port, d tensor.DType) port {
	t := typeOf(p)
	if t.DType == d || t.DType != tensor.Float32 && t.DType != tensor.BFloat16 {
		return p
	}
	if c, ok := m.casts[p]; ok {
		return c
	}
	n := &graph.Node{Name: p.op.node.Name + "/" + d.String(), Op: "Cast", Device: p.op.node.Device, Attrs: graph.Attrs{}, Outputs: []graph.Type{{DType: d, Shape: t.Shape}}}
	maps.Copy(n.Attrs, graph.Attrs{"SrcT": t.DType, "DstT": d})
	c := &op{node: n, index: p.op.index, feed: -1, in: []port{p}, def: registry()["Cast"]}
	m.ops = append(m.ops, c)
	to := port{c, 0}
	m.casts[p], m.casts[to] = to, p // and back: what was rounded is not read again where the original is
	return to
}
