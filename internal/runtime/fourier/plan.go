package fourier

import (
	"math"
	"math/bits"
)

// Plan has the tables that all transforms of one length share. It is safe for concurrent use.
type Plan struct {
	n     int
	roots []complex128 // for a power of two: exp(-2πik/n) for k < n/2
	chirp []complex128 // for other lengths: exp(-πik²/n)
	inner *Plan        // plan of a power of two that holds the convolution of two lines
	kern  []complex128 // the transform of the conjugate chirp in inner's length
}

// NewPlan returns the plan of length n >= 1.
func NewPlan(n int) *Plan {
	if n&(n-1) == 0 {
		p := &Plan{n: n, roots: make([]complex128, n/2)}
		for k := range p.roots {
			p.roots[k] = root(k, n)
		}
		return p
	}
	p := &Plan{n: n, chirp: make([]complex128, n), inner: NewPlan(paddedLen(n))}
	for k := range p.chirp {
		hi, lo := bits.Mul64(uint64(k), uint64(k))
		_, square := bits.Div64(hi%uint64(2*n), lo, uint64(2*n)) // k² would lose digits in a float
		p.chirp[k] = root(int(square), 2*n)
	}
	p.kern = make([]complex128, p.inner.n)
	for k, w := range p.chirp {
		c := complex(real(w), -imag(w))
		p.kern[k] = c
		if k > 0 {
			p.kern[p.inner.n-k] = c
		}
	}
	p.inner.powerOfTwo(p.kern)
	return p
}

// paddedLen returns the power of two in which lines of length n are convolved.
func paddedLen(n int) int { return 1 << bits.Len(uint(2*n-2)) }

// Bytes returns the memory in bytes of a plan of length n and one Worker.
func Bytes(n int) int {
	if n&(n-1) == 0 {
		return 8 * n
	}
	return 16 * (n + 3*paddedLen(n))
}

// root returns exp(-2πik/n).
func root(k, n int) complex128 {
	sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(n))
	return complex(cos, -sin)
}

// powerOfTwo transforms x in place.
func (p *Plan) powerOfTwo(x []complex128) {
	n := len(x)
	if n < 2 {
		return
	}
	shift := 64 - bits.Len(uint(n-1))
	for i := range x {
		if j := int(bits.Reverse64(uint64(i)) >> shift); j > i {
			x[i], x[j] = x[j], x[i]
		}
	}
	for size := 2; size <= n; size *= 2 {
		half, step := size/2, n/size
		for first := 0; first < n; first += size {
			a, b := x[first:first+half], x[first+half:first+size]
			for k := range a {
				t := b[k] * p.roots[k*step]
				a[k], b[k] = a[k]+t, a[k]-t
			}
		}
	}
}

// Worker transforms lines one after the other.
type Worker struct {
	plan    *Plan
	scratch []complex128
}

// Worker returns a worker. Only one goroutine may use it at a time.
func (p *Plan) Worker() *Worker {
	w := &Worker{plan: p}
	if p.inner != nil {
		w.scratch = make([]complex128, p.inner.n)
	}
	return w
}

// Forward transforms a line of the plan's length in place: x[k] becomes the sum of x[j]·exp(-2πijk/n).
func (w *Worker) Forward(x []complex128) {
	p := w.plan
	if p.inner == nil {
		p.powerOfTwo(x)
		return
	}
	clear(w.scratch)
	for k, v := range x {
		w.scratch[k] = v * p.chirp[k]
	}
	p.inner.powerOfTwo(w.scratch)
	for k, v := range w.scratch { // the inverse is the conjugate of the transform of the conjugate
		v *= p.kern[k]
		w.scratch[k] = complex(real(v), -imag(v))
	}
	p.inner.powerOfTwo(w.scratch)
	scale := 1 / float64(p.inner.n)
	for k := range x {
		v := w.scratch[k]
		x[k] = complex(real(v)*scale, -imag(v)*scale) * p.chirp[k]
	}
}

// Inverse undoes Forward: x[k] becomes the sum of x[j]·exp(2πijk/n), divided by n.
func (w *Worker) Inverse(x []complex128) {
	for k, v := range x {
		x[k] = complex(real(v), -imag(v))
	}
	w.Forward(x)
	scale := 1 / float64(len(x))
	for k, v := range x {
		x[k] = complex(real(v)*scale, -imag(v)*scale)
	}
}
