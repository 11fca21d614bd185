//go:build amd64 && !noasm

package kernels

import "unsafe"

// Each simd function reports whether it has done the work. None is inlined, because the scheduler can stop a goroutine in
// their prologues, between two calls of assembly. Their callers keep each call below about 50 microseconds.

// simdFor returns the kernels for T at the level in use, or nil.
func simdFor[T Float]() *simdSet {
	switch l := ActiveLevel(); {
	case l == AVX512 && is32[T]():
		return &simdF32AVX512
	case l == AVX512:
		return &simdF64AVX512
	case l == AVX2 && is32[T]():
		return &simdF32AVX2
	case l == AVX2:
		return &simdF64AVX2
	default:
		return nil
	}
}

// at returns the address of a slice's first element for the kernels; the slice may be empty.
func at[T Float](x []T) *byte { return (*byte)(unsafe.Pointer(unsafe.SliceData(x))) }

// pause spins for a moment.
func pause() { pauseCPU() }

//go:noinline
func simdUnary[T Float](op UnaryOp, dst, x []T) bool {
	s := simdFor[T]()
	if s == nil || s.unary[op] == nil {
		return false
	}
	_ = x[:len(dst)]
	s.unary[op](len(dst), at(dst), at(x))
	return true
}

//go:noinline
func simdBinary[T Float](op BinaryOp, dst, a, b []T) bool {
	s := simdFor[T]()
	if s == nil || s.binary[op] == nil {
		return false
	}
	_, _ = a[:len(dst)], b[:len(dst)]
	s.binary[op](len(dst), at(dst), at(a), at(b))
	return true
}

//go:noinline
func simdScalar[T Float](op BinaryOp, dst, a []T, k T) bool {
	s := simdFor[T]()
	if s == nil || s.scalar[op] == nil {
		return false
	}
	_ = a[:len(dst)]
	s.scalar[op](len(dst), at(dst), at(a), floatBits(k))
	return true
}

//go:noinline
func simdAxpy[T Float](alpha T, x, y []T) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	_ = x[:len(y)]
	s.axpy(len(y), at(y), at(x), floatBits(alpha))
	return true
}

//go:noinline
func simdSum[T Float](x []T) (T, bool) {
	s := simdFor[T]()
	if s == nil {
		return 0, false
	}
	return fromBits[T](s.sum(len(x), at(x))), true
}

//go:noinline
func simdDot[T Float](a, b []T) (T, bool) {
	s := simdFor[T]()
	if s == nil {
		return 0, false
	}
	_ = b[:len(a)]
	return fromBits[T](s.dot(len(a), at(a), at(b))), true
}

// simdDotRows sets dst, or adds to it if keep, alpha times the products of rows of a, which are lda elements apart, with x. It
// returns how many rows it has done: most of them, a multiple of dotGroup. If backward, it goes from the last to the first.
//
//go:noinline
func simdDotRows[T Float](dst, a []T, lda int, x []T, alpha T, keep, backward bool) int {
	s := simdFor[T]()
	groups := len(dst) / dotGroup
	if s == nil || groups == 0 {
		return 0
	}
	rows := groups * dotGroup
	_ = a[(rows-1)*lda+len(x)-1]
	size := int(unsafe.Sizeof(alpha))
	first, step, hop := 0, dotGroup*lda*size, dotGroup*size
	if backward {
		first, step, hop = rows-dotGroup, -step, -hop
	}
	var kept uint64
	if keep {
		kept = 1
	}
	s.dotRows(len(x), groups, lda*size, step, at(dst[first:]), at(a[first*lda:]), at(x), floatBits(alpha), kept, uint64(hop))
	return rows
}

//go:noinline
func simdMax[T Float](x []T) (T, bool) {
	s := simdFor[T]()
	if s == nil {
		return 0, false
	}
	return fromBits[T](s.maxOf(len(x), at(x))), true
}

//go:noinline
func simdMin[T Float](x []T) (T, bool) {
	s := simdFor[T]()
	if s == nil {
		return 0, false
	}
	return fromBits[T](s.minOf(len(x), at(x))), true
}

// simdColumns adds the columns of a, or of a and b, to acc. There must be at least one row, and only whole ones.
//
//go:noinline
func simdColumns[T Float](kind colKind, acc, a, b, mean []T) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	cols := len(acc)
	rows := len(a) / cols
	switch kind {
	case colSum:
		s.columns.sum(rows, cols, at(acc), at(a))
	case colCentered:
		_ = mean[:cols]
		s.columns.centered(rows, cols, at(acc), at(a), at(mean))
	default:
		_, _ = mean[:cols], b[:rows*cols]
		s.columns.dot(rows, cols, at(acc), at(a), at(b), at(mean))
	}
	return true
}

// simdRows maps rows of a matrix, ld elements apart in dst and x, to x*scale+shift (x+shift if scale is nil).
//
//go:noinline
func simdRows[T Float](r *rowMap[T], rows int) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	cols, relu := len(r.shift), 0
	if r.relu {
		relu = 1
	}
	_, _ = r.dst[:(rows-1)*r.ld+cols], r.x[:(rows-1)*r.ld+cols]
	stride := r.ld * int(unsafe.Sizeof(r.dst[0]))
	if r.scale == nil {
		s.bias[relu](rows, cols, stride, at(r.dst), at(r.x), at(r.shift))
		return true
	}
	_ = r.scale[:cols]
	s.scale[relu](rows, cols, stride, at(r.dst), at(r.x), at(r.shift), at(r.scale))
	return true
}

// simdNormGrad sets dst = a*dy + b*x + c for whole rows.
//
//go:noinline
func simdNormGrad[T Float](dst, dy, x []T, coef *[3][]T) bool {
	s, cols := simdFor[T](), len(coef[0])
	if s == nil || len(dst) == 0 {
		return false
	}
	_, _, _, _ = dy[:len(dst)], x[:len(dst)], coef[1][:cols], coef[2][:cols]
	s.normGrad(len(dst)/cols, cols, at(dst), at(dy), at(x), at(coef[0]), at(coef[1]), at(coef[2]))
	return true
}

//go:noinline
func simdMomentum[T Float](w, m, g []T, k *[6]T, nesterov bool) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	_, _ = m[:len(w)], g[:len(w)]
	i := 0
	if nesterov {
		i = 1
	}
	s.momentum[i](len(w), at(w), at(m), at(g), at(k[:]))
	return true
}

//go:noinline
func simdKerasMomentum[T Float](w, m, g []T, k *[6]T, nesterov bool) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	_, _ = m[:len(w)], g[:len(w)]
	i := 0
	if nesterov {
		i = 1
	}
	s.keras[i](len(w), at(w), at(m), at(g), at(k[:]))
	return true
}

// simdRMSProp has epsilon under the root; mg is nil except in the centered form.
//
//go:noinline
func simdRMSProp[T Float](w, ms, mom, mg, g []T, k *[6]T) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	_, _, _ = ms[:len(w)], mom[:len(w)], g[:len(w)]
	if mg == nil {
		s.rmsprop(len(w), at(w), at(ms), at(mom), at(g), at(k[:]))
		return true
	}
	_ = mg[:len(w)]
	s.centered(len(w), at(w), at(ms), at(mom), at(mg), at(g), at(k[:]))
	return true
}

//go:noinline
func simdFtrl[T Float](w, accum, linear, g []T, k *[6]T) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	_, _, _ = accum[:len(w)], linear[:len(w)], g[:len(w)]
	s.ftrl(len(w), at(w), at(accum), at(linear), at(g), at(k[:]))
	return true
}

//go:noinline
func simdAdam[T Float](w, m, v, g []T, k *[6]T) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	_, _, _ = m[:len(w)], v[:len(w)], g[:len(w)]
	s.adam(len(w), at(w), at(m), at(v), at(g), at(k[:]))
	return true
}

//go:noinline
func simdAdagrad[T Float](w, a, g []T, k *[6]T) bool {
	s := simdFor[T]()
	if s == nil {
		return false
	}
	_, _ = a[:len(w)], g[:len(w)]
	s.adagrad(len(w), at(w), at(a), at(g), at(k[:]))
	return true
}
