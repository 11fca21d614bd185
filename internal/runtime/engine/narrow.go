package engine

import (
	"maps"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// roundingOps round to numbers of 16 bits, which stay float32: programs compute with these so.
var roundingOps = map[*ops.Def]opDef{
	ops.NearestBFloat16:   roundingOp(kernels.NearestBrain),
	ops.TruncatedBFloat16: roundingOp(kernels.CutBrain),
	ops.NearestFloat16:    roundingOp(kernels.NearestHalf),
}

func roundingOp(op kernels.UnaryOp) opDef {
	return opDef{inplace: []int{0}, elemental: &elemental{op: int(op)}, compile: byType(map[tensor.DType]compileFunc{tensor.Float32: kernelUnary[float32](op)}, out0)}
}

// HalfType is a type of 16 bits as the value of the attributes weightsType and OperandsType. Attributes that come with a model have no such
// values.
type HalfType tensor.DType

// weightsType is the attribute of a product or convolution whose weights, input 1, are to be taken as a type of 16 bits: they are of that
// type, or float32 and rounded to it.
const weightsType = "weights_type"

// OperandsType is the attribute of a product whose operands are float32, and numbers of the type of 16 bits that it says.
const OperandsType = "operands_type"

// narrowWeights lets products and convolutions read steady weights of 16 bits, or those that are rounded to 16 bits, as they are: what
// makes them float32 for each run is left out. It returns the ops that are left.
func narrowWeights(p *plan, ops []*op) []*op {
	var dropped, made []*op
	for _, o := range ops {
		if o.feed >= 0 || len(o.in) != 2 || !packs(o) {
			continue
		}
		from, d, ok := narrowed(o.in[1])
		if !ok {
			continue
		}
		if _, ok := steady(from, p.changing); !ok {
			continue
		}
		if t := typeOf(o.in[1]); !t.Shape.Equal(typeOf(from).Shape) {
			from = reshaped(from, t.Shape, o)
			made = append(made, from.op)
		}
		n := *o.node
		n.Attrs = maps.Clone(n.Attrs)
		if n.Attrs == nil {
			n.Attrs = graph.Attrs{}
		}
		n.Attrs[weightsType] = HalfType(d)
		dropped = append(dropped, o.in[1].op)
		o.node, o.in[1] = &n, from
	}
	if len(dropped) == 0 {
		return ops
	}
	return withoutUnused(append(ops, made...), dropped, p.fetched)
}

// reshaped is a value in another shape, for the op o.
func reshaped(from port, s graph.Shape, o *op) port {
	t := graph.Type{DType: typeOf(from).DType, Shape: s}
	n := &graph.Node{Name: o.node.Name + "/weights", Op: ops.Reshape.Name, Device: o.node.Device, Attrs: graph.Attrs{}, Outputs: []graph.Type{t}}
	return port{&op{node: n, index: o.index, feed: -1, in: []port{from}, def: registry()[n.Op]}, 0}
}

// packs reports whether the weights of an op are packed if they are steady.
func packs(o *op) bool {
	if typeOf(o.in[0]).DType != tensor.Float32 || !columnsKnown(typeOf(o.in[1]).Shape) {
		return false
	}
	switch o.node.Op {
	case ops.MatMul.Name:
		return !o.node.Bool("transpose_a")
	case ops.Conv2D.Name:
		x, w := typeOf(o.in[0]).Shape, typeOf(o.in[1]).Shape
		return channelsLast(o.node) && x.Rank() == 4 && w.Rank() == 4 && x.Dims[3] == w.Dims[2] // no groups
	}
	return false
}

// narrowed returns what a float32 of 16 bits' precision is made of, and the type of these bits.
func narrowed(p port) (from port, d tensor.DType, ok bool) {
	p = original(p)
	if p.op.feed >= 0 || len(p.op.in) != 1 {
		return p, d, false
	}
	from = original(p.op.in[0])
	switch p.op.node.Op {
	case ops.NearestBFloat16.Name:
		return from, tensor.BFloat16, true
	case ops.NearestFloat16.Name:
		return from, tensor.Float16, true
	case ops.Cast.Name:
		d = typeOf(from).DType
		_, ok = kernels.HalfOf(d)
		return from, d, ok && typeOf(p).DType == tensor.Float32
	}
	return p, d, false
}

// original follows ops that hand their input on, in whatever shape.
func original(p port) port {
	for p.op.def.alias && p.op.feed < 0 && len(p.op.in) > 0 {
		p = p.op.in[0]
	}
	return p
}

// asWeights is the type of 16 bits that a node takes its weights as, false where it takes them as they are.
func asWeights(n *graph.Node) (tensor.DType, bool) {
	d, ok := n.Attrs[weightsType].(HalfType)
	return tensor.DType(d), ok
}

// weightsAre fails unless the weights have elements of type T, or of the type that they are taken as.
func weightsAre[T tensor.Element](c *binding) error {
	if d, ok := asWeights(c.node); ok && c.in[1].typ.DType == d {
		return nil
	}
	return checkTypes[T](c.in[1])
}

// halfWords are bytes as numbers of 16 bits.
func halfWords(b []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}

// bits returns the weights as numbers of 16 bits.
func (p *packer[T]) bits(h kernels.Half) []uint16 {
	if p.w.elem == 2 {
		return halfWords(p.w.bytes())
	}
	bits := make([]uint16, p.w.n)
	kernels.Narrow(h, bits, view[float32](p.w))
	return bits
}

// values returns the weights, rounded where they are taken as a type of 16 bits.
func (p *packer[T]) values() []T {
	h, ok := kernels.HalfOf(p.as)
	if !ok {
		return view[T](p.w)
	}
	wide := make([]float32, p.w.n)
	kernels.Widen(h, wide, p.bits(h))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(wide))), len(wide)) // T is float32: see packs
}

// unpackNarrow writes weights of 16 bits, which are packed, as they were.
func unpackNarrow[T kernels.Float](h kernels.Half, from *kernels.PackedB[T], raw []byte) {
	bits := halfWords(raw)
	if from.Narrow() {
		from.UnpackHalves(bits)
		return
	}
	wide := make([]T, len(bits))
	from.Unpack(wide)
	kernels.Narrow(h, bits, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(wide))), len(wide)))
}

// packHalves packs the weights in 16 bits. T is float32: see packs.
func (p *packer[T]) packHalves(h kernels.Half, ld, k, n int) *kernels.PackedB[T] {
	m := kernels.HalfMatrix{Half: h, Bits: p.bits(h), LD: ld, Trans: p.trans, Exact: p.exactly}
	return any(kernels.PackHalves(m, k, n)).(*kernels.PackedB[T])
}
