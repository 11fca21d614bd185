package kernels

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

var bothHalves = []Half{Brain, Binary16}

// scalarOf returns the conversions of one element.
func scalarOf(h Half) (bits func(float32) uint16, from func(uint16) float32) {
	if h == Brain {
		return tensor.BFloat16Bits, tensor.BFloat16FromBits
	}
	return tensor.Float16Bits, tensor.Float16FromBits
}

// TestHalvesOfAllBits widens each 16-bit number, and narrows it, its two neighbours in float32, and the ties around it.
func TestHalvesOfAllBits(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, h := range bothHalves {
			bits, from := scalarOf(h)
			all := make([]uint16, 1<<16)
			for i := range all {
				all[i] = uint16(i)
			}
			wide := make([]float32, len(all))
			Widen(h, wide, all)
			for i, v := range wide {
				if want := from(all[i]); math.Float32bits(v) != math.Float32bits(want) {
					t.Fatalf("%d: %#x widens to %#x, expected %#x", h, i, math.Float32bits(v), math.Float32bits(want))
				}
			}
			for _, step := range []uint32{0, 1, ^uint32(0), 0x1000, 0xfff, 0x1001, 0x8000, 0x7fff, 0x8001, 0x3fffff} {
				near, got := make([]float32, len(all)), make([]uint16, len(all))
				for i, v := range wide {
					near[i] = math.Float32frombits(math.Float32bits(v) + step)
				}
				Narrow(h, got, near)
				for i, v := range near {
					if want := bits(v); got[i] != want {
						t.Fatalf("%d: %#x narrows to %#x, expected %#x", h, math.Float32bits(v), got[i], want)
					}
				}
			}
		}
	})
}

// TestHalvesOfSubnormals narrows numbers below the least normal float16, including ties.
func TestHalvesOfSubnormals(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		var x []float32
		for i := range 1 << 12 {
			v := float32(i) * 0x1p-26
			x = append(x, v, -v, math.Nextafter32(v, 1), math.Nextafter32(v, -1))
		}
		for _, h := range bothHalves {
			bits, _ := scalarOf(h)
			got := make([]uint16, len(x))
			Narrow(h, got, x)
			for i, v := range x {
				if got[i] != bits(v) {
					t.Fatalf("%d: %g narrows to %#x, expected %#x", h, v, got[i], bits(v))
				}
			}
		}
	})
}

// TestHalvesOfLengths converts every length up to three blocks at odd addresses, and checks that nothing else is written.
func TestHalvesOfLengths(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for n := range 3*convertBlock + 2 {
			for _, h := range bothHalves {
				bits, from := scalarOf(h)
				src := vector[float32](newRand(uint64(n)), n)
				narrow, wide := make([]uint16, n+2), make([]float32, n+2)
				narrow[0], narrow[n+1], wide[0], wide[n+1] = 7, 7, 7, 7
				Narrow(h, narrow[1:n+1], src)
				Widen(h, wide[1:n+1], narrow[1:n+1])
				for i, v := range src {
					if narrow[i+1] != bits(v) || wide[i+1] != from(bits(v)) {
						t.Fatalf("%d of %d: %g became %#x and %g", i, n, v, narrow[i+1], wide[i+1])
					}
				}
				if narrow[0] != 7 || narrow[n+1] != 7 || wide[0] != 7 || wide[n+1] != 7 {
					t.Fatalf("length %d: wrote beside its elements", n)
				}
			}
		}
	})
}

// TestRoundingsOfAllBits rounds float32s with all possible upper halves, NaNs with payloads included, and compares bits.
func TestRoundingsOfAllBits(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for op, f := range map[UnaryOp]func(float32) float32{NearestBrain: RoundBrain, CutBrain: TruncateBrain, NearestHalf: RoundHalf} {
			for _, low := range []uint32{0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff} {
				x, y := make([]float32, 1<<16), make([]float32, 1<<16)
				for i := range x {
					x[i] = math.Float32frombits(uint32(i)<<16 | low)
				}
				Unary(op, y, x)
				for i, v := range x {
					if got, want := math.Float32bits(y[i]), math.Float32bits(f(v)); got != want {
						t.Fatalf("op %d: %#x became %#x, expected %#x", op, math.Float32bits(v), got, want)
					}
				}
			}
		}
	})
}

// halvesOf returns the numbers next to x, and their bits.
func halvesOf(h Half, x []float32) ([]float32, []uint16) {
	bits, y := make([]uint16, len(x)), make([]float32, len(x))
	Narrow(h, bits, x)
	Widen(h, y, bits)
	return y, bits
}

func TestMatMulOfHalves(t *testing.T) {
	withProcs(t, 2)
	eachLevel(t, func(t *testing.T) {
		for _, h := range bothHalves {
			t.Run(fmt.Sprint(h), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					size := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(0, 90))
					m, n := size.Draw(t, "m"), size.Draw(t, "n")
					k := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(500, 1200)).Draw(t, "k")
					seed, exact := rapid.Uint64().Draw(t, "seed"), rapid.Bool().Draw(t, "exact")
					g := gemmCase[float32](seed, m, n, k, false, rapid.Bool().Draw(t, "trans"), 0)
					var b []uint16
					if exact {
						g.A, _ = halvesOf(h, g.A)
					}
					g.B, b = halvesOf(h, g.B)
					want := naiveGemm(g)
					e := drawEpilogue[float32](t, seed, max(n, 1), want)
					p := PackHalves(HalfMatrix{Half: h, Bits: b, LD: g.LDB, Trans: g.TransB, Exact: exact}, k, n)
					MatMulPacked(PackedArgs[float32]{M: m, A: g.A, LDA: g.LDA, B: p, C: g.C, LDC: g.LDC, Epilogue: e})
					requireClose(t, "product", g.C, want, tolerance[float32](k), math.Sqrt(float64(k))+2)
					back := make([]uint16, len(b))
					p.UnpackHalves(back)
					for i := range b {
						if back[i] != b[i] {
							t.Fatalf("element %d: unpacked %#x, expected %#x", i, back[i], b[i])
						}
					}
				})
			})
		}
	})
}

// TestMatMulOfHalvesWithin checks that products with 16-bit operands read and write only their matrices.
func TestMatMulOfHalvesWithin(t *testing.T) {
	withProcs(t, 2)
	eachLevel(t, func(t *testing.T) {
		a, c := newFence[float32](t, 1<<17), newFence[float32](t, 1<<17)
		for _, h := range bothHalves {
			for _, m := range []int{1, 2, 3, 29} {
				for n := 1; n <= 66; n += 1 + n/34 {
					for _, k := range []int{1, 5, 16, 131} {
						g := gemmCase[float32](uint64(m+n+k), m, n, k, false, false, 0)
						var b []uint16
						g.A, _ = halvesOf(h, g.A)
						g.B, b = halvesOf(h, g.B)
						want := naiveGemm(g)
						p := PackHalves(HalfMatrix{Half: h, Bits: b, LD: n, Exact: m != 2}, k, n)
						for _, front := range []bool{false, true} {
							y := c.hold(g.C, front)
							MatMulPacked(PackedArgs[float32]{M: m, A: a.hold(g.A, front), LDA: g.LDA, B: p, C: y, LDC: n})
							requireClose(t, fmt.Sprint(m, n, k), y, want, tolerance[float32](k), 2*math.Sqrt(float64(k)))
						}
					}
				}
			}
		}
	})
}

// TestMatMulOfManyPairs multiplies more rows than are converted to pairs at once.
func TestMatMulOfManyPairs(t *testing.T) {
	withProcs(t, 2)
	g := gemmCase[float32](3, 3000, 5, 1025, false, false, 2)
	var b []uint16
	g.A, _ = halvesOf(Brain, g.A)
	g.B, b = halvesOf(Brain, g.B)
	want := naiveGemm(g)
	MatMulPacked(PackedArgs[float32]{M: g.M, A: g.A, LDA: g.LDA, B: PackHalves(HalfMatrix{Half: Brain, Bits: b, LD: g.LDB, Exact: true}, g.K, g.N), C: g.C, LDC: g.LDC})
	requireClose(t, "product", g.C, want, tolerance[float32](g.K), math.Sqrt(float64(g.K)))
}

// TestAddProductHalf checks that both steps are rounded, for all lengths up to a few vectors, including numbers that are too large
// or too small.
func TestAddProductHalf(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for n := range 70 {
			x, _ := halvesOf(Binary16, vector[float32](newRand(uint64(n)), n))
			y, _ := halvesOf(Binary16, vector[float32](newRand(uint64(n+1)), n))
			for i, v := range []float32{65504, -65504, 0x1p-24, float32(math.Inf(1)), float32(math.Copysign(0, -1))} {
				if i < n {
					x[i] = v
				}
			}
			for _, k := range []float32{0, 1.5, -0x1p-10, 65504} {
				got := append([]float32(nil), y...)
				AddProductHalf(got, x, k)
				for i, v := range x {
					want := RoundHalf(y[i] + RoundHalf(k*v))
					if a, b := math.Float32bits(got[i]), math.Float32bits(want); a != b && (want == want || got[i] == got[i]) {
						t.Fatalf("%d of %d: %v + %v*%v is %v, expected %v", i, n, y[i], k, v, got[i], want)
					}
				}
			}
		}
	})
}

func TestHalvesDoNotAllocate(t *testing.T) {
	x, y := vector[float32](newRand(1), 40*288), make([]float32, 40*64)
	for _, h := range bothHalves {
		b := PackHalves(HalfMatrix{Half: h, Bits: make([]uint16, 288*64), LD: 64, Exact: true}, 288, 64)
		for _, m := range []int{1, 3, 40} {
			requireNoAllocs(t, "MatMulPacked", func() {
				MatMulPacked(PackedArgs[float32]{M: m, A: x, LDA: 288, B: b, C: y, LDC: 64})
			})
		}
	}
}

func BenchmarkMatMulOfHalves(b *testing.B) {
	for _, m := range []int{1, 2, 4, 32, 256} {
		g := gemmCase[float32](1, m, 1024, 1024, false, false, 0)
		args := PackedArgs[float32]{M: m, A: g.A, LDA: g.K, C: g.C, LDC: g.N}
		run := func(name string, p *PackedB[float32]) {
			b.Run(fmt.Sprintf("%s/%d", name, m), func(b *testing.B) {
				args.B = p
				for b.Loop() {
					MatMulPacked(args)
				}
			})
		}
		run("float32", PackB(g.B, g.N, g.K, g.N, false))
		for _, h := range bothHalves {
			_, bits := halvesOf(h, g.B)
			run(fmt.Sprint("half", h), PackHalves(HalfMatrix{Half: h, Bits: bits, LD: g.N, Exact: true}, g.K, g.N))
		}
	}
}

func BenchmarkHalves(b *testing.B) {
	wide, narrow := vector[float32](newRand(1), 1<<12), make([]uint16, 1<<12)
	for _, h := range bothHalves {
		b.Run(fmt.Sprint("narrow/", h), func(b *testing.B) {
			b.SetBytes(int64(len(narrow)) * 4)
			for b.Loop() {
				Narrow(h, narrow, wide)
			}
		})
		b.Run(fmt.Sprint("widen/", h), func(b *testing.B) {
			b.SetBytes(int64(len(narrow)) * 4)
			for b.Loop() {
				Widen(h, wide, narrow)
			}
		})
	}
}
