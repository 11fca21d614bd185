package kernels

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// drawEpilogue draws an epilogue for a result of n columns, and applies it to want, the result's elements.
func drawEpilogue[T Float](t *rapid.T, seed uint64, n int, want []float64) Epilogue[T] {
	var e Epilogue[T]
	r := newRand(seed)
	if rapid.Bool().Draw(t, "scale") {
		e.Scale = vector[T](r, n)
	}
	if rapid.Bool().Draw(t, "bias") {
		e.Bias = vector[T](r, n)
	}
	if rapid.Bool().Draw(t, "add") {
		e.Add = vector[T](r, len(want))
	}
	e.Relu = rapid.Bool().Draw(t, "relu")
	for i := range want {
		if e.Scale != nil {
			want[i] *= float64(e.Scale[i%n])
		}
		if e.Bias != nil {
			want[i] += float64(e.Bias[i%n])
		}
		if e.Add != nil {
			want[i] += float64(e.Add[i])
		}
		if e.Relu {
			want[i] = math.Max(want[i], 0)
		}
	}
	return e
}

func testMatMulPacked[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(0, 90))
		m, n := size.Draw(t, "m"), size.Draw(t, "n")
		k := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(500, 1200)).Draw(t, "k")
		seed := rapid.Uint64().Draw(t, "seed")
		g := gemmCase[T](seed, m, n, k, false, rapid.Bool().Draw(t, "trans"), 0)
		want := naiveGemm(g)
		e := drawEpilogue[T](t, seed, max(n, 1), want)
		MatMulPacked(PackedArgs[T]{M: m, A: g.A, LDA: g.LDA, B: PackB(g.B, g.LDB, k, n, g.TransB), C: g.C, LDC: g.LDC, Epilogue: e})
		requireClose(t, "packed product", g.C, want, tolerance[T](k), math.Sqrt(float64(k))+2)
	})
}

func TestMatMulPacked(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testMatMulPacked[float32])
		t.Run("float64", testMatMulPacked[float64])
	})
}

func testConvPacked[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawWindow(t, 0)
		g.Groups = 1
		if rapid.Bool().Draw(t, "wide") {
			g.OutC += 30
		}
		seed := rapid.Uint64().Draw(t, "seed")
		r := newRand(seed)
		x, w, y := vector[T](r, g.inSize()), vector[T](r, g.weights()), vector[T](r, g.outSize())
		want := make([]float64, g.outSize())
		eachPair(g, func(out, in, tap int) {
			for ic := range g.InC {
				for oc := range g.OutC {
					want[out*g.OutC+oc] += float64(x[in*g.InC+ic]) * float64(w[(tap*g.InC+ic)*g.OutC+oc])
				}
			}
		})
		e := drawEpilogue[T](t, seed, g.OutC, want)
		Conv2DPacked(g, y, x, PackFilter(g, w), e)
		requireClose(t, "packed convolution", y, want, tolerance[T](300), 4)
	})
}

func TestConv2DPacked(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testConvPacked[float32])
		t.Run("float64", testConvPacked[float64])
	})
}

// TestPackedOperandOfAnotherSize: an operand of another size panics before anything is read.
func TestPackedOperandOfAnotherSize(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a filter of another convolution was taken")
		}
	}()
	g := cnnLayer(1, 8, 3, 4)
	f := PackFilter(g, make([]float32, g.weights()))
	g.InC = 4
	Conv2DPacked(g, make([]float32, g.outSize()), make([]float32, g.inSize()), f, Epilogue[float32]{})
}

// TestPackedWithoutRows checks that an operand without rows may be empty, whatever the distance between its rows.
func TestPackedWithoutRows(t *testing.T) {
	for _, trans := range []bool{false, true} {
		c := []float32{1, 2}
		MatMulPacked(PackedArgs[float32]{M: 1, B: PackB[float32](nil, 40, 0, 2, trans), C: c, LDC: 2, Epilogue: Epilogue[float32]{Add: []float32{3, 4}}})
		if c[0] != 3 || c[1] != 4 {
			t.Errorf("transposed %v: got %v, want the addend", trans, c)
		}
	}
}

func TestPackedDoesNotAllocate(t *testing.T) {
	g := cnnLayer(1, 14, 32, 64)
	x, y, w := vector[float32](newRand(1), g.inSize()), make([]float32, g.outSize()), vector[float32](newRand(3), g.weights())
	f := PackFilter(g, w)
	e := Epilogue[float32]{Bias: w[:g.OutC], Add: y, Relu: true}
	requireNoAllocs(t, "Conv2DPacked", func() { Conv2DPacked(g, y, x, f, e) })
	b := PackB(w, 64, 288, 64, false)
	for _, m := range []int{1, 3, 20} {
		requireNoAllocs(t, "MatMulPacked", func() {
			MatMulPacked(PackedArgs[float32]{M: m, A: x, LDA: 288, B: b, C: y, LDC: 64, Epilogue: e})
		})
	}
}

// TestPackedIsShared: several goroutines multiply by one operand at the same time. Each gets the same bits as alone.
func TestPackedIsShared(t *testing.T) {
	withProcs(t, 4)
	for m := 1; m <= 3; m++ {
		g := gemmCase[float32](9, m, 515, 300, false, false, 0)
		b := PackB(g.B, g.LDB, g.K, g.N, false)
		multiply := func(c []float32) {
			MatMulPacked(PackedArgs[float32]{M: m, A: g.A, LDA: g.LDA, B: b, C: c, LDC: g.LDC})
		}
		multiply(g.C)
		var results [4][]float32
		var all sync.WaitGroup
		for i := range results {
			results[i] = make([]float32, len(g.C))
			all.Go(func() {
				for range 20 {
					multiply(results[i])
				}
			})
		}
		all.Wait()
		for _, c := range results {
			requireBits(t, fmt.Sprint(m, " rows"), c, g.C)
		}
	}
}

func BenchmarkMatMulPacked(b *testing.B) {
	for _, s := range [][3]int{{1, 512, 784}, {1, 256, 512}, {1, 10, 256}, {4, 512, 784}, {64, 512, 784}, {64, 256, 512}, {64, 10, 256}} {
		m, n, k := s[0], s[1], s[2]
		g := gemmCase[float32](1, m, n, k, false, false, 0)
		bias := g.B[:n]
		packed := PackedArgs[float32]{M: m, A: g.A, LDA: k, B: PackB(g.B, n, k, n, false), C: g.C, LDC: n,
			Epilogue: Epilogue[float32]{Bias: bias, Relu: true}}
		g.Bias, g.Relu = bias, true
		for name, f := range map[string]func(){"packed": func() { MatMulPacked(packed) }, "plain": func() { Gemm(g) }} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", m, n, k, name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(2*float64(m*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

func BenchmarkConvPacked(b *testing.B) {
	strided := func(g Window) Window {
		g.StrideH, g.StrideW, g.PadTop, g.PadLeft, g.OutH, g.OutW = 2, 2, 0, 0, g.OutH/2, g.OutW/2
		return g
	}
	for _, g := range []Window{cnnLayer(1, 28, 1, 32), cnnLayer(1, 14, 32, 64), cnnLayer(1, 32, 3, 16), cnnLayer(1, 32, 16, 16),
		strided(cnnLayer(1, 32, 16, 32)), cnnLayer(1, 16, 32, 32), strided(cnnLayer(1, 16, 32, 64)), cnnLayer(1, 8, 64, 64)} {
		for _, batch := range []int{1, 64} {
			g.Batch = batch
			x, y, w := vector[float32](newRand(1), g.inSize()), vector[float32](newRand(2), g.outSize()), vector[float32](newRand(3), g.weights())
			f, e := PackFilter(g, w), Epilogue[float32]{Bias: w[:g.OutC], Relu: true}
			b.Run(fmt.Sprintf("%dx%dx%d_%dx%d", batch, g.InH, g.InC, g.OutH, g.OutC), func(b *testing.B) {
				for b.Loop() {
					Conv2DPacked(g, y, x, f, e)
				}
				b.ReportMetric(2*float64(g.pixels()*g.weights())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
