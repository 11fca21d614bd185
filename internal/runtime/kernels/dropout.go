package kernels

// Dropout sets dst[i] = x[i]*scale where u[i] < keep and 0 elsewhere, u being uniform in [0, 1) and scale 1/keep as a
// rule. The same call on dy gives the gradient. dst may be x or u.
func Dropout[T Float](dst, x, u []T, keep, scale T) {
	_, _ = x[:len(dst)], u[:len(dst)]
	s := newSpan[T](&doDropout)
	s.dst, s.a, s.b, s.k[0], s.k[1] = dst, x, u, keep, scale
	s.do(len(dst), elementGrain)
}

var doDropout = spanFunc{runDropout[float32], runDropout[float64]}

func runDropout[T Float](s *span[T], lo, hi int) {
	dst, x, u, keep, scale := s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi], s.k[0], s.k[1]
	if simdDropout(dst, x, u, keep, scale) {
		return
	}
	for i, v := range u {
		if v < keep {
			dst[i] = x[i] * scale
		} else {
			dst[i] = 0
		}
	}
}
