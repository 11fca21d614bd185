package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/testkit"
)

// gemmCase is a product with its operands as float64, rounded to bfloat16 for products of that.
type gemmCase struct {
	kernels.Gemm
	a, b, bias []float64
}

// newGemm makes random operands of packed matrices for g's sizes, with pad more elements in each row.
func newGemm(g kernels.Gemm, pad int, bias bool) *gemmCase {
	rng := rand.New(rand.NewPCG(uint64(g.M*31+g.N), uint64(g.K)))
	g.Batch = max(g.Batch, 1)
	ra, ca, rb, cb := g.M, g.K, g.K, g.N
	if g.TransA {
		ra, ca = ca, ra
	}
	if g.TransB {
		rb, cb = cb, rb
	}
	g.LDA, g.LDB, g.LDOut = ca+pad, cb+pad, g.N+pad
	g.StrideA, g.StrideB, g.StrideO = ra*g.LDA, rb*g.LDB, g.M*g.LDOut
	random := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
			switch g.Type {
			case kernels.GemmFloat32:
				v[i] = float64(float32(v[i]))
				if g.TF32 { // exact, so that a factor in the wrong place is noticed
					v[i] = math.Round(16*v[i]) / 16
				}
			case kernels.GemmBFloat16:
				v[i] = float64(math.Float32frombits(math.Float32bits(float32(v[i])) &^ 0xffff))
			}
		}
		return v
	}
	c := &gemmCase{Gemm: g, a: random(g.Batch * g.StrideA), b: random(g.Batch * g.StrideB)}
	if bias {
		c.bias = random(g.N)
	}
	return c
}

// want returns the results in float64, packed, and for each result the sum of its terms' absolute values.
func (c *gemmCase) want() (sums, sizes []float64) {
	for z := range c.Batch {
		for i := range c.M {
			for j := range c.N {
				s, size := 0.0, 0.0
				for k := range c.K {
					ia, ib := i*c.LDA+k, k*c.LDB+j
					if c.TransA {
						ia = k*c.LDA + i
					}
					if c.TransB {
						ib = j*c.LDB + k
					}
					v := c.a[z*c.StrideA+ia] * c.b[z*c.StrideB+ib]
					s, size = s+v, size+math.Abs(v)
				}
				if c.bias != nil {
					s, size = s+c.bias[j], size+math.Abs(c.bias[j])
				}
				if c.Relu {
					s = max(s, 0)
				}
				sums, sizes = append(sums, s), append(sizes, size)
			}
		}
	}
	return sums, sizes
}

// put uploads numbers in a type.
func put(r *rig, v []float64, bytes int) driver.Ptr {
	switch bytes {
	case 2:
		u := make([]uint16, len(v))
		for i, x := range v {
			u[i] = uint16(math.Float32bits(float32(x)) >> 16)
		}
		return up(r, u)
	case 4:
		return up(r, narrow(v))
	}
	return up(r, v)
}

// get reads numbers of a type.
func get(r *rig, p driver.Ptr, n, bytes int) []float64 {
	switch bytes {
	case 2:
		v := make([]float64, n)
		for i, u := range down[uint16](r, p, n) {
			v[i] = float64(math.Float32frombits(uint32(u) << 16))
		}
		return v
	case 4:
		return wide(down[float32](r, p, n))
	}
	return down[float64](r, p, n)
}

func (c *gemmCase) check(t *testing.T, r *rig) {
	t.Helper()
	in, out := 4, 4
	switch c.Type {
	case kernels.GemmFloat64:
		in, out = 8, 8
	case kernels.GemmBFloat16:
		in = 2
	}
	if c.BFloat16Out {
		out = 2
	}
	c.A, c.B = put(r, c.a, in), put(r, c.b, in)
	if c.bias != nil {
		c.Bias = put(r, c.bias, out)
	}
	n := c.Batch * c.StrideO
	c.Out, c.ScratchSize = r.alloc(n*out), c.ScratchBytes()
	c.Scratch = r.alloc(c.ScratchSize)
	r.run(c.Calls()...)
	got := get(r, c.Out, n, out)
	want, sizes := c.want()
	tolerance := map[int]float64{2: 1.0 / 256, 4: 1e-6, 8: 1e-15}[out] * math.Sqrt(float64(c.K+16)) / 4
	for i, w := range want {
		g := got[i/c.N*c.LDOut+i%c.N]
		if !testkit.Near(g, w, tolerance*sizes[i]+tolerance*math.Abs(w)) {
			t.Fatalf("%+v: element %d: expected %g, got %g", c.Gemm, i, w, g)
		}
		for j := c.N; j < c.LDOut && i%c.N == 0; j++ {
			if !math.IsNaN(got[i/c.N*c.LDOut+j]) {
				t.Fatalf("%+v: row %d: wrote behind its end", c.Gemm, i/c.N)
			}
		}
	}
}

func TestGemm(t *testing.T) {
	r := newRig(t, "gemm")
	sizes := [][3]int{{1, 1, 1}, {5, 7, 3}, {64, 64, 16}, {65, 68, 33}, {3, 130, 50}, {132, 12, 20}}
	for _, typ := range []kernels.GemmType{kernels.GemmFloat32, kernels.GemmBFloat16, kernels.GemmFloat64} {
		for i, s := range sizes {
			for trans := range 4 {
				g := kernels.Gemm{Type: typ, M: s[0], N: s[1], K: s[2], TransA: trans&1 != 0, TransB: trans&2 != 0, Relu: i%2 == 0, Batch: 1 + i%3}
				g.BFloat16Out = typ == kernels.GemmBFloat16 && trans < 2
				newGemm(g, []int{0, 1, 4}[(i+trans)%3], i != 1).check(t, r)
			}
		}
	}
}

func TestGemmOfLargeTiles(t *testing.T) {
	r := newRig(t, "gemm")
	for _, trans := range []bool{false, true} {
		c := newGemm(kernels.Gemm{M: 140, N: 200, K: 2050, TransA: trans, TransB: trans}, 4, true)
		if name := c.Calls()[0].Kernel; name != "gemm_f32_128" || c.ScratchBytes() == 0 {
			t.Fatalf("got %s with %d bytes: expected large tiles, and k split", name, c.ScratchBytes())
		}
		c.check(t, r)
	}
	// Without a split.
	newGemm(kernels.Gemm{M: 129, N: 260, K: 20, Batch: 1}, 0, true).check(t, r)
}

// TestGemmByTensorCores goes through all transposes, edges, both types of results, and a split.
func TestGemmByTensorCores(t *testing.T) {
	r := newRig(t, "gemm")
	sizes := [][3]int{{128, 128, 32}, {17, 70, 35}, {130, 133, 9}, {66, 20, 50}}
	for form := range 8 {
		i, bf16 := (form+form/4)%4, form/4 == 1
		s := sizes[i]
		g := kernels.Gemm{M: s[0], N: s[1], K: s[2], TransA: form&1 != 0, TransB: form&2 != 0, Relu: i == 1, Batch: 1 + form%2, TF32: true}
		if bf16 {
			g.Type, g.BFloat16Out = kernels.GemmBFloat16, i > 1
		}
		c := newGemm(g, []int{0, 4, 1}[form%3], i != 2)
		if name := c.Calls()[0].Kernel; name != "gemm_bf16_tensor" && name != "gemm_tf32_tensor" {
			t.Fatalf("%+v: got %s", g, name)
		}
		c.check(t, r)
	}
	c := newGemm(kernels.Gemm{M: 20, N: 64, K: 520, TransA: true, Type: kernels.GemmBFloat16, Relu: true}, 0, true)
	if c.ScratchBytes() == 0 {
		t.Error("expected k to be split")
	}
	c.check(t, r)
}

// TestGemmOfWeightGradients splits k of products with small results.
func TestGemmOfWeightGradients(t *testing.T) {
	r := newRig(t, "gemm")
	for i, typ := range []kernels.GemmType{kernels.GemmFloat32, kernels.GemmBFloat16, kernels.GemmFloat64} {
		c := newGemm(kernels.Gemm{Type: typ, M: 10, N: 30 + i, K: 1000, TransA: true, Relu: i == 1, Batch: 1 + i}, i, true)
		c.BFloat16Out = typ == kernels.GemmBFloat16
		if c.ScratchBytes() == 0 || len(c.Calls()) != 1 {
			t.Fatalf("%+v: expected k to be split where there is memory", c.Gemm)
		}
		c.check(t, r)
		if len(c.Calls()) != 2 {
			t.Fatalf("%+v: expected k to be split", c.Gemm)
		}
	}
}

func TestGemmBroadcastAndEmpty(t *testing.T) {
	r := newRig(t, "gemm")
	c := newGemm(kernels.Gemm{M: 6, N: 8, K: 5, Batch: 3}, 0, false)
	for z := 1; z < 3; z++ {
		copy(c.b[z*c.StrideB:(z+1)*c.StrideB], c.b)
	}
	stride := c.StrideB
	c.StrideB = 0
	c.check(t, r)
	c.StrideB = stride

	newGemm(kernels.Gemm{M: 3, N: 4, K: 0, Relu: true}, 0, true).check(t, r)
	if calls := (kernels.Gemm{M: 0, N: 4, K: 5, Batch: 1}).Calls(); len(calls) != 0 {
		t.Errorf("a product without results: got %d launches", len(calls))
	}
}

// TestGemmPropagatesNaN checks that neither ReLU nor edges hide or spread a NaN.
func TestGemmPropagatesNaN(t *testing.T) {
	r := newRig(t, "gemm")
	c := newGemm(kernels.Gemm{M: 3, N: 5, K: 9, Relu: true}, 0, false)
	c.a[1*c.LDA+8] = math.NaN()
	c.A, c.B, c.Out = put(r, c.a, 4), put(r, c.b, 4), r.alloc(4*15)
	r.run(c.Calls()...)
	for i, v := range get(r, c.Out, 15, 4) {
		if math.IsNaN(v) != (i/5 == 1) {
			t.Errorf("element %d: got %g", i, v)
		}
	}
}

func TestGemmEpilogue(t *testing.T) {
	r := newRig(t, "gemm")
	x, bias := numbers(1, 2*3*5), numbers(2, 5)
	g := kernels.Gemm{Out: up(r, x), Bias: up(r, bias), M: 3, N: 5, Batch: 2, LDOut: 5, StrideO: 15, Relu: true}
	r.run(g.Epilogue())
	for i := range x {
		x[i] = max(0, x[i]+bias[i%5])
	}
	near(t, "epilogue", x, down[float32](r, g.Out, len(x)), 0)
}
