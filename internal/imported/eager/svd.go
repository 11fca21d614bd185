package eager

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// decompositionOps decompose matrices [..., m, n], and solve systems by it. They compute in float64 and complex128.
var decompositionOps = map[*ops.Def]maker{
	ops.Svd:           singular,
	ops.Lu:            luOf,
	ops.MatrixSolveLs: leastSquares,
}

// singular finds singular values, largest first, and singular vectors if requested.
// The vectors' signs or phases, and the vectors of equal values, are not determined: they may differ from TensorFlow's.
func singular(s *site) (kernel, error) {
	f := singularForm{vectors: s.boolean("compute_uv", true), full: s.boolean("full_matrices", false)}
	return inexact(singularEach[float32, float64](f), singularEach[float64, float64](f), singularEach[complex64, complex128](f), singularEach[complex128, complex128](f)), nil
}

// singularForm says what is computed besides the values.
type singularForm struct {
	vectors, full bool
	m, n          int // of the matrix
}

// widths returns the numbers of left and right vectors.
func (f singularForm) widths() (left, right int) {
	if f.full {
		return f.m, f.n
	}
	return min(f.m, f.n), min(f.m, f.n)
}

func singularEach[T inexactNumber, W kernels.Field](f singularForm) kernel {
	return func(c call) error { return singularOf[T, W](c, f) }
}

func singularOf[T inexactNumber, W kernels.Field](c call, f singularForm) error {
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
	if err := c.room(4*(f.m*f.n+f.m*left+f.n*right), 16); err != nil {
		return err
	}
	src := tensor.Values[T](a)
	for i := range product(lead) {
		d := decompose(widen[W](src[i*f.m*f.n:(i+1)*f.m*f.n]), f, c.ended)
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

// singularValues is the decomposition of one matrix: left·diag(values)·rightᴴ. Vectors are columns.
type singularValues[W kernels.Field] struct {
	values      []float64
	left, right []W
}

// decompose decomposes a matrix [m,n]. If a number is not finite, all results are NaN. Once ended, results may be wrong.
func decompose[W kernels.Field](src []W, f singularForm, ended func() bool) singularValues[W] {
	wide := f.n > f.m
	h := newHestenes(src, f.m, f.n, wide)
	h.ended = ended
	exponent, finite := scaleDown(h.a)
	if !finite {
		return undefinedParts[W](f)
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

// scaleDown divides a by the power of 2 that makes its largest element about 1, so that squares stay in the range of a float64. If an
// element is not finite, it does nothing.
func scaleDown[W kernels.Field](a []W) (exponent int, finite bool) {
	largest := 0.0
	for _, v := range a {
		largest = max(largest, kernels.Magnitude(v))
		if v-v != 0 {
			return 0, false
		}
	}
	_, exponent = math.Frexp(min(largest, math.MaxFloat64))
	for i, v := range a {
		a[i] = kernels.Ldexp(v, -exponent)
	}
	return exponent, true
}

func undefinedParts[W kernels.Field](f singularForm) (d singularValues[W]) {
	left, right := f.widths()
	d.values, d.left, d.right = make([]float64, min(f.m, f.n)), make([]W, f.m*left), make([]W, f.n*right)
	for i := range d.values {
		d.values[i] = math.NaN()
	}
	for _, part := range [][]W{d.left, d.right} {
		for i := range part {
			part[i] = kernels.FromReal[W](math.NaN())
		}
	}
	return d
}

// hestenes is Jacobi's method with rotations of columns: they become orthogonal, and their lengths are the singular values.
// Columns are stored one after another.
type hestenes[W kernels.Field] struct {
	m, n  int // m ≥ n
	a, v  []W // n columns of m and of n elements
	ended func() bool
}

// newHestenes starts with a matrix [m,n], or with its adjoint.
func newHestenes[W kernels.Field](src []W, m, n int, adjoint bool) *hestenes[W] {
	h := &hestenes[W]{m: max(m, n), n: min(m, n), a: make([]W, m*n)}
	for i := range m {
		for j := range n {
			if adjoint {
				h.a[i*h.m+j] = kernels.Conj(src[i*n+j])
			} else {
				h.a[j*h.m+i] = src[i*n+j]
			}
		}
	}
	h.v = make([]W, h.n*h.n)
	for i := range h.n {
		h.v[i*h.n+i] = 1
	}
	return h
}

func (h *hestenes[W]) column(i int) []W { return h.a[i*h.m : (i+1)*h.m] }
func (h *hestenes[W]) turns(i int) []W  { return h.v[i*h.n : (i+1)*h.n] }

// run rotates pairs of columns until all are orthogonal.
func (h *hestenes[W]) run() {
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

// turn makes two columns orthogonal, and reports whether it changed them.
func (h *hestenes[W]) turn(p, q int) bool {
	x, y := h.column(p), h.column(q)
	pp, qq, pq := kernels.Real(dot(x, x)), kernels.Real(dot(y, y)), dot(x, y)
	if kernels.Magnitude(pq) <= 1e-15*math.Sqrt(pp)*math.Sqrt(qq) {
		return false
	}
	j, ok := jacobiRotation(pp, qq, pq)
	if !ok {
		return false
	}
	back := kernels.Conj(j.s)
	for _, pair := range [2][2][]W{{x, y}, {h.turns(p), h.turns(q)}} {
		for i, v := range pair[0] {
			w := pair[1][i]
			pair[0][i], pair[1][i] = j.c*v-back*w, j.s*v+j.c*w
		}
	}
	return true
}

// dot returns the sum of conj(x[i])·y[i].
func dot[W kernels.Field](x, y []W) (sum W) {
	switch sum := any(&sum).(type) {
	case *float64:
		y := any(y).([]float64)
		for i, v := range any(x).([]float64) {
			*sum += v * y[i]
		}
	case *complex128:
		y := any(y).([]complex128)
		for i, v := range any(x).([]complex128) {
			*sum += complex(real(v), -imag(v)) * y[i]
		}
	}
	return sum
}

// parts returns the values, and the left and right vectors, of a matrix that was not transposed.
func (h *hestenes[W]) parts(f singularForm) (d singularValues[W]) {
	lengths, order := make([]float64, h.n), make([]int, h.n)
	for i := range order {
		sum := 0.0
		for _, v := range h.column(i) {
			sum = math.Hypot(sum, kernels.Magnitude(v))
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
	columns := make([]W, 0, h.m*width)
	d.right = make([]W, h.n*h.n)
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
	d.left = make([]W, h.m*width)
	for i, v := range columns {
		d.left[i%h.m*width+i/h.m] = v
	}
	return d
}

// unit appends column divided by its length. If the length is negligible compared with the largest, the column may not be orthogonal to
// columns: it is made orthogonal, or replaced by a unit vector.
func (h *hestenes[W]) unit(columns, column []W, length, largest float64) []W {
	w := make([]W, h.m)
	for i := range column {
		w[i] = column[i] / kernels.FromReal[W](length)
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

// farthest returns the unit vector that is least covered by the columns.
func (h *hestenes[W]) farthest(columns []W) (best int) {
	have := make([]float64, h.m)
	for i, v := range columns {
		have[i%h.m] += kernels.Real(v * kernels.Conj(v))
	}
	for i, v := range have {
		if v < have[best] {
			best = i
		}
	}
	return best
}

// orthogonalize makes w orthogonal to columns of length 1, and scales it to length 1. It returns its length before scaling.
func orthogonalize[W kernels.Field](w, columns []W) (length float64) {
	for range 2 { // twice is enough
		for k := 0; k < len(columns); k += len(w) {
			project(w, columns[k:k+len(w)])
		}
	}
	for _, v := range w {
		length = math.Hypot(length, kernels.Magnitude(v))
	}
	for i := range w {
		w[i] /= kernels.FromReal[W](length)
	}
	return length
}

// project subtracts the part of w along a unit vector.
func project[W kernels.Field](w, unit []W) {
	along := dot(unit, w)
	for i, v := range unit {
		w[i] -= along * v
	}
}
