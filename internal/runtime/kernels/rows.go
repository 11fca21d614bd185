package kernels

// rowMap is dst = x*scale + shift (x + shift if scale is nil), clipped below zero if relu, row by row.
type rowMap[T Float] struct {
	dst, x       []T
	ld           int // distance between rows of dst and x
	scale, shift []T // as long as a row
	relu         bool
}

// rowCall bounds the elements of one call of assembly.
const rowCall = 1 << 15

// apply does the given number of rows on the calling goroutine.
func (r rowMap[T]) apply(rows int) {
	cols := len(r.shift)
	if cols == 0 {
		return
	}
	step := max(1, rowCall/cols)
	for ; rows > 0; rows -= step {
		r.strip(min(step, rows))
		if rows > step {
			r.dst, r.x = r.dst[step*r.ld:], r.x[step*r.ld:]
		}
	}
}

func (r *rowMap[T]) strip(rows int) {
	if simdRows(r, rows) {
		return
	}
	cols := len(r.shift)
	for i := range rows {
		dst, x := r.dst[i*r.ld:][:cols], r.x[i*r.ld:][:cols]
		for c, v := range x {
			if r.scale != nil {
				v *= r.scale[c]
			}
			v += r.shift[c]
			if r.relu {
				v = max(v, 0)
			}
			dst[c] = v
		}
	}
}

// ScaleShift sets dst[r,c] = x[r,c]*scale[c] + shift[c], and clips it below zero if relu: batch norm with the moments folded
// into scale and shift. The rows have len(shift) columns. A nil scale means 1, which makes it a bias. dst may be x.
func ScaleShift[T Float](dst, x, scale, shift []T, relu bool) {
	cols := len(shift)
	_ = x[:len(dst)]
	if cols == 0 {
		return
	}
	s := newSpan[T](&doScaleShift)
	s.dst, s.a, s.b, s.c, s.flag, s.cols = dst, x, scale, shift, relu, cols
	s.do(len(dst)/cols, rowGrain(cols, elementGrain))
}

var doScaleShift = spanFunc{runScaleShift[float32], runScaleShift[float64]}

func runScaleShift[T Float](s *span[T], lo, hi int) {
	rowMap[T]{dst: s.dst[lo*s.cols : hi*s.cols], x: s.a[lo*s.cols : hi*s.cols], ld: s.cols, scale: s.b, shift: s.c,
		relu: s.flag}.apply(hi - lo)
}

// BatchNormGrad sets dst[r,c] = a[c]*dy[r,c] + b[c]*x[r,c] + c[c], the input gradient of batch norm in training mode. The
// caller derives the coefficients from the column sums. dst may be dy or x.
func BatchNormGrad[T Float](dst, dy, x []T, coef [3][]T) {
	cols := len(coef[0])
	_, _, _, _ = dy[:len(dst)], x[:len(dst)], coef[1][:cols], coef[2][:cols]
	if cols == 0 {
		return
	}
	s := newSpan[T](&doBatchNormGrad)
	s.dst, s.a, s.b, s.coef, s.cols = dst, dy, x, coef, cols
	s.do(len(dst)/cols, rowGrain(cols, elementGrain))
}

var doBatchNormGrad = spanFunc{runBatchNormGrad[float32], runBatchNormGrad[float64]}

func runBatchNormGrad[T Float](s *span[T], lo, hi int) {
	step := max(1, rowCall/s.cols)
	for r := lo; r < hi; r += step {
		from, to := r*s.cols, min(r+step, hi)*s.cols
		normGradRows(s.dst[from:to], s.a[from:to], s.b[from:to], &s.coef)
	}
}

// normGradRows is BatchNormGrad for some rows.
func normGradRows[T Float](dst, dy, x []T, coef *[3][]T) {
	if simdNormGrad(dst, dy, x, coef) {
		return
	}
	a, b, c := coef[0], coef[1], coef[2]
	for ; len(dst) > 0; dst, dy, x = dst[len(a):], dy[len(a):], x[len(a):] {
		for i, k := range a {
			dst[i] = k*dy[i] + (b[i]*x[i] + c[i])
		}
	}
}
