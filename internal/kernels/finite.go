package kernels

// AllFinite reports whether x holds neither NaN nor an infinity: the NaN check of a training step.
func AllFinite[T Float](x []T) bool {
	s := newSpan[T](&doAllFinite)
	blocks := ceilDiv(len(x), reduceBlock)
	s.a, s.dst = x, s.part.take(blocks)
	Parallel(blocks, 1, s)
	bad := sumRange(s.dst)
	s.recycle()
	return bad == 0
}

var doAllFinite = spanFunc{runAllFinite[float32], runAllFinite[float64]}

// runAllFinite marks each block that holds something else: 0*x is 0 for finite numbers alone.
func runAllFinite[T Float](s *span[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		s.dst[i] = 0
		for _, v := range s.a[i*reduceBlock : min((i+1)*reduceBlock, len(s.a))] {
			if v*0 != 0 {
				s.dst[i] = 1
				break
			}
		}
	}
}
