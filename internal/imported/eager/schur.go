package eager

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"
)

// schur is the decomposition q·t·qᴴ of a square complex matrix: t is upper triangular with the eigenvalues on its diagonal, and q is unitary.
// The method is QR with Wilkinson shifts on the matrix in Hessenberg form (Golub and Van Loan, Matrix Computations, 7.4 and 7.5).
type schur struct {
	n     int
	t, q  []complex128 // by rows
	ended func() bool  // the result is not needed and may be wrong
}

// turnsPerValue bounds the steps for one eigenvalue; a few are usual.
const turnsPerValue = 60

// schurOf decomposes a matrix, which it overwrites; ok is false if it does not converge, as with infinities and NaNs, or if ended.
func schurOf(a []complex128, n int, ended func() bool) (s schur, ok bool) {
	s = schur{n, a, make([]complex128, n*n), ended}
	for i := range n {
		s.q[i*n+i] = 1
	}
	for _, v := range a {
		if cmplx.IsNaN(v) || cmplx.IsInf(v) {
			return s, false
		}
	}
	s.hessenberg()
	turns := 0
	for last := n - 1; last > 0; {
		if ended() || turns > turnsPerValue {
			return s, false
		}
		first := last
		for ; first > 0 && !s.small(first); first-- {
		}
		if first > 0 {
			s.t[first*n+first-1] = 0
		}
		if first == last {
			last, turns = last-1, 0
			continue
		}
		turns++
		s.step(first, last, turns)
	}
	return s, true
}

// small reports whether the element below the diagonal in row i is negligible compared with its neighbors.
func (s *schur) small(i int) bool {
	near := cmplx.Abs(s.t[(i-1)*s.n+i-1]) + cmplx.Abs(s.t[i*s.n+i])
	return cmplx.Abs(s.t[i*s.n+i-1]) <= 1e-16*near || s.t[i*s.n+i-1] == 0
}

// hessenberg zeroes all elements below the first subdiagonal, by rotations.
func (s *schur) hessenberg() {
	for k := 0; k < s.n-2 && !s.ended(); k++ {
		for i := s.n - 1; i > k+1; i-- {
			if c, r := givens(s.t[(i-1)*s.n+k], s.t[i*s.n+k]); r != 0 {
				s.rotate(i-1, c, r, 0, s.n)
				s.t[i*s.n+k] = 0
			}
		}
	}
}

// givens returns the rotation [c r; -r̄ c] that zeroes b.
func givens(a, b complex128) (c float64, r complex128) {
	if b == 0 {
		return 1, 0
	}
	if a == 0 {
		return 0, cmplx.Conj(b) / complex(cmplx.Abs(b), 0)
	}
	length := math.Hypot(cmplx.Abs(a), cmplx.Abs(b))
	size := cmplx.Abs(a)
	return size / length, a / complex(size, 0) * cmplx.Conj(b) / complex(length, 0)
}

// rotate rotates rows i and i+1 of t from column `from` on, its columns i and i+1 up to row `to`, and those columns of q.
func (s *schur) rotate(i int, c float64, r complex128, from, to int) {
	s.turnRows(i, c, r, from)
	s.turnColumns(i, c, r, to)
}

func (s *schur) turnRows(i int, c float64, r complex128, from int) {
	n, f := s.n, complex(c, 0)
	for j := from; j < n; j++ {
		x, y := s.t[i*n+j], s.t[(i+1)*n+j]
		s.t[i*n+j], s.t[(i+1)*n+j] = f*x+r*y, f*y-cmplx.Conj(r)*x
	}
}

func (s *schur) turnColumns(i int, c float64, r complex128, to int) {
	n, f := s.n, complex(c, 0)
	turn := func(m []complex128, rows int) {
		for j := range rows {
			x, y := m[j*n+i], m[j*n+i+1]
			m[j*n+i], m[j*n+i+1] = f*x+cmplx.Conj(r)*y, f*y-r*x
		}
	}
	turn(s.t, to)
	turn(s.q, n)
}

// step does one step of the QR method on rows first to last.
func (s *schur) step(first, last, turns int) {
	n := s.n
	shift := s.shift(last)
	if turns%10 == 0 { // an exceptional shift against cycles
		shift = complex(cmplx.Abs(s.t[last*n+last-1])+cmplx.Abs(s.t[(last-1)*n+max(last-2, 0)]), 0)
	}
	for i := range n {
		s.t[i*n+i] -= shift
	}
	type rotation struct {
		c float64
		r complex128
	}
	turned := make([]rotation, 0, last-first)
	for i := first; i < last; i++ {
		c, r := givens(s.t[i*n+i], s.t[(i+1)*n+i])
		s.turnRows(i, c, r, i)
		s.t[(i+1)*n+i] = 0
		turned = append(turned, rotation{c, r})
	}
	for k, g := range turned {
		s.turnColumns(first+k, g.c, g.r, first+k+2)
	}
	for i := range n {
		s.t[i*n+i] += shift
	}
}

// shift returns the eigenvalue of the last two rows that is closer to the last element.
func (s *schur) shift(last int) complex128 {
	n := s.n
	a, b := s.t[(last-1)*n+last-1], s.t[(last-1)*n+last]
	c, d := s.t[last*n+last-1], s.t[last*n+last]
	half := (a - d) / 2
	root := complex128(0)
	if size := complex(max(cmplx.Abs(half), cmplx.Abs(b), cmplx.Abs(c)), 0); size != 0 { // squares may exceed the range of a float64
		root = size * cmplx.Sqrt(half/size*(half/size)+b/size*(c/size))
	}
	x, y := d+half+root, d+half-root
	if cmplx.Abs(x-d) < cmplx.Abs(y-d) {
		return x
	}
	return y
}

// sizes returns the indices of the eigenvalues, smallest absolute value first.
func (s *schur) sizes() []int {
	order := make([]int, s.n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cmplx.Abs(s.t[a*s.n+a]), cmplx.Abs(s.t[b*s.n+b])) })
	return order
}

// vectors returns the eigenvectors as columns, each of length 1.
func (s *schur) vectors() []complex128 {
	n := s.n
	out, v := make([]complex128, n*n), make([]complex128, n)
	largest := 0.0
	for _, x := range s.t {
		largest = max(largest, cmplx.Abs(x))
	}
	for k := 0; k < n && !s.ended(); k++ {
		clear(v)
		v[k] = 1
		for i := k - 1; i >= 0; i-- {
			sum := complex128(0)
			for j := i + 1; j <= k; j++ {
				sum += s.t[i*n+j] * v[j]
			}
			gap := s.t[i*n+i] - s.t[k*n+k]
			if cmplx.Abs(gap) < 1e-16*largest {
				gap = complex(max(1e-16*largest, 0x1p-1022), 0)
			}
			v[i] = -sum / gap
			if size := cmplx.Abs(v[i]); size > 1e100 { // with equal eigenvalues, each element is larger than the one before
				for j := i; j <= k; j++ {
					v[j] /= complex(size, 0)
				}
			}
		}
		length := 0.0
		for i := range n {
			sum := complex128(0)
			for j := range k + 1 {
				sum += s.q[i*n+j] * v[j]
			}
			out[i*n+k] = sum
			length = math.Hypot(length, cmplx.Abs(sum))
		}
		for i := range n {
			out[i*n+k] /= complex(length, 0)
		}
	}
	return out
}

// back returns q·f·qᴴ for an upper triangular f.
func (s *schur) back(f []complex128) []complex128 {
	n := s.n
	right := make([]complex128, n*n)
	for i := range n {
		for j := range n {
			right[i*n+j] = cmplx.Conj(s.q[j*n+i])
		}
	}
	return s.times(s.q, s.times(f, right))
}

// times returns the product of two matrices.
func (s *schur) times(a, b []complex128) []complex128 {
	n := s.n
	out := make([]complex128, n*n)
	for i := 0; i < n && !s.ended(); i++ {
		whole(product2{m: 1, n: n, k: n}, out[i*n:(i+1)*n], a[i*n:(i+1)*n], b)
	}
	return out
}

// negative reports whether a real matrix has a negative real eigenvalue.
func (s schur) negative() bool {
	largest := 0.0
	for i := range s.n {
		largest = max(largest, cmplx.Abs(s.t[i*s.n+i]))
	}
	for i := range s.n {
		if v := s.t[i*s.n+i]; real(v) < 0 && math.Abs(imag(v)) <= 0x1p-52*float64(s.n)*largest {
			return true
		}
	}
	return false
}
