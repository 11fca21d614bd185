package compat

import "github.com/goestimator/goestimator/internal/runtime/kernels"

// levels are the SIMD levels that have recorded results.
var levels = []string{"portable", "avx2", "avx512"}

// setLevel makes kernels use a level until restore is called. It returns false if this machine does not support the level.
func setLevel(name string) (restore func(), ok bool) {
	old := kernels.ActiveLevel()
	for l := kernels.Portable; l <= kernels.BestLevel(); l++ {
		if l.String() == name {
			kernels.SetLevel(l)
			return func() { kernels.SetLevel(old) }, true
		}
	}
	return nil, false
}
