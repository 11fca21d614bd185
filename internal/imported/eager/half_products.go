package eager

import (
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// productSteps has matrix products. Eigen rounds each product and sum of float16. Products of bfloat16 are computed in float32, and rounded once.
var productSteps = map[*ops.Def]steps{
	ops.MatMul: func(d tensor.DType) maker {
		return func(s *site) (kernel, error) { return matMulBy(s, halfMultiplier(d)) }
	},
	ops.Einsum: func(d tensor.DType) maker {
		return func(s *site) (kernel, error) { return einsumBy(s, steppedMultiplier(d)) }
	},

	ops.BatchMatMul:   batchMatMulSteps,
	ops.BatchMatMulV2: batchMatMulSteps,
	ops.BatchMatMulV3: batchMatMulSteps,
}

func batchMatMulSteps(d tensor.DType) maker {
	return func(s *site) (kernel, error) { return batchMatMulBy(s, halfMultiplier(d)) }
}

// multiplying makes a product kernel; operands may be transposed.
type multiplying func(transA, transB bool) kernel

// halfMultiplier is for the products of MatMul.
func halfMultiplier(d tensor.DType) multiplying {
	if d == tensor.Float16 {
		return steppedMultiplier(d)
	}
	by := kernels.NearestBrain
	if CutsProducts() {
		by = kernels.CutBrain
	}
	return func(transA, transB bool) kernel {
		return batched(transA, transB, func(p product2, c, a, b []float32) {
			dense(p, c, a, b)
			kernels.Unary(by, c, c)
		})
	}
}

// CutsProducts reports whether matrix products of bfloat16 are truncated, as in TensorFlow's own kernels. On processors with AVX-512
// TensorFlow uses oneDNN, which rounds to nearest (IsBF16SupportedByOneDNNOnThisCPU).
func CutsProducts() bool { return kernels.ActiveLevel() < kernels.AVX512 }

// steppedMultiplier is for products that round each step.
func steppedMultiplier(d tensor.DType) multiplying {
	by := steppedProduct{roundings[d]}.multiply
	if d == tensor.Float16 {
		by = steppedProduct{}.multiply
	}
	return func(transA, transB bool) kernel { return batched(transA, transB, by) }
}

// steppedProduct is a matrix product whose steps are rounded.
type steppedProduct struct {
	r rounding // nil rounds to float16
}

// multiply adds in Eigen's order. For each element of a it goes along a row of b, which is the order of summation for most elements of c.
func (s steppedProduct) multiply(p product2, c, a, b []float32) {
	vector := p.m == 1 || p.n == 1
	if p.m == 1 && p.transB || p.n == 1 && p.m > 1 && !p.transA {
		s.dots(p, c, a, b)
		return
	}
	block := p.k
	if vector && p.k >= leastGemvBlock {
		block = gemvBlock
	}
	right := b
	if p.transB {
		right = transposed2(b, p.n, p.k)
	}
	rows := &steppedRows{s, p, c, a, right, block}
	if p.m*p.n*p.k < steppedParallel {
		rows.Run(0, p.m)
		return
	}
	kernels.Parallel(p.m, 1, rows)
}

// steppedParallel is the number of element products from which on rows are computed by all workers.
const steppedParallel = 1 << 16

// steppedRows computes rows of a product.
type steppedRows struct {
	steppedProduct
	p           product2
	c, a, right []float32
	block       int // number of steps in a block of k
}

// Run implements kernels.Task.
func (r *steppedRows) Run(lo, hi int) {
	from, to := r.p.pairs()
	part, odd := make([]float32, r.p.n), make([]float32, to-from)
	for i := lo; i < hi; i++ {
		row := r.c[i*r.p.n : (i+1)*r.p.n]
		twice := i < r.p.m/stepUnroll*stepUnroll && to > from
		for k0 := 0; k0 < r.p.k; k0 += r.block {
			clear(part)
			r.steps(part, odd, i, k0, twice)
			if k0 == 0 {
				copy(row, part)
			} else {
				r.addTo(row, 1, part)
			}
		}
	}
}

// steps adds a block of k, from k0 on, for row i. With twice, it sums even and odd steps of some columns separately.
func (r *steppedRows) steps(part, odd []float32, i, k0 int, twice bool) {
	p := r.p
	from, to := p.pairs()
	clear(odd)
	for k := k0; k < min(k0+r.block, p.k); k++ {
		x, y := p.left(r.a, i, k), r.right[k*p.n:(k+1)*p.n]
		switch {
		case twice && k < p.k/stepLanes*stepLanes && k%2 == 1:
			r.addTo(part[:from], x, y)
			r.addTo(odd, x, y[from:])
			r.addTo(part[to:], x, y[to:])
		case twice && k == p.k/stepLanes*stepLanes:
			r.addTo(part[from:to], 1, odd)
			clear(odd)
			fallthrough
		default:
			r.addTo(part, x, y)
		}
	}
	if twice && p.k%stepLanes == 0 {
		r.addTo(part[from:to], 1, odd)
	}
}

// pairs returns the columns that Eigen computes one vector at a time: it sums even and odd steps separately, for four rows at once.
func (p product2) pairs() (from, to int) {
	from = p.n / (2 * stepLanes) * (2 * stepLanes)
	return from, from + (p.n-from)/stepLanes*stepLanes
}

// left returns element [i,k] of op(a).
func (p product2) left(a []float32, i, k int) float32 {
	if p.transA {
		return a[k*p.m+i]
	}
	return a[i*p.k+k]
}

// transposed2 returns the transpose of x [rows,cols].
func transposed2(x []float32, rows, cols int) []float32 {
	t := make([]float32, len(x))
	for i := range rows {
		for j := range cols {
			t[j*rows+i] = x[i*cols+j]
		}
	}
	return t
}

// dots computes products with a vector, for which Eigen vectorizes along the sum.
func (s steppedProduct) dots(p product2, c, a, b []float32) {
	for i := range p.m {
		for j := range p.n {
			var acc [stepLanes]float32
			right := func(k int) float32 { return b[j*p.k+k] }
			if !p.transB {
				right = func(k int) float32 { return b[k*p.n+j] }
			}
			k := 0
			for ; k+stepLanes <= p.k; k += stepLanes {
				for l := range acc {
					acc[l] = s.round(acc[l] + s.round(p.left(a, i, k+l)*right(k+l)))
				}
			}
			sum := stepper{r: s.round}.across(acc)
			for ; k < p.k; k++ {
				sum = s.round(sum + s.round(p.left(a, i, k)*right(k)))
			}
			c[i*p.n+j] = sum
		}
	}
}

// round applies r.
func (s steppedProduct) round(v float32) float32 {
	if s.r == nil {
		return kernels.RoundHalf(v)
	}
	return s.r(v)
}

// addTo adds x times y to dst; it ignores the rest of y if dst is shorter.
func (s steppedProduct) addTo(dst []float32, x float32, y []float32) {
	y = y[:len(dst)]
	if s.r == nil {
		kernels.AddProductHalf(dst, y, x)
		return
	}
	for j, v := range y {
		dst[j] = s.r(dst[j] + s.r(x*v))
	}
}
