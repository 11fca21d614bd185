package kernels

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// drawWindow draws a geometry; m is the depth multiplier, or 0 for a full convolution.
func drawWindow(t *rapid.T, m int) Window {
	g := Window{
		Batch: rapid.IntRange(0, 3).Draw(t, "batch"),
		InH:   rapid.IntRange(0, 9).Draw(t, "h"), InW: rapid.IntRange(0, 9).Draw(t, "w"),
		InC: rapid.IntRange(0, 10).Draw(t, "c"),
		KH:  rapid.IntRange(1, 4).Draw(t, "kh"), KW: rapid.IntRange(1, 4).Draw(t, "kw"),
		StrideH: rapid.IntRange(1, 3).Draw(t, "sh"), StrideW: rapid.IntRange(1, 3).Draw(t, "sw"),
		DilH: rapid.IntRange(1, 2).Draw(t, "dh"), DilW: rapid.IntRange(1, 2).Draw(t, "dw"),
	}
	if rapid.Bool().Draw(t, "unit stride") {
		g.StrideH, g.StrideW = 1, 1
	}
	g.OutC = g.InC * m
	if m == 0 {
		g.OutC = rapid.IntRange(1, 18).Draw(t, "out c")
		if g.Groups = rapid.IntRange(1, 6).Draw(t, "groups"); g.Groups > 1 {
			g.InC, g.OutC = g.Groups*rapid.IntRange(1, 4).Draw(t, "group in"), g.Groups*rapid.IntRange(1, 9).Draw(t, "group out")
		}
	}
	same := rapid.Bool().Draw(t, "same")
	g.OutH, g.PadTop = OutSize(g.InH, g.KH, g.StrideH, g.DilH, same)
	g.OutW, g.PadLeft = OutSize(g.InW, g.KW, g.StrideW, g.DilW, same)
	if m == 0 && rapid.IntRange(0, 2).Draw(t, "explicit") == 0 {
		g.OutH, g.PadTop = drawPadding(t, g.InH, g.KH, g.StrideH, g.DilH)
		g.OutW, g.PadLeft = drawPadding(t, g.InW, g.KW, g.StrideW, g.DilW)
	}
	g.OutH, g.OutW = max(g.OutH, 0), max(g.OutW, 0)
	return g
}

// drawPadding draws padding of one dimension, which may be wider than the filter.
func drawPadding(t *rapid.T, in, k, stride, dilation int) (out, before int) {
	before = rapid.IntRange(0, 9).Draw(t, "before")
	out, _ = OutSize(in+before+rapid.IntRange(0, 9).Draw(t, "after"), k, stride, dilation, false)
	return out, before
}

// eachPair calls f for every output pixel and input pixel that a tap of the filter pairs.
func eachPair(g Window, f func(out, in, tap int)) {
	for p := range g.pixels() {
		n, oh, ow := g.position(p)
		for kh := range g.KH {
			for kw := range g.KW {
				h, w := oh*g.StrideH-g.PadTop+kh*g.DilH, ow*g.StrideW-g.PadLeft+kw*g.DilW
				if h >= 0 && h < g.InH && w >= 0 && w < g.InW {
					f(p, (n*g.InH+h)*g.InW+w, kh*g.KW+kw)
				}
			}
		}
	}
}

func testConv[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkConv[T](t, drawWindow(t, 0), rapid.Uint64().Draw(t, "seed"))
	})
}

// checkConv compares a convolution and its gradients with sums over eachPair.
func checkConv[T Float](t rapid.TB, g Window, seed uint64) {
	r := newRand(seed)
	x, w, dy, bias := vector[T](r, g.inSize()), vector[T](r, g.weights()), vector[T](r, g.outSize()), vector[T](r, g.OutC)
	y, dx, dw := make([]float64, g.outSize()), make([]float64, g.inSize()), make([]float64, g.weights())
	eachPair(g, func(out, in, tap int) {
		for ic := range g.groupIn() {
			for oc := range g.OutC {
				i, f, o := in*g.InC+oc/g.groupOut()*g.groupIn()+ic, (tap*g.groupIn()+ic)*g.OutC+oc, out*g.OutC+oc
				y[o] += float64(x[i]) * float64(w[f])
				dx[i] += float64(dy[o]) * float64(w[f])
				dw[f] += float64(x[i]) * float64(dy[o])
			}
		}
	})
	tol := tolerance[T](300)
	got := vector[T](r, g.outSize())
	Conv2D(g, got, x, w, nil, false)
	requireClose(t, "forward", got, y, tol, 4)
	for i := range y {
		y[i] = math.Max(0, y[i]+float64(bias[i%g.OutC]))
	}
	Conv2D(g, got, x, w, bias, true)
	requireClose(t, "forward with bias and relu", got, y, tol, 4)
	got = vector[T](r, g.inSize())
	Conv2DInputGrad(g, got, dy, w)
	requireClose(t, "input gradient", got, dx, tol, 4)
	got = vector[T](r, g.weights())
	Conv2DFilterGrad(g, got, x, dy)
	requireClose(t, "filter gradient", got, dw, tol, 4)
}

// TestConvBlocks has images of several blocks, rows of several tiles and more than one strip of channels.
func TestConvBlocks(t *testing.T) {
	g := Window{Batch: 2, InH: 23, InW: 40, InC: 5, OutH: 23, OutW: 40, OutC: 37, KH: 3, KW: 3, StrideH: 1, StrideW: 1,
		DilH: 1, DilW: 1, PadTop: 1, PadLeft: 1}
	strided := g
	strided.OutW, strided.StrideW, strided.PadLeft, strided.DilH, strided.PadTop = 20, 2, 0, 2, 2
	dilated := g
	dilated.DilH, dilated.DilW, dilated.PadTop, dilated.PadLeft = 3, 4, 3, 4
	groups := dilated
	groups.InC, groups.OutC, groups.Groups = 6, 74, 2
	eachLevel(t, func(t *testing.T) {
		checkConv[float32](t, g, 1)
		checkConv[float64](t, strided, 2)
		checkConv[float32](t, dilated, 3)
		checkConv[float32](t, groups, 4)
	})
}

// TestConvLarge has filters that are too large for blocks of pixels: they use one product, or Winograd's form by points.
func TestConvLarge(t *testing.T) {
	at := func(batch, size, in, out, k, stride int) Window {
		g := Window{Batch: batch, InH: size, InW: size + 1, InC: in, OutC: out, KH: k, KW: k, StrideH: stride, StrideW: stride, DilH: 1, DilW: 1}
		g.OutH, g.PadTop = OutSize(g.InH, k, stride, 1, true)
		g.OutW, g.PadLeft = OutSize(g.InW, k, stride, 1, true)
		return g
	}
	cropped, tall := at(2, 6, 512, 512, 1, 2), at(2, 7, 600, 437, 1, 3)
	cropped.OutH, cropped.OutW = 2, 2
	tall.StrideW, tall.OutW = 1, tall.InW
	padded := at(1, 5, 512, 512, 1, 2)
	padded.PadTop, padded.PadLeft, padded.OutH = 1, 1, 3
	for _, g := range []Window{at(2, 3, 256, 256, 1, 1), at(0, 3, 256, 256, 1, 1), at(3, 5, 512, 512, 1, 2), at(0, 5, 512, 512, 1, 2), at(1, 1, 512, 512, 1, 2), cropped, tall, padded, at(9, 7, 5, 6, 3, 2), at(33, 3, 4, 20, 3, 2)} {
		checkConv[float32](t, g, 6)
		checkConv[float64](t, g, 7)
	}
	g := at(2, 12, 129, 131, 3, 1)
	if !newConv[float32](g, nil, nil, nil, nil).winograd(1) || g.InC*g.OutC <= winogradSums {
		t.Fatalf("%+v is not of Winograd's form by points", g)
	}
	w := newWinogradCase(g, 8)
	w.check(t)
	dw := make([]float32, g.weights())
	Conv2DFilterGrad(g, dw, w.x, w.dy)
	requireTiled(t, "filter gradient", g.pixels(), dw, w.dw)
}

// TestConvSamples: a convolution that samples pixels, for more images than are gathered at once, is the plain product with them.
func TestConvSamples(t *testing.T) {
	g := Window{Batch: 3, InH: 127, InW: 128, InC: 512, OutH: 64, OutW: 64, OutC: 512, KH: 1, KW: 1, StrideH: 2, StrideW: 2, DilH: 1, DilW: 1}
	if !g.sampled() || g.gatheredImages() != 2 {
		t.Fatalf("%d images are gathered at once, want 2", g.gatheredImages())
	}
	r := newRand(9)
	x, w, dy, bias := vector[float32](r, g.inSize()), vector[float32](r, g.weights()), vector[float32](r, g.outSize()), vector[float32](r, g.OutC)
	plain := g
	plain.InH, plain.InW, plain.StrideH, plain.StrideW = g.OutH, g.OutW, 1, 1
	pixels := make([]float32, plain.inSize())
	eachPair(g, func(out, in, _ int) { copy(pixels[out*g.InC:][:g.InC], x[in*g.InC:]) })
	results := func(g Window, x []float32) (y, dx, dw []float32) {
		y, dx, dw = vector[float32](r, g.outSize()), vector[float32](r, g.inSize()), vector[float32](r, g.weights())
		Conv2D(g, y, x, w, bias, true)
		Conv2DInputGrad(g, dx, dy, w)
		Conv2DFilterGrad(g, dw, x, dy)
		return y, dx, dw
	}
	y, dx, dw := results(g, x)
	wantY, sampledDx, wantDw := results(plain, pixels)
	wantDx := make([]float32, g.inSize())
	eachPair(g, func(out, in, _ int) { copy(wantDx[in*g.InC:][:g.InC], sampledDx[out*g.InC:]) })
	for _, c := range []struct {
		what      string
		got, want []float32
		terms     int
	}{{"forward", y, wantY, g.InC}, {"input gradient", dx, wantDx, g.OutC}, {"filter gradient", dw, wantDw, g.pixels()}} {
		for i, v := range c.got {
			if math.Abs(float64(v-c.want[i])) > 1e-6*math.Sqrt(float64(c.terms))*4 {
				t.Fatalf("%s: element %d is %v, want %v", c.what, i, v, c.want[i])
			}
		}
	}
}

// TestConvBounds: the copies of convolutions are bounded, even if strides, dilations and padding put the rows of an image far apart,
// or a patch is large.
func TestConvBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: arithmetic of one goroutine")
	}
	far := Window{Batch: 1, InH: 8, InW: 8, InC: 1, OutH: 8, OutW: 8, OutC: 1, KH: 2, KW: 2, StrideH: 1, StrideW: 1, DilH: 1, DilW: 1}
	dilated, high, wide, large := far, far, far, far
	dilated.DilH = 1 << 30
	high.OutH, high.StrideH, high.PadTop = 2, 1<<30, 1<<30
	wide.OutW, wide.StrideW, wide.PadLeft = 7, 1<<28, 1<<30
	large.KH, large.KW = 3000, 1000
	for _, g := range []Window{dilated, high, wide, large} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		checkConv[float32](t, g, 5)
		checkConv3D[float32](t, Volume{Window: g, InD: 1, OutD: 1, KD: 1, StrideD: 1, DilD: 1}, 5)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<29 {
			t.Errorf("%+v: %d bytes were allocated", g, n)
		}
	}
}

func TestConv2D(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testConv[float32])
		t.Run("float64", testConv[float64])
	})
}

func testDepthwise[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 3).Draw(t, "multiplier")
		g := drawWindow(t, m)
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		size := g.KH * g.KW * g.OutC
		x, w, dy := vector[T](r, g.inSize()), vector[T](r, size), vector[T](r, g.outSize())
		y, dx, dw := make([]float64, g.outSize()), make([]float64, g.inSize()), make([]float64, size)
		eachPair(g, func(out, in, tap int) {
			for c := range g.OutC {
				i, f, o := in*g.InC+c/m, tap*g.OutC+c, out*g.OutC+c
				y[o] += float64(x[i]) * float64(w[f])
				dx[i] += float64(dy[o]) * float64(w[f])
				dw[f] += float64(x[i]) * float64(dy[o])
			}
		})
		tol := tolerance[T](300)
		got := vector[T](r, g.outSize())
		DepthwiseConv2D(g, got, x, w)
		requireClose(t, "forward", got, y, tol, 4)
		got = vector[T](r, g.inSize())
		DepthwiseInputGrad(g, got, dy, w)
		requireClose(t, "input gradient", got, dx, tol, 4)
		got = vector[T](r, size)
		DepthwiseFilterGrad(g, got, x, dy)
		requireClose(t, "filter gradient", got, dw, tol, 4)
	})
}

func TestDepthwise(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testDepthwise[float32])
		t.Run("float64", testDepthwise[float64])
	})
}

func testPooling[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawWindow(t, 1)
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		x, dy := vector[T](r, g.inSize()), vector[T](r, g.outSize())
		if rapid.Bool().Draw(t, "ties") {
			for i := range x {
				x[i] = floor(2 * x[i])
			}
		}
		odd := rapid.Bool().Draw(t, "not finite")
		for i := range x {
			if odd && r.IntN(2) == 0 {
				x[i] = []T{T(math.NaN()), T(math.Inf(-1)), lowest[T](), T(math.Inf(1))}[r.IntN(4)%(3+i%2)]
			}
		}
		top, mean := make([]float64, g.outSize()), make([]float64, g.outSize())
		winner, count := make([]int, g.outSize()), make([]float64, g.outSize())
		Fill(top, float64(lowest[T]()))
		eachPair(g, func(out, in, _ int) {
			for c := range g.InC {
				o, at := out*g.InC+c, in*g.InC+c
				v := max(x[at], lowest[T]())
				if count[o] == 0 || v > max(x[winner[o]], lowest[T]()) { // not if that is NaN
					winner[o] = at
				}
				if float64(v) > top[o] {
					top[o] = float64(v)
				}
				mean[o] += float64(x[at])
				count[o]++
			}
		})
		maxGrad, meanGrad := make([]float64, g.inSize()), make([]float64, g.inSize())
		eachPair(g, func(out, in, _ int) {
			for c := range g.InC {
				o := out*g.InC + c
				meanGrad[in*g.InC+c] += float64(dy[o]) / count[o]
			}
		})
		for o := range top {
			if count[o] > 0 {
				maxGrad[winner[o]] += float64(dy[o])
				mean[o] /= count[o]
			}
		}
		y, dx := vector[T](r, g.outSize()), vector[T](r, g.inSize())
		tol := tolerance[T](30)
		if AvgPool(g, y, x); !odd {
			requireClose(t, "mean", y, mean, tol, 1)
		}
		AvgPoolGrad(g, dx, dy)
		requireClose(t, "mean gradient", dx, meanGrad, tol, 1)
		MaxPool(g, y, x)
		requireClose(t, "max", y, top, 0, 0)
		MaxPoolGrad(g, dx, x, y, dy)
		requireClose(t, "max gradient", dx, maxGrad, tol, 1)
	})
}

func TestPooling(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testPooling[float32])
		t.Run("float64", testPooling[float64])
	})
}

func TestOutSize(t *testing.T) {
	for _, c := range []struct {
		in, k, stride, dilation int
		same                    bool
		out, before             int
	}{
		{28, 3, 1, 1, true, 28, 1}, {28, 3, 1, 1, false, 26, 0}, {28, 2, 2, 1, false, 14, 0}, {5, 3, 2, 1, true, 3, 1},
		{6, 3, 2, 1, true, 3, 0}, {32, 3, 2, 1, true, 16, 0}, {7, 3, 1, 2, true, 7, 2}, {2, 3, 1, 1, false, 0, 0}, {1, 3, 1, 1, false, -1, 0},
		{1, 3, 2, 1, false, 0, 0}, {2, 5, 4, 1, false, 0, 0}, {0, 5, 4, 1, false, 0, 0}, {0, 5, 1, 1, false, -4, 0}, {0, 3, 1, 1, true, 0, 1}, {3, 0, 2, 1, false, 2, 0},
	} {
		out, before := OutSize(c.in, c.k, c.stride, c.dilation, c.same)
		if out != c.out || before != c.before {
			t.Errorf("%+v: got %d, %d", c, out, before)
		}
	}
}

// cnnLayer is 3x3 over 28x28 with 32 to 64 channels.
func cnnLayer(batch, size, in, out int) Window {
	return Window{Batch: batch, InH: size, InW: size, InC: in, OutH: size, OutW: size, OutC: out, KH: 3, KW: 3,
		StrideH: 1, StrideW: 1, DilH: 1, DilW: 1, PadTop: 1, PadLeft: 1}
}

func TestConvDeterministic(t *testing.T) {
	withProcs(t, 4)
	defer SetThreads(0)
	g := cnnLayer(5, 14, 7, 9)
	x, dy := vector[float32](newRand(1), g.inSize()), vector[float32](newRand(2), g.outSize())
	want := make([]float32, g.weights())
	Conv2DFilterGrad(g, want, x, dy)
	for threads := 1; threads <= 4; threads++ {
		SetThreads(threads)
		got := make([]float32, g.weights())
		Conv2DFilterGrad(g, got, x, dy)
		requireBits(t, fmt.Sprint(threads, " threads"), got, want)
	}
}

// TestConvForwardDeterministic has images whose blocks depend on the number of threads: gathered patches, lines in place, and tiles
// of Winograd's form.
func TestConvForwardDeterministic(t *testing.T) {
	withProcs(t, 4)
	defer SetThreads(0)
	dilated := cnnLayer(3, 14, 7, 9)
	dilated.DilW, dilated.PadLeft = 2, 2
	for _, g := range []Window{dilated, cnnLayer(1, 14, 192, 180), strided(1, 1, 28, 512, 40), cnnLayer(1, 7, 520, 40), cnnLayer(1, 28, 1, 33), cnnLayer(1, 14, 32, 64), cnnLayer(3, 8, 64, 64)} {
		x, w := vector[float32](newRand(1), g.inSize()), vector[float32](newRand(2), g.weights())
		f := PackFilter(g, w)
		y, want := make([]float32, g.outSize()), [2][]float32{make([]float32, g.outSize()), make([]float32, g.outSize())}
		for threads := 1; threads <= 4; threads++ {
			SetThreads(threads)
			for i, forward := range []func(){func() { Conv2D(g, y, x, w, nil, false) }, func() { Conv2DPacked(g, y, x, f, Epilogue[float32]{}) }} {
				forward()
				if threads == 1 {
					copy(want[i], y)
				}
				requireBits(t, fmt.Sprint(g, ", ", threads, " threads"), y, want[i])
			}
		}
	}
}

// strided is a layer of stride 2 with a filter of k x k.
func strided(batch, k, size, in, out int) Window {
	half, before := OutSize(size, k, 2, 1, true)
	return Window{Batch: batch, InH: size, InW: size, InC: in, OutH: half, OutW: half, OutC: out, KH: k, KW: k, StrideH: 2, StrideW: 2, DilH: 1, DilW: 1,
		PadTop: before, PadLeft: before}
}

// TestConvGathered compares convolutions with gathered patches, all at once or in blocks, with the direct form.
func TestConvGathered(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, g := range []Window{strided(1, 1, 28, 512, 40), strided(3, 1, 28, 512, 33), strided(1, 3, 28, 256, 35), strided(3, 3, 28, 256, 7), cnnLayer(1, 7, 520, 40), cnnLayer(2, 4, 30, 41)} {
			r := newRand(1)
			x, w, bias, add := vector[float32](r, g.inSize()), vector[float32](r, g.weights()), vector[float32](r, g.OutC), vector[float32](r, g.outSize())
			y, direct := make([]float32, g.outSize()), make([]float32, g.outSize())
			Conv2DPacked(g, y, x, PackFilter(g, w), Epilogue[float32]{Bias: bias, Add: add, Relu: true})
			c := newConv(g, &doConvDirect, x, w, direct)
			c.rows = 1
			Parallel(c.Batch*c.OutH, 1, c)
			c.recycle()
			want := make([]float64, len(direct))
			for i, v := range direct {
				want[i] = max(0, float64(v)+float64(bias[i%g.OutC])+float64(add[i]))
			}
			requireClose(t, fmt.Sprint(g), y, want, tolerance[float32](g.patch()), math.Sqrt(float64(g.patch())))
		}
	})
}

func TestConvDoesNotAllocate(t *testing.T) {
	g := cnnLayer(8, 14, 8, 16)
	x, y, w := vector[float32](newRand(1), g.inSize()), make([]float32, g.outSize()), vector[float32](newRand(3), g.weights())
	requireNoAllocs(t, "Conv2D", func() { Conv2D(g, y, x, w, w[:g.OutC], true) })
	requireNoAllocs(t, "Conv2DInputGrad", func() { Conv2DInputGrad(g, x, y, w) })
	requireNoAllocs(t, "Conv2DFilterGrad", func() { Conv2DFilterGrad(g, w, x, y) })
	g.OutC = g.InC
	requireNoAllocs(t, "DepthwiseConv2D", func() { DepthwiseConv2D(g, y, x, w) })
	requireNoAllocs(t, "DepthwiseInputGrad", func() { DepthwiseInputGrad(g, x, y, w) })
	requireNoAllocs(t, "DepthwiseFilterGrad", func() { DepthwiseFilterGrad(g, w, x, y) })
	requireNoAllocs(t, "MaxPool", func() { MaxPool(g, y, x) })
	requireNoAllocs(t, "MaxPoolGrad", func() { MaxPoolGrad(g, x, x, y, y) })
	requireNoAllocs(t, "AvgPool", func() { AvgPool(g, y, x) })
	requireNoAllocs(t, "AvgPoolGrad", func() { AvgPoolGrad(g, x, y) })
}

func BenchmarkConv(b *testing.B) {
	for _, g := range []Window{cnnLayer(64, 28, 1, 32), cnnLayer(64, 14, 32, 64), cnnLayer(128, 32, 16, 16), cnnLayer(128, 8, 64, 64)} {
		x, y, w := vector[float32](newRand(1), g.inSize()), vector[float32](newRand(2), g.outSize()), vector[float32](newRand(3), g.weights())
		name := fmt.Sprintf("%dx%dx%d_%d", g.Batch, g.InH, g.InC, g.OutC)
		run := func(what string, f func()) {
			b.Run(name+"/"+what, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(2*float64(g.pixels()*g.weights())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
		run("forward", func() { Conv2D(g, y, x, w, nil, false) })
		run("inputGrad", func() { Conv2DInputGrad(g, x, y, w) })
		run("filterGrad", func() { Conv2DFilterGrad(g, w, x, y) })
	}
	d := cnnLayer(64, 28, 32, 32)
	dx, dy, dw := vector[float32](newRand(1), d.inSize()), make([]float32, d.outSize()), make([]float32, d.weights())
	depthwise := map[string]func(){
		"forward":    func() { DepthwiseConv2D(d, dy, dx, dw) },
		"inputGrad":  func() { DepthwiseInputGrad(d, dx, dy, dw) },
		"filterGrad": func() { DepthwiseFilterGrad(d, dw, dx, dy) },
	}
	for name, f := range depthwise {
		b.Run("depthwise/"+name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}

func BenchmarkPooling(b *testing.B) {
	p := cnnLayer(64, 28, 32, 32)
	p.KH, p.KW, p.StrideH, p.StrideW, p.PadTop, p.PadLeft, p.OutH, p.OutW = 2, 2, 2, 2, 0, 0, 14, 14
	x, y := vector[float32](newRand(1), p.inSize()), make([]float32, p.outSize())
	dx := make([]float32, p.inSize())
	b.Run("maxPool", func(b *testing.B) {
		for b.Loop() {
			MaxPool(p, y, x)
		}
	})
	b.Run("maxPoolGrad", func(b *testing.B) {
		for b.Loop() {
			MaxPoolGrad(p, dx, x, y, y)
		}
	})
	b.Run("avgPool", func(b *testing.B) {
		for b.Loop() {
			AvgPool(p, y, x)
		}
	})
	b.Run("avgPoolGrad", func(b *testing.B) {
		for b.Loop() {
			AvgPoolGrad(p, dx, y)
		}
	})
}
