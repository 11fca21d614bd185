package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// orthogonal computes the QR decomposition of matrices, by Householder reflections with Eigen's signs: orthogonal initializers need it.
func orthogonal(s *site) (kernel, error) {
	full := s.boolean("full_matrices", false)
	return inexact(qr[float32, float64](full), qr[float64, float64](full), qr[complex64, complex128](full), qr[complex128, complex128](full)), nil
}

func qr[T inexactNumber, W kernels.Field](full bool) kernel {
	return func(c call) error { return qrEach[T, W](c, full) }
}

func qrEach[T inexactNumber, W kernels.Field](c call, full bool) error {
	a := c.t(0)
	r := len(a.Shape) - 2
	if r < 0 {
		return fmt.Errorf("Input tensor must be at least of rank 2, got shape %v", a.Shape)
	}
	m, n := a.Shape[r], a.Shape[r+1]
	p := min(m, n)
	if full {
		p = m
	}
	q, err := outputOf[T](c, 0, append(slices.Clone(a.Shape[:r]), m, p)...)
	if err != nil {
		return err
	}
	right, err := outputOf[T](c, 1, append(slices.Clone(a.Shape[:r]), p, n)...)
	if err != nil || a.Len() == 0 {
		return err
	}
	if err := c.room(2*(m*n+m*p), 16); err != nil {
		return err
	}
	for i, src := 0, tensor.Values[T](a); len(src) > 0; i, src = i+1, src[m*n:] {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		z, w := reflect(c, widen[W](src[:m*n]), m, n, p)
		narrowTo(q[i*m*p:(i+1)*m*p], z)
		narrowTo(right[i*p*n:(i+1)*p*n], w)
	}
	return c.ctx.Err()
}

// reflect decomposes w [m,n], which it overwrites, into q [m,p] and r [p,n]. It ends with the request.
func reflect[W kernels.Field](c call, w []W, m, n, p int) (q, r []W) {
	taus := make([]W, min(m, n)) // R is on and above the diagonal of w, the reflections are below it
	for k := 0; k < len(taus) && !c.ended(); k++ {
		taus[k] = reflection(w, n, k)
		for j := k + 1; j < n; j++ {
			turn(w, n, k, taus[k], w, n, j)
		}
	}
	r = make([]W, p*n)
	for i := range p {
		if i < n {
			copy(r[i*n+i:(i+1)*n], w[i*n+i:])
		}
	}
	q = make([]W, m*p)
	for i := range p {
		q[i*p+i] = 1
	}
	for k := len(taus) - 1; k >= 0 && !c.ended(); k-- {
		for j := range p {
			turn(w, n, k, kernels.Conj(taus[k]), q, p, j)
		}
	}
	return q, r
}

// reflection replaces column k of w by the real diagonal element and the reflection that yields it; it returns the reflection's factor.
func reflection[W kernels.Field](w []W, n, k int) (tau W) {
	head, tail := w[k*n+k], 0.0
	for i := (k+1)*n + k; i < len(w); i += n {
		tail += kernels.Real(w[i] * kernels.Conj(w[i]))
	}
	if tail == 0 && head == kernels.Conj(head) {
		return 0
	}
	length := math.Sqrt(kernels.Real(head*kernels.Conj(head)) + tail)
	if kernels.Real(head) >= 0 {
		length = -length
	}
	beta := kernels.FromReal[W](length)
	for i := (k+1)*n + k; i < len(w); i += n {
		w[i] /= head - beta
	}
	w[k*n+k] = beta
	return kernels.Conj((beta - head) / beta)
}

// turn applies reflection k of w to column j of z.
func turn[W kernels.Field](w []W, n, k int, tau W, z []W, p, j int) {
	if tau == 0 {
		return
	}
	sum := z[k*p+j]
	for i := k + 1; i*n < len(w); i++ {
		sum += kernels.Conj(w[i*n+k]) * z[i*p+j]
	}
	sum *= tau
	z[k*p+j] -= sum
	for i := k + 1; i*n < len(w); i++ {
		z[i*p+j] -= sum * w[i*n+k]
	}
}
