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
		shapes = [2][]int{{0}, {0}}
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

// decompose finds the parts of a matrix [m,n]. Of one with a number that is not finite all parts are NaN.
func decompose[T float](src []T, f singularForm, ended func() bool) singularValues {
	wide := f.n > f.m
	h := newHestenes(src, f.m, f.n, wide)
	for _, x := range h.a {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return f.undefined()
		}
	}
	h.run(ended)
	d := h.parts(f)
	if wide {
		d.left, d.right = d.right, d.left
	}
	return d
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
	m, n int       // m ≥ n
	a, v []float64 // n columns of m, and of n
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
func (h *hestenes) run(ended func() bool) {
	for range sweeps {
		turned := false
		for p := range h.n {
			if ended() {
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
	if math.Abs(pq) <= 1e-15*math.Sqrt(pp*qq) || pq == 0 {
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
		columns = h.unit(columns, h.column(from), lengths[from], d.values[0])
		for row, v := range h.turns(from) {
			d.right[row*h.n+i] = v
		}
	}
	for len(columns) < h.m*width {
		columns = h.unit(columns, nil, 0, 1)
	}
	d.left = make([]float64, h.m*width)
	for i := range width {
		for row := range h.m {
			d.left[row*width+i] = columns[i*h.m+row]
		}
	}
	return d
}

// unit appends a column over its length; where that is nothing beside the largest, a unit vector that is orthogonal to the columns there are.
func (h *hestenes) unit(columns, column []float64, length, largest float64) []float64 {
	if length > 1e-300 && length > 1e-15*largest {
		for _, v := range column {
			columns = append(columns, v/length)
		}
		return columns
	}
	have := len(columns) / h.m
	rest := make([]float64, h.m) // of each unit vector: how much of it the columns leave
	for i := range columns {
		rest[i%h.m] += columns[i] * columns[i]
	}
	best := 0
	for i, v := range rest {
		if v < rest[best] {
			best = i
		}
	}
	w := make([]float64, h.m)
	w[best] = 1
	for range 2 { // twice is enough
		for k := range have {
			project(w, columns[k*h.m:(k+1)*h.m])
		}
	}
	sum := 0.0
	for _, v := range w {
		sum = math.Hypot(sum, v)
	}
	for _, v := range w {
		columns = append(columns, v/sum)
	}
	return columns
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
