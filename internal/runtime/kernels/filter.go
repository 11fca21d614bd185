package kernels

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Filter is a constant filter of convolutions with the same window, for any batch and image size.
type Filter[T Float] struct {
	Forms *FilterForms[T]
	Taps  func() []T // returns the filter, [KH, KW, InC, OutC]: the same values each time
}

// PackFilter returns the filter w of the convolution g, for Conv2DPacked.
func PackFilter[T Float](g Window, w []T) Filter[T] {
	return Filter[T]{NewFilterForms[T](g), func() []T { return w }}
}

// FilterForms has the forms in which kernels read a filter. Each form is made from the taps when a convolution first needs it, and
// then kept: most filters need only one. Any number of convolutions may share FilterForms at the same time.
type FilterForms[T Float] struct {
	k, n int // rows and columns of the filter as a matrix

	mu     sync.Mutex // held while a form is made
	packed atomic.Pointer[PackedB[T]]
	points atomic.Pointer[[]T] // for winograd.go
}

// NewFilterForms returns the forms of a filter of the convolution g.
func NewFilterForms[T Float](g Window) *FilterForms[T] {
	return &FilterForms[T]{k: g.patch(), n: g.OutC}
}

// Memory returns the bytes of the forms.
func (f *FilterForms[T]) Memory() (bytes int64) {
	if p := f.packed.Load(); p != nil {
		bytes += p.Memory()
	}
	if p := f.points.Load(); p != nil {
		bytes += sizeOf(*p)
	}
	return bytes
}

// Packed returns the filter as the right operand of products, nil if no convolution has needed it so far.
func (f *FilterForms[T]) Packed() *PackedB[T] { return f.packed.Load() }

// check panics if the filter has another size.
func (f *FilterForms[T]) check(k, n int) {
	if f.k != k || f.n != n {
		panic(fmt.Sprintf("kernels: filter of %d x %d where %d x %d is needed", f.k, f.n, k, n))
	}
}

// operand returns the filter as the right operand of products.
func (f Filter[T]) operand() *PackedB[T] {
	forms := f.Forms
	if p := forms.packed.Load(); p != nil {
		return p
	}
	forms.mu.Lock()
	defer forms.mu.Unlock()
	p := forms.packed.Load()
	if p == nil {
		p = PackB(f.Taps(), forms.n, forms.k, forms.n, false)
		forms.packed.Store(p)
	}
	return p
}

// winograd returns the filter in Winograd's form. The points of a large filter are in strips.
func (f Filter[T]) winograd() []T {
	forms := f.Forms
	if p := forms.points.Load(); p != nil {
		return *p
	}
	forms.mu.Lock()
	defer forms.mu.Unlock()
	if p := forms.points.Load(); p != nil {
		return *p
	}
	pairs := forms.k * forms.n / 9
	size := winogradPoints * pairStride[T](pairs)
	points := aligned[T](size)
	if inStrips(pairs) {
		rows := make([]T, size)
		filterPoints(rows, f.Taps()[:forms.k*forms.n], pairs)
		pointStrips(points, rows, pairs/forms.n, forms.n)
	} else {
		filterPoints(points, f.Taps()[:forms.k*forms.n], pairs)
	}
	forms.points.Store(&points)
	return points
}
