package kernels

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// winogradError bounds the errors of Winograd's form relative to the largest result.
const winogradError = 4e-6

// drawTiled draws a geometry that Winograd's form can do, whether it would be chosen or not.
func drawTiled(t *rapid.T) Window {
	g := cnnLayer(rapid.IntRange(1, 3).Draw(t, "batch"), 1, rapid.IntRange(1, 40).Draw(t, "in"), rapid.IntRange(1, 40).Draw(t, "out"))
	g.InH, g.InW = rapid.IntRange(3, 14).Draw(t, "h"), rapid.IntRange(3, 14).Draw(t, "w")
	g.PadTop, g.PadLeft = rapid.IntRange(0, 2).Draw(t, "top"), rapid.IntRange(0, 2).Draw(t, "left")
	g.OutH = g.InH - 2 + g.PadTop + rapid.IntRange(0, 2).Draw(t, "bottom")
	g.OutW = g.InW - 2 + g.PadLeft + rapid.IntRange(0, 2).Draw(t, "right")
	return g
}

// winogradCase is a convolution with operands and expected results.
type winogradCase struct {
	Window
	x, w, dy, scale, bias, add []float32
	y, dw                      []float64
}

func newWinogradCase(g Window, seed uint64) *winogradCase {
	r := newRand(seed)
	v := func(n int) []float32 { return vector[float32](r, n) }
	c := &winogradCase{Window: g, x: v(g.inSize()), w: v(g.weights()), dy: v(g.outSize()), bias: v(g.OutC), add: v(g.outSize()), scale: v(g.OutC),
		y: make([]float64, g.outSize()), dw: make([]float64, g.weights())}
	eachPair(g, func(out, in, tap int) {
		for ic := range g.InC {
			x := float64(c.x[in*g.InC+ic])
			for oc := range g.OutC {
				f, o := (tap*g.InC+ic)*g.OutC+oc, out*g.OutC+oc
				c.y[o] += x * float64(c.w[f])
				c.dw[f] += x * float64(c.dy[o])
			}
		}
	})
	return c
}

// forward returns the result in Winograd's form.
func (w *winogradCase) forward(filter Filter[float32], e Epilogue[float32]) []float32 {
	y := make([]float32, w.outSize())
	c := newConv(w.Window, nil, w.x, w.w, y)
	c.kept, c.Epilogue = filter, e
	f, blocks := c.byTiles()
	c.run = pickConv[float32](f)
	Parallel(blocks, 1, c)
	c.recycle()
	return y
}

// filterGrad returns the filter's gradient in Winograd's form.
func (w *winogradCase) filterGrad() []float32 {
	dw := make([]float32, w.weights())
	c := newConv(w.Window, nil, w.x, dw, w.dy)
	c.sum(c.gradByTiles())
	return dw
}

// pointsGrad returns the filter's gradient, computed with most elements of points at a time.
func (w *winogradCase) pointsGrad(most int) []float32 {
	dw := make([]float32, w.weights())
	newConv(w.Window, nil, w.x, dw, w.dy).filterGradByPoints(most)
	return dw
}

// furthest returns the largest error and the largest result.
func furthest(got []float32, want []float64) (off, size float64) {
	for i, v := range want {
		off, size = max(off, math.Abs(float64(got[i])-v)), max(size, math.Abs(v))
	}
	return off, size
}

// requireTiled compares sums of terms products of numbers between -1 and 1. If there are only few, small results, it uses their
// typical size instead of the largest.
func requireTiled(t rapid.TB, what string, terms int, got []float32, want []float64) {
	t.Helper()
	off, size := furthest(got, want)
	if size = max(size, 1, math.Sqrt(float64(terms))/3); !(off <= winogradError*size) {
		t.Fatalf("%s: error %g for results up to %g, want at most %g of them", what, off, size, winogradError)
	}
}

func (w *winogradCase) check(t rapid.TB) {
	requireTiled(t, "forward", 9*w.InC, w.forward(Filter[float32]{}, Epilogue[float32]{}), w.y)
	requireTiled(t, "filter gradient", w.Batch*w.OutH*w.OutW, w.filterGrad(), w.dw)
	row := winogradPoints * w.tileColumns() * (w.InC + w.OutC)
	for _, most := range []int{1, 2 * row, winogradBlock} {
		requireTiled(t, fmt.Sprintf("filter gradient by %d elements of points", most), w.Batch*w.OutH*w.OutW, w.pointsGrad(most), w.dw)
	}
	want := make([]float64, len(w.y))
	for i, v := range w.y {
		want[i] = max(0, v*float64(w.scale[i%w.OutC])+float64(w.bias[i%w.OutC])+float64(w.add[i]))
	}
	e := Epilogue[float32]{Scale: w.scale, Bias: w.bias, Add: w.add, Relu: true}
	requireTiled(t, "packed, with scale, bias, sum and relu", 9*w.InC, w.forward(PackFilter(w.Window, w.w), e), want)
}

func TestWinograd(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			newWinogradCase(drawTiled(t), rapid.Uint64().Draw(t, "seed")).check(t)
		})
		newWinogradCase(cnnLayer(1, 5, 129, 67), 1).check(t) // a filter in strips; the last is not whole
	})
}

// TestWinogradError compares the errors of the two forms on layers of a network, including all additions.
func TestWinogradError(t *testing.T) {
	for _, g := range []Window{cnnLayer(2, 32, 16, 16), cnnLayer(2, 16, 32, 32), cnnLayer(2, 8, 64, 64), cnnLayer(1, 14, 32, 64), cnnLayer(1, 6, 71, 67)} {
		w := newWinogradCase(g, 1)
		direct, dw := make([]float32, g.outSize()), make([]float32, g.weights())
		c := newConv(g, &doConvDirect, w.x, w.w, direct)
		c.rows = c.forwardRows()
		Parallel(c.Batch*ceilDiv(c.OutH, c.rows), 1, c)
		c.recycle()
		newConv(g, nil, w.x, dw, w.dy).sum(&doFilterGradDirect, g.Batch*g.directBlocks())
		for _, p := range []struct {
			what           string
			tiled, present []float32
			want           []float64
		}{{"forward", w.forward(Filter[float32]{}, Epilogue[float32]{}), direct, w.y}, {"filter gradient", w.filterGrad(), dw, w.dw},
			{"filter gradient by points", w.pointsGrad(winogradBlock), dw, w.dw}} {
			off, size := furthest(p.tiled, p.want)
			plain, _ := furthest(p.present, p.want)
			t.Logf("%dx%dx%d to %d, %s: %.2g of the largest result, direct %.2g", g.InH, g.InW, g.InC, g.OutC, p.what, off/size, plain/size)
			if off > winogradError*size {
				t.Errorf("%s: error %g for results up to %g", p.what, off, size)
			}
		}
	}
}

// TestWinogradChoice pins which form some shapes use, by what was measured to be faster.
func TestWinogradChoice(t *testing.T) {
	for _, c := range []struct {
		Window
		packed, fresh bool // the filter's; a fresh filter is transformed once, like its gradient
	}{
		{cnnLayer(128, 32, 16, 16), true, true}, {cnnLayer(128, 8, 64, 64), true, true}, {cnnLayer(64, 14, 32, 64), true, true},
		{cnnLayer(1, 16, 32, 32), true, true}, {cnnLayer(1, 8, 64, 64), true, false}, {cnnLayer(64, 28, 1, 32), false, false},
		{cnnLayer(64, 32, 3, 16), false, false}, {cnnLayer(1, 7, 512, 512), false, false}, {cnnLayer(3, 7, 512, 512), true, false}, {cnnLayer(1, 8, 255, 257), true, false}, {cnnLayer(1, 8, 256, 256), false, false},
		{cnnLayer(0, 32, 16, 16), false, false}, {cnnLayer(16, 5, 32, 32), false, false},
	} {
		w := conv[float32]{Window: c.Window}
		if got := [2]bool{w.winograd(0), w.winograd(1)}; got != [2]bool{c.packed, c.fresh} {
			t.Errorf("%d x %dx%dx%d to %d: packed, fresh filter: got %v", c.Batch, c.InH, c.InW, c.InC, c.OutC, got)
		}
		if double := (&conv[float64]{Window: c.Window}); double.winograd(0) {
			t.Errorf("Winograd's form of float64")
		}
	}
}

// BenchmarkWinograd compares the forms of the layers of ResNet-20 and of a CNN.
func BenchmarkWinograd(b *testing.B) {
	for _, batch := range []int{1, 64} {
		for _, g := range []Window{cnnLayer(batch, 32, 16, 16), cnnLayer(batch, 16, 32, 32), cnnLayer(batch, 8, 64, 64), cnnLayer(batch, 14, 32, 64)} {
			x, y, w := vector[float32](newRand(1), g.inSize()), vector[float32](newRand(2), g.outSize()), vector[float32](newRand(3), g.weights())
			packed := PackFilter(g, w)
			for _, form := range []struct {
				name string
				f    *convFunc
			}{{"direct", &doConvDirect}, {"winograd", &doWinograd}} {
				b.Run(fmt.Sprintf("%dx%dx%d_%d/%s", g.Batch, g.InH, g.InC, g.OutC, form.name), func(b *testing.B) {
					for b.Loop() {
						c := newConv(g, form.f, x, nil, y)
						c.kept, c.filter = packed, packed.operand()
						c.rows = c.forwardRows()
						blocks := c.Batch * ceilDiv(c.OutH, c.rows)
						if form.f == &doWinograd {
							_, blocks = c.byTiles()
						}
						Parallel(blocks, 1, c)
						c.recycle()
					}
				})
			}
		}
	}
}
