package cudnn

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// problem is a convolution without addresses, the key of plans.
type problem struct {
	direction  lower.Direction
	window     host.Window
	bfloat16   bool
	tf32       bool // float32 factors may be rounded
	bias, relu bool
}

func problemOf(c lower.Convolution) problem {
	return problem{c.Direction, c.Window(), c.Type == tensor.BFloat16, c.Precision == lower.TF32, c.Bias != 0, c.Relu}
}

// String describes the problem in messages.
func (p problem) String() string {
	g, typ := p.window, "float32"
	if p.bfloat16 {
		typ = "bfloat16"
	}
	what := map[lower.Direction]string{lower.Forward: "convolution", lower.InputGradient: "input gradient", lower.FilterGradient: "filter gradient"}[p.direction]
	return fmt.Sprintf("%s of %s: %d images %dx%dx%d, filter %dx%d, stride %dx%d, into %dx%dx%d", what, typ, g.Batch, g.InH, g.InW, g.InC, g.KH, g.KW, g.StrideH, g.StrideW, g.OutH, g.OutW, g.OutC)
}

func (p problem) dataType() int {
	if p.bfloat16 {
		return dataBFloat16
	}
	return dataFloat
}

// axis is a window along one dimension of the images.
type axis struct{ in, out, k, stride, dilation, pre, post int }

// axes returns height and width. The padding after the end follows from the sizes.
func (p problem) axes() (h, w axis) {
	g := p.window
	h = axis{g.InH, g.OutH, g.KH, g.StrideH, g.DilH, g.PadTop, 0}
	w = axis{g.InW, g.OutW, g.KW, g.StrideW, g.DilW, g.PadLeft, 0}
	h.post, w.post = h.behind(), w.behind()
	return h, w
}

func (a axis) behind() int {
	return max(0, (a.out-1)*a.stride+(a.k-1)*a.dilation+1-a.in-a.pre)
}

// equal returns the axis with equal padding at both ends: the filter gets taps of zeros at the side with less. before is the
// number of zero taps in front. ok is false if no whole number of taps makes it equal.
func (a axis) equal() (b axis, before int, ok bool) {
	more := a.post - a.pre
	taps := more / a.dilation
	if more%a.dilation != 0 || max(taps, -taps) > a.k {
		return a, 0, false
	}
	b, before = a, max(0, taps)
	b.k += max(taps, -taps)
	b.pre = max(a.pre, a.post)
	b.post = b.pre
	return b, before, true
}

// layout has cuDNN's axes, and the position of our filter in cuDNN's.
type layout struct {
	h, w      axis
	top, left int
}

// layouts returns the ways to describe a problem to cuDNN: unchanged, and with equal padding on both sides.
func (p problem) layouts() []layout {
	h, w := p.axes()
	all := []layout{{h: h, w: w}}
	if h.pre == h.post && w.pre == w.post {
		return all
	}
	eh, top, okH := h.equal()
	ew, left, okW := w.equal()
	if okH && okW {
		all = append(all, layout{eh, ew, top, left})
	}
	return all
}

// Unique ids of tensors.
const (
	idX = 1 + iota
	idW
	idY
	idBias
	idSums
	idBiased
)

// builder makes descriptors until one fails.
type builder struct {
	*native
	made []descriptor
	err  error
}

func (b *builder) add(kind int, attributes ...attribute) descriptor {
	if b.err != nil {
		return 0
	}
	d, err := b.create(kind, attributes...)
	if err != nil {
		b.err = err
		return 0
	}
	b.made = append(b.made, d)
	return d
}

// destroyAll destroys all descriptors, the last one first.
func (b *builder) destroyAll() {
	for i := len(b.made) - 1; i >= 0; i-- {
		b.destroy(b.made[i])
	}
	b.made = nil
}

// operand describes n images of h x w with c channels, channels last. cuDNN lists their dimensions as n, c, h, w.
type operand struct {
	id, n, c, h, w int
	dataType       int
	virtual        bool // between operations, not in memory
}

func (b *builder) tensor(t operand) descriptor {
	const alignment = 16
	n, c, h, w := int64(t.n), int64(t.c), int64(t.h), int64(t.w)
	return b.add(kindTensor, enum(tensorDataType, typeDataType, t.dataType), int64s(tensorDims, n, c, h, w), int64s(tensorStrides, h*w*c, 1, w*c, c),
		int64s(tensorID, int64(t.id)), int64s(tensorAlignment, alignment), boolean(tensorVirtual, t.virtual))
}

// graph describes a problem.
func (b *builder) graph(p problem, l layout) descriptor {
	return b.add(kindGraph, pointers(graphHandle, typeHandle, b.handle), descriptors(graphOps, b.operations(p, l)...))
}

// operations returns the convolution and the operations after it.
func (b *builder) operations(p problem, l layout) []descriptor {
	g, typ := p.window, p.dataType()
	x := b.tensor(operand{idX, g.Batch, g.InC, g.InH, g.InW, typ, false})
	w := b.tensor(operand{idW, g.OutC, g.InC, l.h.k, l.w.k, typ, false})
	result := operand{idY, g.Batch, g.OutC, g.OutH, g.OutW, typ, false}
	conv := b.add(kindConvolution, int64s(convolutionDims, 2), enum(convolutionCompute, typeDataType, dataFloat), enum(convolutionMode, typeConvolutionMode, crossCorrelation),
		int64s(convolutionPre, int64(l.h.pre), int64(l.w.pre)), int64s(convolutionPost, int64(l.h.post), int64(l.w.post)),
		int64s(convolutionDilations, int64(l.h.dilation), int64(l.w.dilation)), int64s(convolutionStrides, int64(l.h.stride), int64(l.w.stride)))
	switch p.direction {
	case lower.InputGradient:
		y := b.tensor(result)
		return []descriptor{b.add(kindInputGradient, descriptors(inputConv, conv), descriptors(inputW, w), descriptors(inputDX, x), descriptors(inputDY, y), float(inputAlpha, 1), float(inputBeta, 0))}
	case lower.FilterGradient:
		y := b.tensor(result)
		return []descriptor{b.add(kindFilterGradient, descriptors(filterConv, conv), descriptors(filterDW, w), descriptors(filterX, x), descriptors(filterDY, y), float(filterAlpha, 1), float(filterBeta, 0))}
	}
	return b.forward(p, conv, x, w, result)
}

// forward returns a convolution with its bias and relu.
func (b *builder) forward(p problem, conv, x, w descriptor, result operand) (ops []descriptor) {
	last := func(behind bool, id int) descriptor {
		t := result
		if behind {
			t.id, t.virtual, t.dataType = id, true, dataFloat
		}
		return b.tensor(t)
	}
	y := last(p.bias || p.relu, idSums)
	ops = append(ops, b.add(kindForward, descriptors(forwardConv, conv), descriptors(forwardX, x), descriptors(forwardW, w), descriptors(forwardY, y), float(forwardAlpha, 1), float(forwardBeta, 0)))
	if p.bias {
		bias := b.tensor(operand{idBias, 1, result.c, 1, 1, p.dataType(), false})
		sum := last(p.relu, idBiased)
		add := b.add(kindPointwise, enum(pointwiseMode, typePointwiseMode, pointwiseAdd), enum(pointwisePrecision, typeDataType, dataFloat))
		ops = append(ops, b.add(kindPointwiseOp, descriptors(pointwiseDescriptor, add), descriptors(pointwiseX, y), descriptors(pointwiseB, bias), descriptors(pointwiseY, sum)))
		y = sum
	}
	if p.relu {
		relu := b.add(kindPointwise, enum(pointwiseMode, typePointwiseMode, pointwiseRelu), enum(pointwisePrecision, typeDataType, dataFloat))
		ops = append(ops, b.add(kindPointwiseOp, descriptors(pointwiseDescriptor, relu), descriptors(pointwiseX, y), descriptors(pointwiseY, last(false, 0))))
	}
	return ops
}
