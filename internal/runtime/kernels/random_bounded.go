package kernels

import "math"

// BoundedTries is the number of TensorFlow's attempts to draw a number between bounds.
const BoundedTries = 1000

// Bounded draws normals between bounds, row by row from the same stream: ParameterizedTruncatedNormal.
type Bounded[T Float] struct{ p philox }

// NewBounded returns a Bounded at the beginning of a stream.
func NewBounded[T Float](r Rand) *Bounded[T] { return &Bounded[T]{newPhilox(r.Key, r.Counter)} }

// Bounds is the distribution of a row.
type Bounds[T Float] struct{ Mean, Dev, Min, Max T }

// Fill draws a row. It reports whether the bounds are valid and it found numbers for all of dst.
//
// The proposals are normals for wide bounds, uniforms for close bounds, and exponentials in the tails (Robert 1995).
func (d *Bounded[T]) Fill(dst []T, b Bounds[T]) bool {
	if !(b.Dev > 0 && b.Min < b.Max) || b.Min-b.Min != 0 && b.Max-b.Max != 0 {
		return false
	}
	if b.Min < 0 && b.Min-b.Min != 0 || b.Max < b.Mean {
		b.Min, b.Max, b.Dev = b.Max, b.Min, -b.Dev
	}
	const wide = 1.3
	lo, hi := (b.Min-b.Mean)/b.Dev, (b.Max-b.Mean)/b.Dev
	root := sqrt(lo*lo + 4)
	cutoff := 2 * T(math.Exp(float64(0.5+lo*(lo-root)/4))) / (lo + root)
	n, ok := 0, false
	keep := func(v T) { dst[n] = v*b.Dev + b.Mean; n++ }
	switch {
	case lo < -wide && hi >= 0 || hi > wide && lo <= 0:
		ok = d.propose(&n, len(dst), func(x T) bool { return x >= lo && x <= hi }, keep)
	case hi-lo < cutoff:
		ok = d.flat(&n, len(dst), lo, hi, keep)
	default:
		ok = d.tail(&n, len(dst), lo, hi, keep)
	}
	return ok
}

// propose keeps the normals that are inside.
func (d *Bounded[T]) propose(n *int, end int, inside func(T) bool, keep func(T)) bool {
	for tries := 0; *n < end; {
		v := draw[T](normal, d.p.next())
		for _, x := range v[:groupSize[T]()] {
			if !inside(x) {
				if tries++; tries > BoundedTries {
					return false
				}
				continue
			}
			if keep(x); *n >= end {
				break
			}
			tries = 0
		}
	}
	return true
}

// flat keeps uniforms in [lo, hi] with a probability given by the density.
func (d *Bounded[T]) flat(n *int, end int, lo, hi T, keep func(T)) bool {
	var plus T
	if lo >= 0 {
		plus = lo * lo
	}
	for tries := 0; *n < end; {
		at, u := draw[T](uniform, d.p.next()), draw[T](uniform, d.p.next())
		for i := range groupSize[T]() {
			z := at[i]*(hi-lo) + lo
			if u[i] > T(math.Exp(float64((plus-z*z)/2))) {
				if tries++; tries >= BoundedTries {
					return false
				}
				continue
			}
			if keep(z); *n >= end {
				break
			}
			tries = 0
		}
	}
	return true
}

// tail keeps exponentials from lo on with a probability given by the density.
func (d *Bounded[T]) tail(n *int, end int, lo, hi T, keep func(T)) bool {
	alpha := (lo + sqrt(lo*lo+4)) / 2
	for tries := 0; *n < end; {
		v := draw[T](uniform, d.p.next())
		for i := 0; i < groupSize[T](); i += 2 {
			z := -T(math.Log(float64(v[i])))/alpha + lo
			x := lo - alpha
			if lo < alpha {
				x = alpha - z
			}
			if !(v[i+1] <= T(math.Exp(float64(-x*x/2))) && z < hi) {
				if tries++; tries >= BoundedTries {
					return false
				}
				continue
			}
			if keep(z); *n >= end {
				break
			}
			tries = 0
		}
	}
	return true
}
