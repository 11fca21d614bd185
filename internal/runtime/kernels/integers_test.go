package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// byteCase is a product of bytes with an unpacked B.
type byteCase struct {
	ByteProduct
	b               []byte
	ldb, k, n       int
	transB, signedB bool
}

// element returns an 8-bit element as a number.
func element(v byte, signed bool) int32 {
	if signed {
		return int32(int8(v))
	}
	return int32(v)
}

// drawnBytes returns n bytes at an odd address: any bytes or, if extreme, only 0, 127, 128 and 255.
func drawnBytes(r *rand.Rand, n int, extreme bool) []byte {
	x := make([]byte, n+1)
	for i := range x {
		if x[i] = byte(r.Uint32()); extreme {
			x[i] = []byte{0, 127, 128, 255}[x[i]%4]
		}
	}
	return x[1:]
}

// newByteCase returns a product with gaps of gap elements between rows.
func newByteCase(r *rand.Rand, m, n, k, gap int, signedA, signedB, transB, extreme bool) byteCase {
	rows, cols := k, n
	if transB {
		rows, cols = n, k
	}
	c := byteCase{k: k, n: n, ldb: cols + gap, transB: transB, signedB: signedB, b: drawnBytes(r, rows*(cols+gap), extreme)}
	c.M, c.LDA, c.SignedA, c.A = m, k+gap, signedA, drawnBytes(r, m*(k+gap), extreme)
	return c
}

// sums returns the product by its definition.
func (c *byteCase) sums() []int32 {
	y := make([]int32, c.M*c.n)
	for i := range y {
		row, col := i/c.n, i%c.n
		var zero int32
		if len(c.ZeroB) > 0 {
			zero = c.ZeroB[col%len(c.ZeroB)]
		}
		for l := range c.k {
			at := l*c.ldb + col
			if c.transB {
				at = col*c.ldb + l
			}
			y[i] += (element(c.A[row*c.LDA+l], c.SignedA) - c.ZeroA) * (element(c.b[at], c.signedB) - zero)
		}
		if c.Bias != nil {
			y[i] += c.Bias[col]
		}
	}
	return y
}

// multiply packs B and computes the product.
func (c *byteCase) multiply() {
	c.B = PackBytes(c.b, c.ldb, c.k, c.n, c.transB, c.signedB)
	MultiplyBytes(c.ByteProduct)
}

func (c *byteCase) String() string {
	return fmt.Sprintf("%dx%dx%d signed %v,%v zeros %d,%v transposed %v", c.M, c.n, c.k, c.SignedA, c.signedB, c.ZeroA, c.ZeroB, c.transB)
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func requireInts[T comparable](t fataler, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d: got %v, want %v", what, i, got[i], want[i])
		}
	}
}

var bools = []bool{false, true}

// TestMultiplyBytes tests all signs, and sizes at the edges of groups, strips and tiles, with the numbers that have the largest products.
func TestMultiplyBytes(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := newRand(1)
		for _, k := range []int{0, 1, 2, 3, 4, 5, 8, 63, 64, 67, 1030} {
			for _, n := range []int{1, 4, 7, 8, 9, 15, 16, 17, 32, 33, 48, 49, 65, 100} {
				for _, m := range []int{1, 2, 6, 7, 14, 15, 31} {
					if k > 100 && m*n > 1000 {
						continue
					}
					for i := range 8 {
						signedA, signedB, transB := i&1 > 0, i&2 > 0, i&4 > 0
						c := newByteCase(r, m, n, k, m%3, signedA, signedB, transB, (m+n)%2 == 0)
						c.ZeroA = element(byte(r.Uint32()), signedA)
						if n%3 == 0 {
							c.ZeroB = []int32{element(byte(r.Uint32()), signedB)}
						} else if n%3 == 1 {
							c.ZeroB = make([]int32, n)
							for i := range c.ZeroB {
								c.ZeroB[i] = element(byte(r.Uint32()), signedB)
							}
						}
						c.Ints = make([]int32, m*n)
						c.multiply()
						requireInts(t, c.String(), c.Ints, c.sums())
					}
				}
			}
		}
	})
}

// TestMultiplyBytesWraps has sums beyond 32 bits: the largest products, too many for 32 bits, in each column and row.
func TestMultiplyBytesWraps(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const m, n, k = 3, 3, 1<<17 + 3
		c := byteCase{k: k, n: n, ldb: n, signedB: true, b: slices.Repeat([]byte{0x80}, k*n)}
		c.M, c.LDA, c.SignedA, c.A, c.Ints = m, k, true, slices.Repeat([]byte{0x80}, m*k), make([]int32, m*n)
		c.multiply()
		sum := int64(k) * 128 * 128
		requireInts(t, "-128 * -128", c.Ints, slices.Repeat([]int32{int32(sum)}, m*n))
		c.SignedA, c.ZeroA = false, 0
		for i := range c.A {
			c.A[i] = 255
		}
		c.multiply()
		negative := -int64(k) * 255 * 128
		requireInts(t, "255 * -128", c.Ints, slices.Repeat([]int32{int32(negative)}, m*n))
		if sum <= math.MaxInt32 {
			t.Fatalf("a sum of %d tests nothing", sum)
		}
	})
}

// TestBytesOfNaN: NaN becomes the lowest number, in whole and partial vectors.
func TestBytesOfNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const n = 19
		c := byteCase{k: 1, n: n, ldb: n, signedB: true, b: make([]byte, n)}
		c.M, c.LDA, c.A = 1, 1, []byte{1}
		c.Bytes, c.Scale, c.Signed, c.Zero = make([]byte, n), []float32{float32(math.NaN())}, true, 3
		c.multiply()
		requireInts(t, "NaN", c.Bytes, slices.Repeat([]byte{0x80}, n))
	})
}

// TestMultiplyBytesProperty draws sizes, zero points and kinds of results.
func TestMultiplyBytesProperty(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
			size := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(0, 90))
			m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(500, 1200)).Draw(t, "k")
			r := newRand(rapid.Uint64().Draw(t, "seed"))
			c := newByteCase(r, m, n, k, rapid.IntRange(0, 3).Draw(t, "gap"), flag("signedA"), flag("signedB"), flag("transB"), flag("extreme"))
			c.ZeroA = element(byte(r.Uint32()), c.SignedA)
			for range rapid.SampledFrom([]int{0, 1, n}).Draw(t, "zeros") {
				c.ZeroB = append(c.ZeroB, element(byte(r.Uint32()), c.signedB))
			}
			if flag("bias") {
				c.Bias = make([]int32, n)
				for i := range c.Bias {
					c.Bias[i] = int32(r.Uint32()) / 2
				}
			}
			sums := c.sums()
			c.Scale = []float32{r.Float32() / 1000}
			if flag("scales") {
				c.Scale = vector[float32](r, n)
			}
			if flag("add") {
				c.Add = vector[float32](r, n)
			}
			scaled := func(i int) float32 {
				x := float32(sums[i])
				if len(c.Scale) > 1 {
					x *= c.Scale[i%n]
				} else if len(c.Scale) == 1 {
					x *= c.Scale[0]
				}
				if c.Add != nil {
					x += c.Add[i%n]
				}
				return x
			}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				c.Ints = make([]int32, m*n)
				c.multiply()
				requireInts(t, c.String(), c.Ints, sums)
			case 1:
				c.Floats = make([]float32, m*n)
				c.multiply()
				for i := range c.Floats {
					if c.Floats[i] != scaled(i) {
						t.Fatalf("%v: element %d: got %v, want %v", &c, i, c.Floats[i], scaled(i))
					}
				}
			default:
				c.Bytes, c.Signed = make([]byte, m*n), flag("signed")
				c.Zero = element(byte(r.Uint32()), c.Signed)
				c.multiply()
				low, high := 0.0, 255.0
				if c.Signed {
					low, high = -128, 127
				}
				for i := range c.Bytes {
					want := math.RoundToEven(float64(scaled(i))) + float64(c.Zero)
					if got := float64(element(c.Bytes[i], c.Signed)); got != min(max(want, low), high) {
						t.Fatalf("%v: element %d: got %v, want %v", &c, i, got, want)
					}
				}
			}
		})
	})
}

// TestBytesRoundToEven tests results halfway between two integers, and at the limits.
func TestBytesRoundToEven(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		c := byteCase{k: 1, n: 16, ldb: 16, signedB: true, b: make([]byte, 16)}
		for i := range c.b {
			c.b[i] = byte(i - 8)
		}
		c.M, c.LDA, c.A = 1, 1, []byte{1}
		c.Bytes, c.Scale, c.Signed = make([]byte, 16), []float32{0.5}, true
		c.multiply()
		want := []int8{-4, -4, -3, -2, -2, -2, -1, 0, 0, 0, 1, 2, 2, 2, 3, 4}
		for i, w := range want {
			if got := int8(c.Bytes[i]); got != w {
				t.Errorf("%d/2: got %d, want %d", i-8, got, w)
			}
		}
		c.Zero, c.Scale = 127, []float32{1}
		c.multiply()
		if got := int8(c.Bytes[15]); got != 127 {
			t.Errorf("127+7: got %d", got)
		}
	})
}

func TestPackBytesUnpacks(t *testing.T) {
	r := newRand(3)
	for _, size := range [][2]int{{0, 3}, {1, 1}, {5, 17}, {8, 32}, {33, 16}} {
		for i := range 4 {
			k, n, trans, signed := size[0], size[1], i&1 > 0, i&2 > 0
			b := drawnBytes(r, k*n, false)
			ld := n
			if trans {
				ld = k
			}
			got := make([]byte, k*n)
			PackBytes(b, ld, k, n, trans, signed).Unpack(got)
			requireInts(t, fmt.Sprint(size, trans, signed), got, b)
		}
	}
}

func TestMultiplyBytesDoesNotAllocate(t *testing.T) {
	for _, m := range []int{1, 3, 40} {
		c := newByteCase(newRand(1), m, 130, 301, 0, true, false, false, false)
		c.ZeroB, c.Ints = []int32{3}, make([]int32, m*130)
		c.B = PackBytes(c.b, c.ldb, c.k, c.n, false, false)
		requireNoAllocs(t, "MultiplyBytes", func() { MultiplyBytes(c.ByteProduct) })
	}
}

// TestPackedBytesAreShared: several goroutines multiply by one operand at the same time.
func TestPackedBytesAreShared(t *testing.T) {
	withProcs(t, 4)
	for m := 1; m <= 3; m++ {
		c := newByteCase(newRand(9), m, 1030, 700, 0, false, true, false, false)
		c.B = PackBytes(c.b, c.ldb, c.k, c.n, false, true)
		want := c.sums()
		var all sync.WaitGroup
		var results [4][]int32
		for i := range results {
			results[i] = make([]int32, len(want))
			all.Go(func() {
				p := c.ByteProduct
				p.Ints = results[i]
				for range 20 {
					MultiplyBytes(p)
				}
			})
		}
		all.Wait()
		for _, got := range results {
			requireInts(t, fmt.Sprint(m, " rows"), got, want)
		}
	}
}

// TestBytesOfWrongSizes checks that nothing is read or written beyond a slice.
func TestBytesOfWrongSizes(t *testing.T) {
	for name, spoil := range map[string]func(c *byteCase){
		"A":      func(c *byteCase) { c.A = c.A[1:] },
		"result": func(c *byteCase) { c.Ints = c.Ints[1:] },
		"bias":   func(c *byteCase) { c.Bias = make([]int32, 4) },
		"zeros":  func(c *byteCase) { c.ZeroB = make([]int32, 4) },
		"B":      func(c *byteCase) { c.b = c.b[1:] },
		"scale":  func(c *byteCase) { c.Floats, c.Scale = make([]float32, 15), make([]float32, 4) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newByteCase(newRand(1), 3, 5, 7, 0, false, true, false, false)
			c.Ints = make([]int32, 15)
			spoil(&c)
			defer func() {
				if recover() == nil {
					t.Error("the product was computed")
				}
			}()
			c.multiply()
		})
	}
}

// TestConvolveBytes draws windows, and compares with the convolution by its definition.
func TestConvolveBytes(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			g := drawWindow(t, 0)
			g.Groups = 1
			r := newRand(rapid.Uint64().Draw(t, "seed"))
			c := newByteCase(r, 0, g.OutC, g.patch(), 0, rapid.Bool().Draw(t, "signedA"), rapid.Bool().Draw(t, "signedB"), false, false)
			c.ZeroA = element(byte(r.Uint32()), c.SignedA)
			c.ZeroB = []int32{element(byte(r.Uint32()), c.signedB)}
			x := drawnBytes(r, g.inSize(), false)
			want := make([]int32, g.outSize())
			eachPair(g, func(out, in, tap int) {
				for ic := range g.InC {
					for oc := range g.OutC {
						want[out*g.OutC+oc] += (element(x[in*g.InC+ic], c.SignedA) - c.ZeroA) * (element(c.b[(tap*g.InC+ic)*g.OutC+oc], c.signedB) - c.ZeroB[0])
					}
				}
			})
			c.B = PackBytes(c.b, c.ldb, c.k, c.n, false, c.signedB)
			c.Ints = make([]int32, g.outSize())
			ConvolveBytes(g, x, c.ByteProduct)
			requireInts(t, fmt.Sprint(g), c.Ints, want)
		})
	})
}

// TestConvolveBytesInParts has more patches than are gathered at once.
func TestConvolveBytesInParts(t *testing.T) {
	g := cnnLayer(3, 70, 9, 4)
	if g.pixels()*g.patch() <= byteGathered {
		t.Fatal("one part")
	}
	x, w := drawnBytes(newRand(1), g.inSize(), false), drawnBytes(newRand(2), g.weights(), false)
	p := ByteProduct{ZeroA: 7, B: PackBytes(w, g.OutC, g.patch(), g.OutC, false, true), ByteResult: ByteResult{Bytes: make([]byte, g.outSize()), Scale: []float32{0.01}}}
	ConvolveBytes(g, x, p)
	for i := range g.Batch {
		one, q := g, p
		one.Batch, q.Bytes = 1, make([]byte, g.outSize()/g.Batch)
		ConvolveBytes(one, x[i*one.inSize():], q)
		requireInts(t, fmt.Sprint("image ", i), p.Bytes[i*one.outSize():][:one.outSize()], q.Bytes)
	}
}

func BenchmarkMultiplyBytes(b *testing.B) {
	for _, s := range [][3]int{{1, 1024, 1024}, {32, 1024, 1024}, {128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {3136, 64, 576}, {784, 128, 512}, {196, 256, 2304}, {49, 512, 4608}} {
		m, n, k := s[0], s[1], s[2]
		c := newByteCase(newRand(1), m, n, k, 0, false, true, false, false)
		c.Ints, c.B = make([]int32, m*n), PackBytes(c.b, n, k, n, false, true)
		f := gemmCase[float32](1, m, n, k, false, false, 0)
		packed := PackedArgs[float32]{M: m, A: f.A, LDA: k, B: PackB(f.B, n, k, n, false), C: f.C, LDC: n}
		for name, f := range map[string]func(){"bytes": func() { MultiplyBytes(c.ByteProduct) }, "float32": func() { MatMulPacked(packed) }} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", m, n, k, name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(2*float64(m*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
			})
		}
	}
}
