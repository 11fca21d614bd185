package eager

import (
	"math"

	"github.com/goestimator/goestimator/internal/imported/special"
)

// realSchur is the decomposition q·t·qᵀ of a square real matrix: q is orthogonal, and t upper triangular except for one block of two rows
// for each pair of complex eigenvalues. The method is Francis's QR with double shifts in the elements' precision (Golub and Van Loan,
// Matrix Computations, 7.5; the routine hqr2 of EISPACK). The order of the eigenvalues follows from the steps, which are the same as
// TensorFlow's.
type realSchur[T float] struct {
	n     int
	t, q  []T         // by rows; t is of the matrix divided by scale
	scale T           // the absolute value of the largest element
	moved T           // the sum that exceptional shifts subtracted from the diagonal
	eps   T           // the distance from 1 to the next number
	least T           // the smallest normal number
	ended func() bool // the result is not needed and may be wrong
}

// realSchurOf decomposes a matrix, which it overwrites; ok is false if it does not converge, as with infinities and NaNs, or if ended.
func realSchurOf[T float](a []T, n int, ended func() bool) (s *realSchur[T], ok bool) {
	s = &realSchur[T]{n: n, t: a, q: make([]T, n*n), ended: ended}
	s.eps, s.least = T(epsilon[T]()), special.SmallestNormal[T]()
	for i := range n {
		s.q[i*n+i] = 1
	}
	for _, v := range a {
		if v-v != 0 {
			return s, false
		}
		s.scale = max(s.scale, absOf(v))
	}
	if s.scale < s.least {
		clear(a)
		return s, true
	}
	for i := range a {
		a[i] /= s.scale
	}
	s.hessenberg()
	return s, s.iterate()
}

func root[T float](v T) T { return T(math.Sqrt(float64(v))) }

// householder is a reflection, 1 - tau·v·vᵀ with v[0] = 1; it maps the vector that it was made from to beta followed by zeros.
type householder[T float] struct {
	v         []T
	tau, beta T
}

// reflect returns the reflection of x, and overwrites x with its vector.
func (s *realSchur[T]) reflect(x []T) householder[T] {
	tail := T(0)
	for _, v := range x[1:] {
		tail += v * v
	}
	first := x[0]
	x[0] = 1
	if tail <= s.least {
		clear(x[1:])
		return householder[T]{x, 0, first}
	}
	beta := root(first*first + tail)
	if first >= 0 {
		beta = -beta
	}
	for i := range x[1:] {
		x[i+1] /= first - beta
	}
	return householder[T]{x, (beta - first) / beta, beta}
}

// rows applies a reflection to the rows of t from row `at` on, in the columns from column `from` on.
func (s *realSchur[T]) rows(h householder[T], at, from int) {
	for j := from; j < s.n; j++ {
		sum := T(0)
		for k, v := range h.v {
			sum += v * s.t[(at+k)*s.n+j]
		}
		sum *= h.tau
		for k, v := range h.v {
			s.t[(at+k)*s.n+j] -= sum * v
		}
	}
}

// columns applies a reflection to the columns of m from column `at` on, in the first rows.
func (s *realSchur[T]) columns(m []T, h householder[T], at, rows int) {
	for i := range rows {
		row := m[i*s.n+at:][:len(h.v)]
		sum := T(0)
		for k, v := range h.v {
			sum += v * row[k]
		}
		sum *= h.tau
		for k, v := range h.v {
			row[k] -= sum * v
		}
	}
}

// hessenberg zeroes all elements below the first subdiagonal.
func (s *realSchur[T]) hessenberg() {
	n := s.n
	for k := 0; k < n-2 && !s.ended(); k++ {
		x := make([]T, n-k-1)
		for i := range x {
			x[i] = s.t[(k+1+i)*n+k]
		}
		h := s.reflect(x)
		s.rows(h, k+1, k+1)
		s.columns(s.t, h, k+1, n)
		s.columns(s.q, h, k+1, n)
		for i := k + 2; i < n; i++ {
			s.t[i*n+k] = 0
		}
		s.t[(k+1)*n+k] = h.beta
	}
}

// stepsPerRow bounds the steps of the whole matrix; three per row are usual.
const stepsPerRow = 40

// iterate finds the eigenvalues from the last row up.
func (s *realSchur[T]) iterate() bool {
	norm := T(0)
	for i := range s.n {
		for j := max(i-1, 0); j < s.n; j++ {
			norm += absOf(s.t[i*s.n+j])
		}
	}
	zero := max(norm*s.eps*s.eps, s.least)
	turns, all := 0, 0
	for last := s.n - 1; last >= 0; {
		first := s.smallBelow(last, zero)
		switch {
		case first == last:
			s.t[last*s.n+last] += s.moved
			if last > 0 {
				s.t[last*s.n+last-1] = 0
			}
			last, turns = last-1, 0
		case first == last-1:
			s.split(last)
			last, turns = last-2, 0
		default:
			sh := s.shift(last, turns)
			turns++
			all++
			if all > stepsPerRow*s.n || s.ended() {
				return false
			}
			s.step(first, last, sh)
		}
	}
	return true
}

// smallBelow returns the first row of the last unreduced block; zero is negligible compared with the matrix.
func (s *realSchur[T]) smallBelow(last int, zero T) int {
	n := s.n
	for ; last > 0; last-- {
		near := absOf(s.t[(last-1)*n+last-1]) + absOf(s.t[last*n+last])
		if absOf(s.t[last*n+last-1]) <= max(near*s.eps, zero) {
			break
		}
	}
	return last
}

// split makes the block of rows last-1 and last triangular if its eigenvalues are real.
func (s *realSchur[T]) split(last int) {
	n, at := s.n, last-1
	a, d := &s.t[at*n+at], &s.t[last*n+last]
	below := &s.t[last*n+at]
	p := (*a - *d) / 2
	q := p*p + *below*s.t[at*n+last]
	*d += s.moved
	*a += s.moved
	if q >= 0 {
		z := root(q)
		if p < 0 {
			z = -z
		}
		c, r := rotationOf(p+z, *below)
		for j := at; j < n; j++ {
			x, y := s.t[at*n+j], s.t[last*n+j]
			s.t[at*n+j], s.t[last*n+j] = c*x-r*y, r*x+c*y
		}
		turn := func(m []T, rows int) {
			for i := range rows {
				x, y := m[i*n+at], m[i*n+last]
				m[i*n+at], m[i*n+last] = c*x-r*y, r*x+c*y
			}
		}
		turn(s.t, last+1)
		turn(s.q, n)
		*below = 0
	}
	if at > 0 {
		s.t[at*n+at-1] = 0
	}
}

// rotationOf returns c and r with r·p + c·q = 0.
func rotationOf[T float](p, q T) (c, r T) {
	switch {
	case q == 0:
		return T(math.Copysign(1, float64(p))), 0
	case p == 0:
		return 0, T(math.Copysign(1, -float64(q)))
	case absOf(p) > absOf(q):
		t := q / p
		u := T(math.Copysign(float64(root(1+t*t)), float64(p)))
		return 1 / u, -t / u
	default:
		t := p / q
		u := T(math.Copysign(float64(root(1+t*t)), float64(q)))
		return t / u, -1 / u
	}
}

// shifts are the two shifts of a step as in hqr2: their sum is x + y, and their product x*y - w.
type shifts[T float] struct{ x, y, w T }

// shift returns the shifts of a step: the eigenvalues of the last two rows, or exceptional ones against cycles.
func (s *realSchur[T]) shift(last, turns int) shifts[T] {
	n := s.n
	sh := shifts[T]{s.t[last*n+last], s.t[(last-1)*n+last-1], s.t[last*n+last-1] * s.t[(last-1)*n+last]}
	move := func(by T) {
		s.moved += by
		for i := range last + 1 {
			s.t[i*n+i] -= by
		}
	}
	switch turns {
	case 10: // Wilkinson's ad hoc shift
		move(sh.x)
		size := absOf(s.t[last*n+last-1]) + absOf(s.t[(last-1)*n+last-2])
		return shifts[T]{0.75 * size, 0.75 * size, -0.4375 * size * size}
	case 30:
		half := (sh.y - sh.x) / 2
		under := half*half + sh.w
		if under > 0 {
			r := root(under)
			if sh.y < sh.x {
				r = -r
			}
			move(sh.x - sh.w/(r+half))
			return shifts[T]{0.964, 0.964, 0.964}
		}
	}
	return sh
}

// step does one step of Francis's method on rows first to last.
func (s *realSchur[T]) step(first, last int, sh shifts[T]) {
	n, at := s.n, last-2
	var v [3]T
	for ; ; at-- {
		d := s.t[at*n+at]
		x, y := sh.x-d, sh.y-d
		v = [3]T{(x*y-sh.w)/s.t[(at+1)*n+at] + s.t[at*n+at+1], s.t[(at+1)*n+at+1] - d - x - y, s.t[(at+2)*n+at+1]}
		if at == first {
			break
		}
		left := s.t[at*n+at-1] * (absOf(v[1]) + absOf(v[2]))
		right := v[0] * (absOf(s.t[(at-1)*n+at-1]) + absOf(d) + absOf(s.t[(at+1)*n+at+1]))
		if absOf(left) < s.eps*right {
			break
		}
	}
	for k := at; k < last; k++ {
		size := min(3, last-k+1)
		if k > at {
			for i := range size {
				v[i] = s.t[(k+i)*n+k-1]
			}
		}
		h := s.reflect(v[:size])
		if h.beta == 0 {
			continue
		}
		if k > at {
			s.t[k*n+k-1] = h.beta
		} else if k > first {
			s.t[k*n+k-1] = -s.t[k*n+k-1]
		}
		s.rows(h, k, k)
		s.columns(s.t, h, k, min(last, k+3)+1)
		s.columns(s.q, h, k, n)
	}
	for i := at + 2; i <= last; i++ {
		s.t[i*n+i-2] = 0
		if i > at+2 {
			s.t[i*n+i-3] = 0
		}
	}
}

func absOf[T float](x T) T { return T(math.Abs(float64(x))) }
