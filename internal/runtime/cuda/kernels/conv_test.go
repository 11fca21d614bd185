package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// bfloat16s rounds x in place to bfloat16, and also returns the bits.
func bfloat16s(x []float32) []uint16 {
	out := make([]uint16, len(x))
	for i, v := range x {
		u := math.Float32bits(v)
		out[i] = uint16((u + 0x7fff + u>>16&1) >> 16)
		x[i] = math.Float32frombits(uint32(out[i]) << 16)
	}
	return out
}

// put puts numbers into memory of the GPU in one of the types. For bfloat16, it rounds x.
func (r *rig) put(x []float32, bfloat16 bool) driver.Ptr {
	if bfloat16 {
		return up(r, bfloat16s(x))
	}
	return up(r, x)
}

// get reads numbers of one of the types.
func (r *rig) get(p driver.Ptr, n int, bfloat16 bool) []float32 {
	if !bfloat16 {
		return down[float32](r, p, n)
	}
	out := make([]float32, n)
	for i, v := range down[uint16](r, p, n) {
		out[i] = math.Float32frombits(uint32(v) << 16)
	}
	return out
}

// shape is a convolution for tests: SAME or VALID, or with padding that follows from a result of outH x outW.
type shape struct {
	batch, h, w, c, out int
	kh, kw, stride, dil int
	same                bool
}

func (s shape) window() host.Window {
	g := host.Window{Batch: s.batch, InH: s.h, InW: s.w, InC: s.c, OutC: s.out, KH: s.kh, KW: s.kw, StrideH: s.stride, StrideW: s.stride, DilH: s.dil, DilW: s.dil}
	g.OutH, g.PadTop = host.OutSize(s.h, s.kh, s.stride, s.dil, s.same)
	g.OutW, g.PadLeft = host.OutSize(s.w, s.kw, s.stride, s.dil, s.same)
	return g
}

// convWindows are shapes with all kinds of edges: of tiles, of images, of strides.
func convWindows() []host.Window {
	var all []host.Window
	for _, s := range []shape{
		{2, 6, 6, 3, 16, 3, 3, 1, 1, true},   // few channels
		{2, 8, 8, 16, 32, 3, 3, 2, 1, true},  // SAME with one pad
		{1, 9, 7, 5, 70, 3, 2, 2, 1, false},  // two tiles of columns, odd sizes
		{3, 5, 5, 33, 4, 1, 1, 1, 1, true},   // pointwise
		{2, 8, 8, 4, 8, 1, 1, 2, 1, true},    // a shortcut
		{1, 11, 11, 2, 3, 5, 5, 3, 1, true},  //
		{1, 10, 12, 4, 6, 3, 3, 1, 2, false}, // dilated
		{1, 12, 12, 4, 6, 3, 3, 2, 2, true},
		{5, 12, 11, 1, 1, 3, 3, 1, 1, true}, // five parts of the filter's gradient, no whole tile of columns
		{0, 6, 6, 3, 4, 3, 3, 1, 1, true},
		{1, 2, 2, 3, 4, 3, 3, 1, 1, false}, // no result
	} {
		all = append(all, s.window())
	}
	for _, s := range []shape{ // channels that tensor cores take
		{2, 8, 8, 16, 32, 3, 3, 2, 1, true},
		{1, 7, 9, 8, 72, 3, 2, 1, 1, false},
		{2, 9, 7, 40, 8, 1, 1, 1, 1, true},
		{5, 12, 11, 8, 16, 3, 3, 1, 2, true},
	} {
		all = append(all, s.window())
	}
	explicit := shape{2, 7, 7, 3, 5, 3, 3, 2, 1, false}.window()
	explicit.PadTop, explicit.PadLeft, explicit.OutH, explicit.OutW = 3, 0, 6, 4
	unequal := shape{1, 6, 9, 3, 5, 4, 2, 1, 1, true}.window()
	unequal.StrideW, unequal.DilH = 2, 2
	unequal.OutH, unequal.PadTop = host.OutSize(6, 4, 1, 2, true)
	unequal.OutW, unequal.PadLeft = host.OutSize(9, 2, 2, 1, true)
	return append(all, explicit, unequal)
}

// convolution has the operands and expected results of a convolution, as float32 numbers that are exact in the type.
type convolution struct {
	x, w, bias, dy      []float32
	px, pw, pbias, pdy  driver.Ptr
	y, dx, dw           []float32
	conv                kernels.Conv
	tolerance           float64
	outY, outDX, outDW  driver.Ptr
	sizeX, sizeW, sizeY int
}

func newConvolution(r *rig, g host.Window, weights int, bfloat16 bool) *convolution {
	c := &convolution{sizeX: g.Batch * g.InH * g.InW * g.InC, sizeW: weights, sizeY: g.Batch * g.OutH * g.OutW * g.OutC}
	c.x, c.w, c.bias, c.dy = numbers(1, c.sizeX), numbers(2, c.sizeW), numbers(3, g.OutC), numbers(4, c.sizeY)
	c.px, c.pw, c.pbias, c.pdy = r.put(c.x, bfloat16), r.put(c.w, bfloat16), r.put(c.bias, bfloat16), r.put(c.dy, bfloat16)
	c.y, c.dx, c.dw = make([]float32, c.sizeY), make([]float32, c.sizeX), make([]float32, c.sizeW)
	c.outY, c.outDX, c.outDW = r.alloc(4*c.sizeY), r.alloc(4*c.sizeX), r.alloc(4*c.sizeW)
	c.tolerance = 1e-5 * math.Sqrt(float64(max(g.KH*g.KW*max(g.InC, g.OutC), g.Batch*g.OutH*g.OutW)))
	if bfloat16 {
		c.tolerance = 1e-2
	}
	c.conv = kernels.Conv{Window: g, X: c.px, W: c.pw, Y: c.outY, BFloat16: bfloat16}
	return c
}

func TestConvolutions(t *testing.T) {
	r := newRig(t, "conv")
	for _, g := range convWindows() {
		for _, bfloat16 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v/%v", g, bfloat16), func(t *testing.T) {
				r := r.of(t)
				c := newConvolution(r, g, g.KH*g.KW*g.InC*g.OutC, bfloat16)
				host.Conv2D(g, c.y, c.x, c.w, c.bias, true)
				f := c.conv
				f.Bias, f.Relu = c.pbias, true
				r.run(f.Forward()...)
				near(t, "forward, bias, relu", c.y, r.get(c.outY, c.sizeY, bfloat16), c.tolerance)
				host.Conv2D(g, c.y, c.x, c.w, nil, false)
				r.run(c.conv.Forward()...)
				near(t, "forward", c.y, r.get(c.outY, c.sizeY, bfloat16), c.tolerance)

				host.Conv2DInputGrad(g, c.dx, c.dy, c.w)
				in := c.conv
				in.X, in.Y = c.outDX, c.pdy
				r.run(in.InputGrad()...)
				near(t, "input gradient", c.dx, r.get(c.outDX, c.sizeX, bfloat16), c.tolerance)

				host.Conv2DFilterGrad(g, c.dw, c.x, c.dy)
				fg := c.conv
				fg.W, fg.Y, fg.Scratch = c.outDW, c.pdy, r.alloc(c.conv.ScratchBytes())
				r.run(fg.FilterGrad()...)
				near(t, "filter gradient", c.dw, r.get(c.outDW, c.sizeW, bfloat16), c.tolerance)
				fg.FloatW = true
				r.run(fg.FilterGrad()...)
				near(t, "filter gradient in float32", c.dw, r.get(c.outDW, c.sizeW, false), 1e-4)
			})
		}
	}
}

func TestDepthwiseConvolutions(t *testing.T) {
	r := newRig(t, "depthwise", conv())
	for _, g := range convWindows() {
		for _, m := range []int{1, 3} {
			for _, bfloat16 := range []bool{false, true} {
				g.OutC = g.InC * m
				t.Run(fmt.Sprintf("%+v/%v", g, bfloat16), func(t *testing.T) {
					r := r.of(t)
					c := newConvolution(r, g, g.KH*g.KW*g.OutC, bfloat16)
					d := kernels.Depthwise(c.conv)
					host.DepthwiseConv2D(g, c.y, c.x, c.w)
					r.run(d.Forward()...)
					near(t, "forward", c.y, r.get(c.outY, c.sizeY, bfloat16), c.tolerance)
					host.DepthwiseInputGrad(g, c.dx, c.dy, c.w)
					d.X, d.Y = c.outDX, c.pdy
					r.run(d.InputGrad()...)
					near(t, "input gradient", c.dx, r.get(c.outDX, c.sizeX, bfloat16), c.tolerance)
					host.DepthwiseFilterGrad(g, c.dw, c.x, c.dy)
					d.X, d.W, d.Scratch = c.px, c.outDW, r.alloc(d.ScratchBytes())
					r.run(d.FilterGrad()...)
					near(t, "filter gradient", c.dw, r.get(c.outDW, c.sizeW, bfloat16), c.tolerance)
					d.FloatW = true
					r.run(d.FilterGrad()...)
					near(t, "filter gradient in float32", c.dw, r.get(c.outDW, c.sizeW, false), 1e-4)
				})
			}
		}
	}
}

func conv() kernels.Module {
	for _, m := range kernels.Modules() {
		if m.Name == "conv" {
			return m
		}
	}
	panic("no module conv")
}

// of returns the rig for a part of a test.
func (r *rig) of(t *testing.T) *rig {
	part := *r
	part.t = t
	return &part
}

func TestEpilogueOfAConvolution(t *testing.T) {
	r := newRig(t, "conv")
	y, bias := numbers(1, 21), numbers(2, 7)
	for _, bfloat16 := range []bool{false, true} {
		c := kernels.Conv{Window: host.Window{Batch: 1, OutH: 3, OutW: 1, OutC: 7}, Y: r.put(y, bfloat16), Bias: r.put(bias, bfloat16), Relu: true, BFloat16: bfloat16}
		want := make([]float32, len(y))
		for i, v := range y {
			want[i] = max(0, v+bias[i%7])
		}
		r.run(c.Epilogue())
		near(t, "epilogue", want, r.get(c.Y, 21, bfloat16), 1e-2)
	}
}

func TestFiltersPackAndUnpack(t *testing.T) {
	r := newRig(t, "conv")
	for _, bfloat16 := range []bool{false, true} {
		f := kernels.Filter{KH: 2, KW: 3, InC: 7, OutC: 35, TallH: 3, TallW: 5, Top: 1, Left: 2, BFloat16: bfloat16}
		w := numbers(1, 2*3*7*35)
		f.Rows, f.Packed = r.put(w, bfloat16), r.alloc(f.PackedBytes())
		want := make([]float32, 35*3*5*7)
		for i, v := range w {
			o, c, b, a := i%35, i/35%7, i/35/7%3, i/35/7/3
			want[((o*3+a+1)*5+b+2)*7+c] = v
		}
		r.run(f.Pack())
		near(t, "packed", want, r.get(f.Packed, len(want), bfloat16), 0)
		f.Rows = r.alloc(4 * len(w))
		r.run(f.Unpack())
		near(t, "unpacked", w, r.get(f.Rows, len(w), bfloat16), 0)
		f.FloatRows = true
		r.run(f.Unpack())
		near(t, "unpacked to float32", w, r.get(f.Rows, len(w), false), 0)
	}
}

func TestConvolutionsTooLarge(t *testing.T) {
	for _, g := range []host.Window{{Batch: 1, InH: 1 << 16, InW: 1 << 15, InC: 1}, {Batch: 1 << 20, OutH: 1 << 6, OutW: 1 << 5}, {KH: 1 << 16, KW: 1 << 15, OutC: 1}} {
		if err := (kernels.Conv{Window: g}).Check(); err == nil {
			t.Errorf("%+v: expected an error", g)
		}
	}
}
