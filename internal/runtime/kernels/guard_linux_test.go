package kernels

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"unsafe"
)

// fence is memory between two protected pages: reading an element before or after an operand ends the test.
type fence[T Float | byte | int32] struct{ room []T }

func newFence[T Float | byte | int32](t *testing.T, elements int) fence[T] {
	t.Helper()
	page, size := syscall.Getpagesize(), int(unsafe.Sizeof(T(0)))
	inner := ceilDiv(elements*size, page) * page
	all, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(all) })
	for _, p := range [][]byte{all[:page], all[page+inner:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return fence[T]{unsafe.Slice((*T)(unsafe.Pointer(&all[page])), inner/size)}
}

// hold copies x to the room's end, or to its front.
func (f fence[T]) hold(x []T, front bool) []T {
	at := len(f.room) - len(x)
	if front {
		at = 0
	}
	copy(f.room[at:], x)
	return f.room[at : at+len(x) : at+len(x)]
}

// fences are the fences of a product's operands.
type fences[T Float] struct{ a, b, c, scale, bias fence[T] }

func newFences[T Float](t *testing.T, elements int) fences[T] {
	return fences[T]{newFence[T](t, elements), newFence[T](t, elements), newFence[T](t, elements), newFence[T](t, elements), newFence[T](t, elements)}
}

// padded is gemmCase, except that the operands end with the last element of the last row, and gaps between rows are NaN.
func padded[T Float](seed uint64, m, n, k int, trans [2]bool) GemmArgs[T] {
	g := gemmCase[T](seed, m, n, k, trans[0], trans[1], 3)
	g.A, g.B, g.C = ragged(g.A, g.LDA), ragged(g.B, g.LDB), g.C[:len(g.C)-3]
	g.Beta, g.Relu = T(seed%2), seed%3 == 0
	if seed%5 < 3 {
		g.Bias = vector[T](newRand(seed), n)
	}
	return g
}

// ragged sets the last three of each ld elements to NaN and cuts off the ones after the last row.
func ragged[T Float](x []T, ld int) []T {
	for r := ld; r <= len(x); r += ld {
		Fill(x[r-3:r], T(math.NaN()))
	}
	return x[:len(x)-3]
}

// spoiled is the number of elements of scratch memory that the products of these tests use.
const spoiled = 1 << 17

// spoil fills the kernels' scratch memory with NaN.
func spoil[T Float]() {
	var taken [8]*scratch[T]
	for i := range taken {
		taken[i] = scratches[T]().get()
		Fill(taken[i].data[:min(len(taken[i].data), spoiled)], T(math.NaN()))
	}
	for _, s := range taken {
		scratches[T]().put(s)
	}
	j := gemmJobs[T]().get()
	Fill(j.spaceB.data[:min(len(j.spaceB.data), spoiled)], T(math.NaN()))
	gemmJobs[T]().put(j)
}

// check does the product with its operands at either end of their fences.
func (f fences[T]) check(t *testing.T, g GemmArgs[T]) {
	t.Helper()
	want := naiveGemm(g)
	for _, front := range []bool{false, true} {
		h := g
		h.A, h.B, h.C = f.a.hold(g.A, front), f.b.hold(g.B, front), f.c.hold(g.C, front)
		if g.Bias != nil {
			h.Bias = f.bias.hold(g.Bias, front)
		}
		spoil[T]()
		Gemm(h)
		requireClose(t, fmt.Sprint(g.M, g.N, g.K, g.TransA, g.TransB), h.C, want, tolerance[T](g.K), 2*math.Sqrt(float64(g.K)))
	}
}

var bothTrans = [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}}

func testGemmWithin[T Float](t *testing.T) {
	f := newFences[T](t, 1<<17)
	for i, m := range []int{1, 2, 3, 29} {
		for n := 1; n <= 34; n++ {
			for j, k := range []int{1, 3, 37} {
				f.check(t, padded[T](uint64(i+n+j), m, n, k, bothTrans[(i+n+j)%4]))
			}
		}
	}
	for n := 1; n <= 24; n++ { // parts of a vector
		f.check(t, padded[T](uint64(n), 41+n%4, n, 40+n/2%4, bothTrans[0]))
	}
	for i, s := range [][3]int{{31, 130, 530}, {500, 33, 40}, {1, 515, 130}, {515, 1, 130}, {3, 66, 530}} {
		for j, trans := range bothTrans {
			f.check(t, padded[T](uint64(i+j), s[0], s[1], s[2], trans))
		}
	}
}

// TestGemmWithin checks that products read and write only their matrices, with all kernels for tiles, copies and vectors.
func TestGemmWithin(t *testing.T) {
	withProcs(t, 2)
	eachLevel(t, func(t *testing.T) {
		t.Run("float32", testGemmWithin[float32])
		t.Run("float64", testGemmWithin[float64])
	})
}

func TestMatMulPackedWithin(t *testing.T) {
	withProcs(t, 2)
	eachLevel(t, func(t *testing.T) {
		f := newFences[float32](t, 1<<17)
		for _, m := range []int{1, 2, 3, 29} {
			for n := 1; n <= 66; n += 1 + n/34 {
				for _, k := range []int{1, 5, 130} {
					g := padded[float32](uint64(m+n+k), m, n, k, bothTrans[0])
					g.Beta = 1
					want, ones := naiveGemm(g), make([]float32, n)
					Fill(ones, 1)
					b := PackB(f.b.hold(g.B, false), g.LDB, k, n, false)
					for _, front := range []bool{false, true} {
						c := f.c.hold(g.C, front)
						e := Epilogue[float32]{Scale: f.scale.hold(ones, front), Add: c, Relu: g.Relu}
						if g.Bias != nil {
							e.Bias = f.bias.hold(g.Bias, front)
						}
						MatMulPacked(PackedArgs[float32]{M: m, A: f.a.hold(g.A, front), LDA: g.LDA, B: b, C: c, LDC: g.LDC, Epilogue: e})
						requireClose(t, fmt.Sprint(m, n, k), c, want, tolerance[float32](k), 2*math.Sqrt(float64(k)))
					}
				}
			}
		}
	})
}

// TestConvWithin checks that convolutions in all forms read and write only their tensors, and that old contents of scratch memory
// do not reach the results.
func TestConvWithin(t *testing.T) {
	withProcs(t, 2)
	strided := cnnLayer(2, 11, 3, 19)
	strided.StrideW, strided.OutW = 2, 6
	dilated := cnnLayer(1, 9, 5, 17)
	dilated.DilH, dilated.DilW, dilated.PadTop, dilated.PadLeft = 2, 2, 2, 2
	eachLevel(t, func(t *testing.T) {
		f := newFences[float32](t, 1<<16)
		for i, g := range []Window{strided, dilated, cnnLayer(1, 28, 1, 32), cnnLayer(1, 16, 32, 33), cnnLayer(2, 14, 20, 48)} {
			r := newRand(uint64(i))
			x, w, bias := vector[float32](r, g.inSize()), vector[float32](r, g.weights()), vector[float32](r, g.OutC)
			ones := make([]float32, g.OutC)
			Fill(ones, 1)
			y, dx, dw := make([]float32, g.outSize()), make([]float32, g.inSize()), make([]float32, g.weights())
			Conv2D(g, y, x, w, bias, true)
			Conv2DInputGrad(g, dx, y, w)
			Conv2DFilterGrad(g, dw, x, y)
			for _, front := range []bool{false, true} {
				spoil[float32]()
				a, b, shift, c := f.a.hold(x, front), f.b.hold(w, front), f.bias.hold(bias, front), f.c.hold(y, front)
				clear(c)
				Conv2D(g, c, a, b, shift, true)
				requireBits(t, fmt.Sprint(g, ": forward"), c, y)
				clear(c)
				Conv2DPacked(g, c, a, PackFilter(g, b), Epilogue[float32]{Scale: f.scale.hold(ones, front), Bias: shift, Add: c, Relu: true})
				requireClose(t, fmt.Sprint(g, ": packed"), c, widen(y), winogradError, 30)
				clear(b)
				Conv2DFilterGrad(g, b, a, f.c.hold(y, front))
				requireBits(t, fmt.Sprint(g, ": gradient of the filter"), b, dw)
				clear(a)
				Conv2DInputGrad(g, a, c, f.b.hold(w, front))
				requireBits(t, fmt.Sprint(g, ": gradient of the image"), a, dx)
			}
		}
	})
}

// TestBytesWithin puts the operands and results of products of bytes at either end of their fences.
func TestBytesWithin(t *testing.T) {
	const most = 1 << 15
	a, ints, floats, results, numbers := newFence[byte](t, most), newFence[int32](t, most), newFence[float32](t, most), newFence[byte](t, most), newFence[float32](t, most)
	eachLevel(t, func(t *testing.T) {
		for _, k := range []int{1, 3, 4, 64, 66} {
			for _, n := range []int{1, 8, 9, 16, 31, 40, 64, 70} {
				for _, m := range []int{1, 6, 13, 20} {
					for _, front := range bools {
						c := newByteCase(newRand(1), m, n, k, 0, n%2 == 0, true, false, false)
						c.A = a.hold(c.A, front)
						want := c.sums()
						c.Ints = ints.hold(make([]int32, m*n), front)
						c.multiply()
						requireInts(t, c.String(), c.Ints, want)
						c.Scale = numbers.hold(vector[float32](newRand(2), n), front)
						c.Floats = floats.hold(make([]float32, m*n), front)
						c.multiply()
						c.Bytes = results.hold(make([]byte, m*n), front)
						c.multiply()
					}
				}
			}
		}
	})
}
