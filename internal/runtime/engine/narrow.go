package engine

import (
	"maps"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// roundingOps round to 16-bit numbers that stay float32, the type that programs compute with.
var roundingOps = map[*ops.Def]opDef{
	ops.NearestBFloat16:   roundingOp(kernels.NearestBrain),
	ops.TruncatedBFloat16: roundingOp(kernels.CutBrain),
	ops.NearestFloat16:    roundingOp(kernels.NearestHalf),
}

func roundingOp(op kernels.UnaryOp) opDef {
	return opDef{inplace: []int{0}, elemental: &elemental{op: int(op)}, compile: byType(map[tensor.DType]compileFunc{tensor.Float32: kernelUnary[float32](op)}, out0)}
}

// HalfType is a 16-bit type as the value of the attributes weightsType and OperandsType. Attributes of a model never have this Go
// type.
type HalfType tensor.DType

// weightsType is the attribute of a product or convolution whose weights, input 1, are read as a 16-bit type. The weights have
// that type, or are float32 and get rounded to it.
const weightsType = "weights_type"

// OperandsType is the attribute of a product whose float32 operands are already rounded to the 16-bit type that it names.
const OperandsType = "operands_type"

// narrowWeights makes products and convolutions read steady 16-bit weights, or weights rounded to 16 bits, directly, without the
// ops that would convert them for each run. It returns the remaining ops.
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

// narrowed returns the value from which a float32 of 16-bit precision is made, and the 16-bit type.
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

// original skips ops that only give their input another shape.
func original(p port) port {
	for p.op.def.alias && p.op.feed < 0 && len(p.op.in) > 0 {
		p = p.op.in[0]
	}
	return p
}

// asWeights returns the 16-bit type that a node reads its weights as, false if it reads them in their own type.
func asWeights(n *graph.Node) (tensor.DType, bool) {
	d, ok := n.Attrs[weightsType].(HalfType)
	return tensor.DType(d), ok
}

// weightsAre fails unless the weights have element type T, or the 16-bit type that they are read as.
func weightsAre[T tensor.Element](c *binding) error {
	if d, ok := asWeights(c.node); ok && c.in[1].typ.DType == d {
		return nil
	}
	return checkTypes[T](c.in[1])
}

// halfWords returns bytes as 16-bit numbers.
func halfWords(b []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}

// bits returns the weights as 16-bit numbers.
func (p *packer[T]) bits(h kernels.Half) []uint16 {
	if p.w.elem == 2 {
		return halfWords(p.w.bytes())
	}
	bits := make([]uint16, p.w.n)
	kernels.Narrow(h, bits, view[float32](p.w))
	return bits
}

// values returns the weights, rounded if they are read as a 16-bit type.
func (p *packer[T]) values() []T {
	h, ok := kernels.HalfOf(p.as)
	if !ok {
		return view[T](p.w)
	}
	wide := make([]float32, p.w.n)
	kernels.Widen(h, wide, p.bits(h))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(wide))), len(wide)) // T is float32: see packs
}

// unpackNarrow restores packed 16-bit weights.
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
