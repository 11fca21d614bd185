package kernels

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// gemmCase is a product with strides larger than the rows.
func gemmCase[T Float](seed uint64, m, n, k int, transA, transB bool, pad int) GemmArgs[T] {
	r := newRand(seed)
	g := GemmArgs[T]{M: m, N: n, K: k, Alpha: 1, TransA: transA, TransB: transB}
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if transA {
		rowsA, colsA = colsA, rowsA
	}
	if transB {
		rowsB, colsB = colsB, rowsB
	}
	g.LDA, g.LDB, g.LDC = colsA+pad, colsB+pad, n+pad
	g.A, g.B = vector[T](r, rowsA*g.LDA), vector[T](r, rowsB*g.LDB)
	g.C = vector[T](r, m*g.LDC)
	return g
}

// naiveGemm is the float64 reference; it returns all of C, padding included.
func naiveGemm[T Float](g GemmArgs[T]) []float64 {
	c := widen(g.C)
	for i := range g.M {
		for j := range g.N {
			var sum float64
			for k := range g.K {
				ia, ib := i*g.LDA+k, k*g.LDB+j
				if g.TransA {
					ia = k*g.LDA + i
				}
				if g.TransB {
					ib = j*g.LDB + k
				}
				sum += float64(g.A[ia]) * float64(g.B[ib])
			}
			v := float64(g.Alpha) * sum
			if g.Beta != 0 {
				v += float64(g.Beta) * c[i*g.LDC+j]
			}
			if g.Bias != nil {
				v += float64(g.Bias[j])
			}
			if g.Relu {
				v = math.Max(v, 0)
			}
			c[i*g.LDC+j] = v
		}
	}
	return c
}

func testGemm[T Float](t *testing.T) {
	sizes := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(41, 150))
	depths := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(41, 1100))
	rapid.Check(t, func(t *rapid.T) {
		m, n, k := sizes.Draw(t, "m"), sizes.Draw(t, "n"), depths.Draw(t, "k")
		g := gemmCase[T](rapid.Uint64().Draw(t, "seed"), m, n, k, rapid.Bool().Draw(t, "transA"),
			rapid.Bool().Draw(t, "transB"), rapid.IntRange(0, 5).Draw(t, "pad"))
		g.Alpha = rapid.SampledFrom([]T{1, 1, 1, 0, -2.5}).Draw(t, "alpha")
		g.Beta = rapid.SampledFrom([]T{0, 0, 1, 0.5}).Draw(t, "beta")
		if rapid.Bool().Draw(t, "bias") {
			g.Bias = vector[T](newRand(1), n)
		}
		g.Relu = rapid.Bool().Draw(t, "relu")
		want := naiveGemm(g)
		Gemm(g)
		requireClose(t, "C", g.C, want, tolerance[T](k), math.Sqrt(float64(k)))
	})
}

func TestGemm(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testGemm[float32])
		t.Run("float64", testGemm[float64])
	})
}

// TestTileArgsLayout pins the offsets that internal/runtime/kernels/gen uses.
func TestTileArgsLayout(t *testing.T) {
	var a tileArgs
	got := [...]uintptr{unsafe.Offsetof(a.a), unsafe.Offsetof(a.b), unsafe.Offsetof(a.c), unsafe.Offsetof(a.aRow), unsafe.Offsetof(a.aK),
		unsafe.Offsetof(a.bK), unsafe.Offsetof(a.cRow), unsafe.Offsetof(a.k), unsafe.Offsetof(a.lanes), unsafe.Offsetof(a.old),
		unsafe.Offsetof(a.alpha), unsafe.Offsetof(a.runs), unsafe.Offsetof(a.aSkip), unsafe.Offsetof(a.bias), unsafe.Offsetof(a.relu),
		unsafe.Offsetof(a.strip)}
	for i, o := range got {
		if o != uintptr(8*i) {
			t.Errorf("field %d is at %d, want %d: change gen/gemm.go with it", i, o, 8*i)
		}
	}
}

// TestGemmVectors tests products with one row or one column.
func TestGemmVectors(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testGemmVectors[float32])
		t.Run("float64", testGemmVectors[float64])
	})
}

func testGemmVectors[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n, k := rapid.IntRange(1, 3).Draw(t, "m"), rapid.IntRange(1, 400).Draw(t, "n"), rapid.IntRange(1, 700).Draw(t, "k")
		if rapid.Bool().Draw(t, "column") {
			m, n = n, 1
		}
		g := gemmCase[T](rapid.Uint64().Draw(t, "seed"), m, n, k, rapid.Bool().Draw(t, "transA"),
			rapid.Bool().Draw(t, "transB"), rapid.IntRange(0, 1).Draw(t, "pad"))
		g.Alpha = rapid.SampledFrom([]T{1, -2.5}).Draw(t, "alpha")
		g.Beta = rapid.SampledFrom([]T{0, 1, 0.5}).Draw(t, "beta")
		if rapid.Bool().Draw(t, "bias") {
			g.Bias = vector[T](newRand(1), n)
		}
		g.Relu = rapid.Bool().Draw(t, "relu")
		want := naiveGemm(g)
		Gemm(g)
		requireClose(t, "C", g.C, want, tolerance[T](k), math.Sqrt(float64(k)))
	})
}

// TestGemmEveryTile tests all heights and widths of tiles, both packed and in place.
func TestGemmEveryTile(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: arithmetic of one goroutine")
	}
	eachLevel(t, func(t *testing.T) {
		for m := 1; m <= 30; m++ {
			for n := 1; n <= 66; n++ {
				for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}} {
					g := gemmCase[float32](uint64(m*100+n), m, n, 17, trans[0], trans[1], 3)
					want := naiveGemm(g)
					Gemm(g)
					requireClose(t, fmt.Sprint(m, n, trans), g.C, want, 1e-5, 1)
				}
			}
		}
	})
}

// TestGemmNonFinite checks that a non-finite number reaches its row and column and nothing else, in whole vectors and in partial
// vectors of the last columns or the last k.
func TestGemmNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, c := range []struct{ m, n, k, nan, inf, column int }{{20, 40, 30, 5, 7, 9}, {40, 41, 30, 5, 7, 38}, {40, 41, 30, 29, 28, 40}, {40, 18, 31, 30, 29, 17}} {
			g := gemmCase[float32](3, c.m, c.n, c.k, false, false, 0)
			g.A[3*g.LDA+c.nan] = float32(math.NaN())
			g.B[c.inf*g.LDB+c.column] = float32(math.Inf(1))
			Gemm(g)
			for i := range g.M {
				for j := range g.N {
					v := float64(g.C[i*g.LDC+j])
					if (i == 3) != math.IsNaN(v) || (i != 3 && j == c.column) != math.IsInf(v, 0) {
						t.Fatalf("%v: C[%d,%d] = %v", c, i, j, v)
					}
				}
			}
		}
	})
}

// TestGemmOverwrites checks that Beta 0 ignores what C held, NaN included.
func TestGemmOverwrites(t *testing.T) {
	for _, k := range []int{0, 3} {
		g := gemmCase[float64](3, 5, 6, k, false, false, 0)
		Fill(g.C, math.NaN())
		want := naiveGemm(g)
		Gemm(g)
		requireClose(t, "C", g.C, want, 1e-14, 1)
	}
}

func TestGemmShortSlicePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("a short B was accepted")
		}
	}()
	g := gemmCase[float32](3, 5, 6, 7, false, false, 0)
	g.B = g.B[:41]
	Gemm(g)
}

func TestGemmDeterministic(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, s := range []struct {
			m, n, k        int
			transA, transB bool
		}{
			{150, 100, 700, false, true}, {200, 70, 600, false, false}, {90, 70, 600, true, false}, {510, 1, 784, false, false},
			{100, 100, 100, false, false}, {100, 99, 98, true, false}, {128, 33, 256, false, false}, // at once
		} {
			testGemmDeterministic(t, gemmCase[float32](3, s.m, s.n, s.k, s.transA, s.transB, 1))
		}
	})
}

func testGemmDeterministic(t *testing.T, g GemmArgs[float32]) {
	withProcs(t, 4)
	defer SetThreads(0)
	Gemm(g)
	want := append([]float32(nil), g.C...)
	for threads := 1; threads <= 4; threads++ {
		SetThreads(threads)
		for range 5 {
			Gemm(g)
			requireBits(t, fmt.Sprint(threads, " threads"), g.C, want)
		}
	}
}

func TestGemmDoesNotAllocate(t *testing.T) {
	for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		g := gemmCase[float32](3, 128, 300, 400, trans[0], trans[1], 0)
		requireNoAllocs(t, fmt.Sprint(trans), func() { Gemm(g) })
	}
}

func TestTranspose(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, cols := rapid.IntRange(0, 70).Draw(t, "rows"), rapid.IntRange(0, 70).Draw(t, "cols")
			x := vector[float32](newRand(1), rows*cols)
			y := make([]float32, rows*cols)
			Transpose(y, x, rows, cols)
			for r := range rows {
				for c := range cols {
					if y[c*rows+r] != x[r*cols+c] {
						t.Fatalf("element %d,%d is wrong", r, c)
					}
				}
			}
		})
	})
}

// gemmShapes are the shapes of the measured tables.
var gemmShapes = []struct {
	m, n, k        int
	transA, transB bool
}{
	{128, 512, 784, false, false},
	{784, 512, 128, true, false},
	{128, 784, 512, false, true},
	{128, 256, 512, false, false},
	{512, 256, 128, true, false},
	{128, 10, 256, false, false},
	{256, 10, 128, true, false},
	{128, 256, 10, false, true},
	{1024, 1024, 1024, false, false},
	{2048, 64, 576, false, false},
	{64, 576, 2048, false, false},
	{32, 128, 1024, false, false},
	{1, 512, 784, false, false},
	{1, 784, 512, false, true},
	{512, 1, 784, false, false},
	{784, 1, 512, true, false},
	{4096, 32, 27, false, false},
	{64, 64, 64, false, false},
	{8, 8, 8, false, false},
	{32, 32, 32, false, false},
	{100, 100, 100, false, false},
	{128, 24, 256, false, false},
	{128, 33, 256, false, false},
}

func benchmarkGemm[T Float](b *testing.B) {
	for _, s := range gemmShapes {
		g := gemmCase[T](1, s.m, s.n, s.k, s.transA, s.transB, 0)
		for _, threads := range []int{1, 2} {
			name := fmt.Sprintf("%s/%dx%dx%d", typeName[T](), s.m, s.n, s.k)
			if s.transA {
				name += "_AT"
			}
			if s.transB {
				name += "_BT"
			}
			b.Run(fmt.Sprintf("%s/%dT", name, threads), func(b *testing.B) {
				SetThreads(threads)
				defer SetThreads(0)
				for b.Loop() {
					Gemm(g)
				}
				b.ReportMetric(2*float64(s.m*s.n*s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

func BenchmarkGemm32(b *testing.B) { benchmarkGemm[float32](b) }
func BenchmarkGemm64(b *testing.B) { benchmarkGemm[float64](b) }

// TestGemmCold multiplies by a B that comes from memory, in blocks, and compares the sums of columns.
func TestGemmCold(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const m, n, k = 470, 1030, 1020
		g := gemmCase[float32](7, m, n, k, false, false, 1)
		g.Alpha, g.Beta = 1, 0
		sums := make([]float64, k)
		for i := range sums {
			for _, v := range g.B[i*g.LDB:][:n] {
				sums[i] += float64(v)
			}
		}
		Gemm(g)
		got, want := make([]float64, m), make([]float64, m)
		for i := range want {
			for j, v := range g.A[i*g.LDA:][:k] {
				want[i] += float64(v) * sums[j]
			}
			for _, v := range g.C[i*g.LDC:][:n] {
				got[i] += float64(v)
			}
		}
		requireClose(t, "sums of rows", got, want, tolerance[float32](k), float64(k))
	})
}
