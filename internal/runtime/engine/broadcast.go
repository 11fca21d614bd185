package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// broadcast walks two operands under NumPy's rules. Neighbouring dimensions in which both operands behave alike are
// merged, so that the usual cases are a single vector operation.
type broadcast struct {
	dims   []int // the result's, merged
	sa, sb []int // steps of the operands, 0 where repeated
	index  []int
}

// prepare computes the walk for a result of the given sizes.
func (w *broadcast) prepare(a, b, out []int) error {
	w.dims, w.sa, w.sb = w.dims[:0], w.sa[:0], w.sb[:0]
	stepA, stepB := 1, 1
	lastA, lastB := false, false
	for i := range out { // from the last dimension to the first
		n := out[len(out)-1-i]
		da, db := fromEnd(a, i), fromEnd(b, i)
		if (da != n && da != 1) || (db != n && db != 1) || (da != n && db != n) {
			return fmt.Errorf("shapes %v and %v do not broadcast to %v", a, b, out)
		}
		if n == 1 {
			continue
		}
		ra, rb := da == 1, db == 1
		if k := len(w.dims) - 1; k >= 0 && ra == lastA && rb == lastB {
			w.dims[k] *= n
		} else {
			w.dims, w.sa, w.sb = append(w.dims, n), append(w.sa, stepUnless(ra, stepA)), append(w.sb, stepUnless(rb, stepB))
		}
		stepA, stepB, lastA, lastB = stepA*da, stepB*db, ra, rb
	}
	if len(a) > len(out) || len(b) > len(out) {
		return fmt.Errorf("shapes %v and %v do not broadcast to %v", a, b, out)
	}
	if len(w.dims) == 0 {
		w.dims, w.sa, w.sb = append(w.dims, 1), append(w.sa, 1), append(w.sb, 1)
	}
	w.index = append(w.index[:0], w.dims...)
	return nil
}

func fromEnd(dims []int, i int) int {
	if i >= len(dims) {
		return 1
	}
	return dims[len(dims)-1-i]
}

func stepUnless(repeated bool, step int) int {
	if repeated {
		return 0
	}
	return step
}

// vectors has the forms of a binary operation: on two vectors, and on a scalar and a vector in either order.
type vectors[T, R tensor.Element] struct {
	vv func(dst []R, a, b []T)
	vs func(dst []R, a []T, k T)
	sv func(dst []R, k T, b []T)
	// row and col are optional: [rows, cols] with a vector of columns or of rows as the second operand.
	row, col func(dst []R, a, b []T, rows, cols int)
}

// each applies f to all of dst.
func each[T, R tensor.Element](w *broadcast, f *vectors[T, R], dst []R, a, b []T) {
	switch {
	case len(dst) == 0:
		return
	case len(w.dims) == 1:
		inner(w, f, dst, a, b)
		return
	case len(w.dims) == 2 && w.sa[0] == 1 && w.sa[1] == w.dims[0] && w.sb[0] == 1 && w.sb[1] == 0 && f.row != nil:
		f.row(dst, a, b, w.dims[1], w.dims[0])
		return
	case len(w.dims) == 2 && w.sa[0] == 1 && w.sa[1] == w.dims[0] && w.sb[0] == 0 && w.sb[1] == 1 && f.col != nil:
		f.col(dst, a, b, w.dims[1], w.dims[0])
		return
	}
	for i := range w.index {
		w.index[i] = 0
	}
	n, oa, ob := w.dims[0], 0, 0
	for at := 0; at < len(dst); at += n {
		inner(w, f, dst[at:at+n], a[oa:], b[ob:])
		for k := 1; k < len(w.dims); k++ {
			w.index[k]++
			oa, ob = oa+w.sa[k], ob+w.sb[k]
			if w.index[k] < w.dims[k] {
				break
			}
			oa, ob = oa-w.sa[k]*w.dims[k], ob-w.sb[k]*w.dims[k]
			w.index[k] = 0
		}
	}
}

// inner applies f along the innermost dimension.
func inner[T, R tensor.Element](w *broadcast, f *vectors[T, R], dst []R, a, b []T) {
	n := len(dst)
	switch {
	case w.sa[0] != 0 && w.sb[0] != 0:
		f.vv(dst, a[:n], b[:n])
	case w.sa[0] != 0:
		f.vs(dst, a[:n], b[0])
	default: // never both repeated: the dimension would be 1
		f.sv(dst, a[0], b[:n])
	}
}
