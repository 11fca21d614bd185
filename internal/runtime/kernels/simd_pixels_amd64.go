//go:build amd64 && !noasm

package kernels

import "unsafe"

// checkPixels panics like an index out of range if count vectors of the given width, step elements apart, go beyond x.
func checkPixels[T Float](x []T, step, width, count int) {
	if width > 0 && count > 0 {
		_ = x[(count-1)*step+width-1]
	}
}

//go:noinline
func simdMaxWindow[T Float](dst, x []T, w *pixelWindow) bool {
	s, size := simdFor[T](), int(unsafe.Sizeof(T(0)))
	if s == nil {
		return false
	}
	checkPixels(dst, w.channels, w.channels, w.count)
	checkPixels(x, w.step, (w.lines-1)*w.lineStep+(w.taps-1)*w.tapStep+w.channels, w.count)
	s.pixels.max(w.count, w.channels, w.channels*size, w.step*size, w.lines, w.lineStep*size, w.taps, w.tapStep*size, at(dst), at(x))
	return true
}

//go:noinline
func simdRouteWindow[T Float](dx, x, dy, y []T, w *pixelWindow) bool {
	s, size := simdFor[T](), int(unsafe.Sizeof(T(0)))
	if s == nil {
		return false
	}
	extent := (w.lines-1)*w.lineStep + (w.taps-1)*w.tapStep + w.channels
	checkPixels(dx, w.step, extent, w.count)
	checkPixels(x, w.step, extent, w.count)
	checkPixels(dy, w.channels, w.channels, w.count)
	checkPixels(y, w.channels, w.channels, w.count)
	s.pixels.routeWindow(w.count, w.channels, w.channels*size, w.step*size, w.lines, w.lineStep*size, w.taps, w.tapStep*size,
		at(dx), at(x), at(dy), at(y))
	return true
}

//go:noinline
func simdMulAddPixels[T Float](dst []T, ds int, x []T, xs int, w []T, count int) bool {
	s, size := simdFor[T](), int(unsafe.Sizeof(T(0)))
	if s == nil || count == 0 {
		return false
	}
	checkPixels(dst, ds, len(w), count)
	checkPixels(x, xs, len(w), count)
	s.pixels.mulAdd(count, len(w), ds*size, xs*size, at(dst), at(x), at(w))
	return true
}

//go:noinline
func simdDotPixels[T Float](acc, x []T, xs int, y []T, ys int, count int) bool {
	s, size := simdFor[T](), int(unsafe.Sizeof(T(0)))
	if s == nil || count == 0 {
		return false
	}
	checkPixels(x, xs, len(acc), count)
	checkPixels(y, ys, len(acc), count)
	s.pixels.dot(count, len(acc), xs*size, ys*size, at(x), at(y), at(acc))
	return true
}

//go:noinline
func simdRoutePixels[T Float](p pixelRun, dx, x, left, y []T, width int, first bool) bool {
	s, size := simdFor[T](), int(unsafe.Sizeof(T(0)))
	if s == nil || p.count == 0 {
		return false
	}
	checkPixels(dx, p.inStep, width, p.count)
	checkPixels(x, p.inStep, width, p.count)
	checkPixels(left, p.outStep, width, p.count)
	checkPixels(y, p.outStep, width, p.count)
	route := s.pixels.route
	if first {
		route = s.pixels.routeFirst
	}
	route(p.count, width, p.inStep*size, p.outStep*size, at(dx), at(x), at(left), at(y))
	return true
}

//go:noinline
func simdCopyRows[T Float](dst []T, ds int, x []T, xs int, width, count int) bool {
	s, size := simdFor[T](), int(unsafe.Sizeof(T(0)))
	if s == nil || count == 0 {
		return false
	}
	checkPixels(dst, ds, width, count)
	checkPixels(x, xs, width, count)
	s.pixels.copy(count, width, ds*size, xs*size, at(dst), at(x))
	return true
}

//go:noinline
func simdTransform[T Float](kind transform, t *transformArgs) bool {
	s := simdFor[T]()
	if s == nil || s.winograd[kind] == nil {
		return false
	}
	s.winograd[kind]((*byte)(unsafe.Pointer(t)))
	return true
}
