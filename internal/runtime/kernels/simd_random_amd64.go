//go:build amd64 && !noasm

package kernels

import "unsafe"

// simdRandom fills groups from the front of dst and returns how many, 0 if there is no kernel. It calls kernels by name, because
// r would escape through a variable.
//
//go:noinline
func simdRandom[T Float](kind randKind, dst []T, r *philoxRun) int {
	groups, state, wide := len(dst)/groupSize[T](), (*byte)(unsafe.Pointer(r)), ActiveLevel() == AVX512
	if ActiveLevel() == Portable || (kind != uniform && !is32[T]()) {
		return 0
	}
	if groups &^= 3; wide {
		groups &^= 7 // the kernels only do whole vectors
	}
	switch {
	case kind == uniform && is32[T]() && wide:
		uniform32AVX512(groups, at(dst), state)
	case kind == uniform && is32[T]():
		uniform32AVX2(groups, at(dst), state)
	case kind == uniform && wide:
		uniform64AVX512(groups, at(dst), state)
	case kind == uniform:
		uniform64AVX2(groups, at(dst), state)
	case wide:
		words32AVX512(groups, at(dst), state)
	default:
		words32AVX2(groups, at(dst), state)
	}
	if kind != uniform {
		simdNormals(as[float32](dst[:4*groups]))
	}
	return groups
}

// simdNormals turns every two words in x into two normals. The length of x must be a multiple of 16.
//
//go:noinline
func simdNormals(x []float32) bool {
	switch ActiveLevel() {
	case AVX512:
		boxMuller32AVX512(len(x)/2, at(x))
	case AVX2:
		boxMuller32AVX2(len(x)/2, at(x))
	default:
		return false
	}
	return true
}
