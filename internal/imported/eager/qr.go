package eager

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// orthogonal is the QR decomposition of matrices, by Householder's reflections with the signs of Eigen: orthogonal initializers need it.
func orthogonal(s *site) (kernel, error) {
	full := s.boolean("full_matrices", false)
	return floats(func(c call) error { return qr[float32](c, full) }, func(c call) error { return qr[float64](c, full) }).on(0), nil
}

func qr[T float](c call, full bool) error {
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
	if err := c.room(m*n+m*p, 8); err != nil {
		return err
	}
	for i, src := 0, tensor.Values[T](a); len(src) > 0; i, src = i+1, src[m*n:] {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		reflect(c, q[i*m*p:(i+1)*m*p], right[i*p*n:(i+1)*p*n], src[:m*n], n)
	}
	return c.ctx.Err()
}

// reflect decomposes a [m,n] into q [m,p] and r [p,n], as long as somebody waits for them.
func reflect[T float](c call, q, r, a []T, n int) {
	m := len(a) / n
	p := len(q) / m
	w := make([]float64, len(a)) // R above the diagonal, the reflections below it
	for i, v := range a {
		w[i] = float64(v)
	}
	taus := make([]float64, min(m, n))
	for k := 0; k < len(taus) && c.ctx.Err() == nil; k++ {
		taus[k] = reflection(w, n, k)
		for j := k + 1; j < n; j++ {
			turn(w, n, k, taus[k], w, n, j)
		}
	}
	for i := range p {
		for j := i; j < n; j++ {
			r[i*n+j] = T(w[i*n+j])
		}
	}
	z := make([]float64, m*p)
	for i := range p {
		z[i*p+i] = 1
	}
	for k := len(taus) - 1; k >= 0 && c.ctx.Err() == nil; k-- {
		for j := range p {
			turn(w, n, k, taus[k], z, p, j)
		}
	}
	for i, v := range z {
		q[i] = T(v)
	}
}

// reflection makes column k of w the diagonal element and the reflection that leads to it, and returns its factor.
func reflection(w []float64, n, k int) (tau float64) {
	head, tail := w[k*n+k], 0.0
	for i := (k+1)*n + k; i < len(w); i += n {
		tail += w[i] * w[i]
	}
	if tail == 0 {
		return 0
	}
	beta := math.Sqrt(head*head + tail)
	if head >= 0 {
		beta = -beta
	}
	for i := (k+1)*n + k; i < len(w); i += n {
		w[i] /= head - beta
	}
	w[k*n+k] = beta
	return (beta - head) / beta
}

// turn applies reflection k of w to column j of z.
func turn(w []float64, n, k int, tau float64, z []float64, p, j int) {
	if tau == 0 {
		return
	}
	sum := z[k*p+j]
	for i := k + 1; i*n < len(w); i++ {
		sum += w[i*n+k] * z[i*p+j]
	}
	sum *= tau
	z[k*p+j] -= sum
	for i := k + 1; i*n < len(w); i++ {
		z[i*p+j] -= sum * w[i*n+k]
	}
}
