//go:build amd64 && !noasm

package kernels

import "unsafe"

// simdRandom fills groups from the front of dst and returns how many: none where there is no kernel. It calls by name, for
// r escaped through a variable.
//
//go:noinline
func simdRandom[T Float](kind randKind, dst []T, r *philoxRun) int {
	groups, state := len(dst)/groupSize[T](), (*byte)(unsafe.Pointer(r))
	switch l := ActiveLevel(); {
	case l == Portable || (kind != uniform && !is32[T]()):
		return 0
	case l == AVX512:
		groups &^= 7 // the kernels do whole vectors
		switch {
		case kind != uniform:
			normal32AVX512(groups, at(dst), state)
		case is32[T]():
			uniform32AVX512(groups, at(dst), state)
		default:
			uniform64AVX512(groups, at(dst), state)
		}
	default:
		groups &^= 3
		switch {
		case kind != uniform:
			normal32AVX2(groups, at(dst), state)
		case is32[T]():
			uniform32AVX2(groups, at(dst), state)
		default:
			uniform64AVX2(groups, at(dst), state)
		}
	}
	return groups
}
