package eager

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// decompositionOps decompose matrices [..., m, n], and solve with what they find. They compute in float64.
var decompositionOps = map[*ops.Def]maker{
	ops.Svd:           singular,
	ops.Lu:            luOf,
	ops.MatrixSolveLs: leastSquares,
}

// singular finds singular values, the largest first, and singular vectors where asked.
// The signs of the vectors, and vectors of equal values, are not determined: they may be others than TensorFlow's.
func singular(s *site) (kernel, error) {
	f := singularForm{vectors: s.boolean("compute_uv", true), full: s.boolean("full_matrices", false)}
	return floats(func(c call) error { return singularEach[float32](c, f) }, func(c call) error { return singularEach[float64](c, f) }).on(0), nil
}

// singularForm says what is computed beside the values.
type singularForm struct {
	vectors, full bool
	m, n          int // of a matrix
}

// widths returns how many vectors there are on the left and on the right.
func (f singularForm) widths() (left, right int) {
	if f.full {
		return f.m, f.n
	}
	return min(f.m, f.n), min(f.m, f.n)
}

func singularEach[T float](c call, f singularForm) error {
	a := c.t(0)
	r := len(a.Shape) - 2
	if r < 0 {
		return fmt.Errorf("Input tensor must be at least of rank 2, got shape %v", a.Shape)
	}
	f.m, f.n = a.Shape[r], a.Shape[r+1]
	k, lead := min(f.m, f.n), a.Shape[:r]
	left, right := f.widths()
	values, err := outputOf[T](c, 0, slices.Concat(lead, []int{k})...)
	if err != nil {
		return err
	}
	shapes := [2][]int{slices.Concat(lead, []int{f.m, left}), slices.Concat(lead, []int{f.n, right})}
	if !f.vectors {
		shapes = [2][]int{}
	}
	var u, v []T
	if u, err = outputOf[T](c, 1, shapes[0]...); err != nil {
		return err
	}
	if v, err = outputOf[T](c, 2, shapes[1]...); err != nil {
		return err
	}
	if err := c.room(4*(f.m*f.n+f.m*left+f.n*right), 8); err != nil {
		return err
	}
	src := tensor.Values[T](a)
	for i := range product(lead) {
		d := decompose(src[i*f.m*f.n:(i+1)*f.m*f.n], f, func() bool { return c.ctx.Err() != nil })
		if err := c.ctx.Err(); err != nil {
			return err
		}
		narrowTo(values[i*k:(i+1)*k], d.values)
		if f.vectors {
			narrowTo(u[i*f.m*left:(i+1)*f.m*left], d.left)
			narrowTo(v[i*f.n*right:(i+1)*f.n*right], d.right)
		}
	}
	return nil
}

// narrowTo writes numbers as another type.
func narrowTo[T float](dst []T, src []float64) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

// singularValues are the parts of one matrix: left·diag(values)·rightᵀ. Vectors are columns.
type singularValues struct {
	values, left, right []float64
}

// decompose finds the parts of a matrix [m,n]. Of one with a number that is not finite all parts are NaN. Once ended, they need not be right.
func decompose[T float](src []T, f singularForm, ended func() bool) singularValues {
	wide := f.n > f.m
	h := newHestenes(src, f.m, f.n, wide)
	h.ended = ended
	exponent, finite := scaleDown(h.a)
	if !finite {
		return f.undefined()
	}
	h.run()
	d := h.parts(f)
	for i, v := range d.values {
		d.values[i] = math.Ldexp(v, exponent)
	}
	if wide {
		d.left, d.right = d.right, d.left
	}
	return d
}

// scaleDown divides numbers by the power of 2 that makes the largest about 1, so that squares stay in the range of a float64. It does nothing
// where one is not finite.
func scaleDown(a []float64) (exponent int, finite bool) {
	largest := 0.0
	for _, v := range a {
		largest = max(largest, math.Abs(v))
	}
	if math.IsNaN(largest) || math.IsInf(largest, 0) {
		return 0, false
	}
	_, exponent = math.Frexp(largest)
	for i, v := range a {
		a[i] = math.Ldexp(v, -exponent)
	}
	return exponent, true
}

func (f singularForm) undefined() (d singularValues) {
	left, right := f.widths()
	d.values, d.left, d.right = make([]float64, min(f.m, f.n)), make([]float64, f.m*left), make([]float64, f.n*right)
	for _, part := range [][]float64{d.values, d.left, d.right} {
		for i := range part {
			part[i] = math.NaN()
		}
	}
	return d
}

// hestenes is Jacobi's method with rotations of columns: they become orthogonal, and their lengths are the singular values.
// Columns lie one after the other.
type hestenes struct {
	m, n  int       // m ≥ n
	a, v  []float64 // n columns of m, and of n
	ended func() bool
}

// newHestenes takes a matrix [m,n], or its transpose.
func newHestenes[T float](src []T, m, n int, transposed bool) *hestenes {
	h := &hestenes{m: max(m, n), n: min(m, n), a: make([]float64, m*n)}
	for i := range m {
		for j := range n {
			at := j*h.m + i
			if transposed {
				at = i*h.m + j
			}
			h.a[at] = float64(src[i*n+j])
		}
	}
	h.v = make([]float64, h.n*h.n)
	for i := range h.n {
		h.v[i*h.n+i] = 1
	}
	return h
}

func (h *hestenes) column(i int) []float64 { return h.a[i*h.m : (i+1)*h.m] }
func (h *hestenes) turns(i int) []float64  { return h.v[i*h.n : (i+1)*h.n] }

// run turns pairs of columns until all are orthogonal.
func (h *hestenes) run() {
	for range sweeps {
		turned := false
		for p := range h.n {
			if h.ended() {
				return
			}
			for q := p + 1; q < h.n; q++ {
				turned = h.turn(p, q) || turned
			}
		}
		if !turned {
			return
		}
	}
}

// turn makes two columns orthogonal, and reports whether they were not.
func (h *hestenes) turn(p, q int) bool {
	x, y := h.column(p), h.column(q)
	var pp, qq, pq float64
	for i, v := range x {
		pp, qq, pq = pp+v*v, qq+y[i]*y[i], pq+v*y[i]
	}
	if math.Abs(pq) <= 1e-15*math.Sqrt(pp)*math.Sqrt(qq) || pq == 0 {
		return false
	}
	theta := (qq - pp) / (2 * pq)
	t := math.Copysign(1, theta) / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	c := 1 / math.Sqrt(t*t+1)
	for _, pair := range [2][2][]float64{{x, y}, {h.turns(p), h.turns(q)}} {
		for i, v := range pair[0] {
			w := pair[1][i]
			pair[0][i], pair[1][i] = c*v-c*t*w, c*t*v+c*w
		}
	}
	return true
}

// parts returns the values, the left vectors and the right ones, of a matrix that was not transposed.
func (h *hestenes) parts(f singularForm) (d singularValues) {
	lengths, order := make([]float64, h.n), make([]int, h.n)
	for i := range order {
		sum := 0.0
		for _, v := range h.column(i) {
			sum = math.Hypot(sum, v)
		}
		lengths[i], order[i] = sum, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lengths[b], lengths[a]) })
	d.values = make([]float64, h.n)
	for i, from := range order {
		d.values[i] = lengths[from]
	}
	if !f.vectors {
		return d
	}
	width := h.n
	if f.full {
		width = h.m
	}
	columns := make([]float64, 0, h.m*width)
	d.right = make([]float64, h.n*h.n)
	for i, from := range order {
		if h.ended() {
			break
		}
		columns = h.unit(columns, h.column(from), lengths[from], d.values[0])
		for row, v := range h.turns(from) {
			d.right[row*h.n+i] = v
		}
	}
	for len(columns) < h.m*width && !h.ended() {
		columns = h.unit(columns, nil, 0, 1)
	}
	d.left = make([]float64, h.m*width)
	for i, v := range columns {
		d.left[i%h.m*width+i/h.m] = v
	}
	return d
}

// unit appends a column over its length. Where that is about nothing beside the largest, the column may not be orthogonal to the columns there
// are: it is made so, or a unit vector is in its place.
func (h *hestenes) unit(columns, column []float64, length, largest float64) []float64 {
	w := make([]float64, h.m)
	for i := range column {
		w[i] = column[i] / length
	}
	if length > 1e-15*largest {
		return append(columns, w...)
	}
	if !(length > 1e-300 && orthogonalize(w, columns) > 0.5) {
		clear(w)
		w[h.farthest(columns)] = 1
		orthogonalize(w, columns)
	}
	return append(columns, w...)
}

// farthest returns which unit vector the columns have the least of.
func (h *hestenes) farthest(columns []float64) (best int) {
	have := make([]float64, h.m)
	for i, v := range columns {
		have[i%h.m] += v * v
	}
	for i, v := range have {
		if v < have[best] {
			best = i
		}
	}
	return best
}

// orthogonalize makes w orthogonal to columns of length 1, and its length 1. It returns the length that was left.
func orthogonalize(w, columns []float64) (length float64) {
	for range 2 { // twice is enough
		for k := 0; k < len(columns); k += len(w) {
			project(w, columns[k:k+len(w)])
		}
	}
	for _, v := range w {
		length = math.Hypot(length, v)
	}
	for i := range w {
		w[i] /= length
	}
	return length
}

// project takes from w what lies along a unit vector.
func project(w, unit []float64) {
	dot := 0.0
	for i, v := range unit {
		dot += v * w[i]
	}
	for i, v := range unit {
		w[i] -= dot * v
	}
}
