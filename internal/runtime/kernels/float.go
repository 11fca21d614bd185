package kernels

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Float is the set of element types that the kernels compute in.
type Float interface{ float32 | float64 }

// is32 reports whether T is float32. It is a constant in each instance.
func is32[T Float]() bool {
	var z T
	return unsafe.Sizeof(z) == 4
}

// as views a slice of T as a slice of its concrete type U. The caller has checked with is32 that they are the same.
func as[U, T Float](x []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// freelist keeps objects for reuse. Unlike sync.Pool it is never emptied by the garbage collector, so a steady step
// allocates nothing.
type freelist[E any] struct {
	last atomic.Pointer[E] // the object put last, for the usual case of a single user
	mu   sync.Mutex
	free []*E
}

func (f *freelist[E]) get() *E {
	if e := f.last.Swap(nil); e != nil {
		return e
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.free); n > 0 {
		e := f.free[n-1]
		f.free = f.free[:n-1]
		return e
	}
	return new(E)
}

func (f *freelist[E]) put(e *E) {
	if f.last.CompareAndSwap(nil, e) {
		return
	}
	f.mu.Lock()
	f.free = append(f.free, e)
	f.mu.Unlock()
}

// scratch is a buffer that grows and is reused. Its contents are undefined.
type scratch[T Float] struct{ data []T }

func (s *scratch[T]) take(n int) []T {
	if cap(s.data) < n {
		s.data = make([]T, n)
	}
	return s.data[:n]
}

var (
	scratch32 freelist[scratch[float32]]
	scratch64 freelist[scratch[float64]]
)

func scratches[T Float]() *freelist[scratch[T]] {
	if is32[T]() {
		return (*freelist[scratch[T]])(unsafe.Pointer(&scratch32))
	}
	return (*freelist[scratch[T]])(unsafe.Pointer(&scratch64))
}

// Scratch is memory with undefined contents from the kernels' shared pool.
type Scratch[T Float] struct {
	Data []T
	of   *scratch[T]
}

// Borrow returns scratch memory for n numbers, to be returned by GiveBack.
func Borrow[T Float](n int) Scratch[T] {
	s := scratches[T]().get()
	return Scratch[T]{s.take(n), s}
}

// GiveBack returns the memory to the pool.
func (s Scratch[T]) GiveBack() { scratches[T]().put(s.of) }

func ceilDiv(a, b int) int { return (a + b - 1) / b }
