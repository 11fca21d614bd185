package eager

import (
	"math"
	"math/cmplx"
)

// values returns the eigenvalues; of a complex pair, the one with the positive imaginary part comes first.
func (s *realSchur[T]) values() []complex128 {
	n := s.n
	out := make([]complex128, n)
	for i := 0; i < n; i++ {
		if !s.pair(i) {
			out[i] = complex(float64(s.t[i*n+i]), 0)
			continue
		}
		a, d := float64(s.t[i*n+i]), float64(s.t[(i+1)*n+i+1])
		b, c := float64(s.t[i*n+i+1]), float64(s.t[(i+1)*n+i])
		p := (a - d) / 2
		size := max(math.Abs(p), math.Abs(b), math.Abs(c))
		z := size * math.Sqrt(math.Abs(p/size*(p/size)+b/size*(c/size)))
		out[i], out[i+1] = complex(d+p, z), complex(d+p, -z)
		i++
	}
	return out
}

// pair reports whether rows i and i+1 belong to a pair of complex eigenvalues.
func (s *realSchur[T]) pair(i int) bool { return i+1 < s.n && s.t[(i+1)*s.n+i] != 0 }

// vectors returns the eigenvectors as columns, each of length 1. Their signs are TensorFlow's.
func (s *realSchur[T]) vectors(values []complex128) []complex128 {
	n := s.n
	out, x := make([]complex128, n*n), make([]complex128, n)
	t, norm := make([]complex128, n*n), 0.0
	for i := range n {
		for j := max(i-1, 0); j < n; j++ {
			t[i*n+j] = complex(float64(s.t[i*n+j]), 0)
			norm += math.Abs(float64(s.t[i*n+j]))
		}
	}
	for k := 0; k < n && !s.ended(); k++ {
		width := 1
		if s.pair(k) {
			width = 2
		}
		s.triangular(t, x[:k+width], values[k], float64(s.eps)*norm)
		length := 0.0
		for i := range n {
			sum := complex128(0)
			for j, v := range x[:k+width] {
				sum += complex(float64(s.q[i*n+j]), 0) * v
			}
			out[i*n+k] = sum
			length = math.Hypot(length, cmplx.Abs(sum))
		}
		for i := range n {
			out[i*n+k] /= complex(length, 0)
			if width == 2 {
				out[i*n+k+1] = cmplx.Conj(out[i*n+k])
			}
		}
		k += width - 1
	}
	return out
}

// triangular fills x with the eigenvector of t for value, the eigenvalue in the last rows of x. The vector's last element is 1, or i for
// a complex pair. Between equal eigenvalues, least replaces the difference.
func (s *realSchur[T]) triangular(t, x []complex128, value complex128, least float64) {
	n, last := s.n, len(x)-1
	x[last] = 1
	i := last - 1
	if imag(value) != 0 {
		x[last] = 1i
		x[last-1] = -(t[last*n+last] - value) * 1i / t[last*n+last-1]
		i--
	}
	if least == 0 {
		least = math.SmallestNonzeroFloat64
	}
	rest := func(i, from int) (sum complex128) {
		for j := from; j <= last; j++ {
			sum -= t[i*n+j] * x[j]
		}
		return sum
	}
	for ; i >= 0; i-- {
		if i == 0 || t[i*n+i-1] == 0 {
			gap := t[i*n+i] - value
			if gap == 0 {
				gap = complex(least, 0)
			}
			x[i] = rest(i, i+1) / gap
		} else {
			h := i - 1
			a, b, c, d := t[h*n+h]-value, t[h*n+i], t[i*n+h], t[i*n+i]-value
			u, v := rest(h, i+1), rest(i, i+1)
			det := a*d - b*c
			if det == 0 {
				det = complex(least*(cmplx.Abs(a)+cmplx.Abs(b)+cmplx.Abs(c)+cmplx.Abs(d)), 0)
			}
			x[h], x[i] = (u*d-b*v)/det, (a*v-c*u)/det
			i--
		}
		shorten(x)
	}
}

// shorten scales down a vector that has grown long: with equal eigenvalues, each step makes the next element larger.
func shorten(x []complex128) {
	largest := 0.0
	for _, v := range x {
		largest = max(largest, cmplx.Abs(v))
	}
	if largest > 1e100 {
		for i := range x {
			x[i] /= complex(largest, 0)
		}
	}
}
