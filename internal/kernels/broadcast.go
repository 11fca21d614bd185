package kernels

// BroadcastRow sets dst[r,c] = op(x[r,c], v[c]) for x [rows, cols]: with Add, a bias. dst may be x.
func BroadcastRow[T Float](op BinaryOp, dst, x, v []T, rows, cols int) {
	_, _, _ = dst[:rows*cols], x[:rows*cols], v[:cols]
	checkBinary(op)
	s := newSpan[T](&doBroadcastRow)
	s.op, s.dst, s.a, s.b, s.cols = int(op), dst, x, v, cols
	s.do(rows, rowGrain(cols, elementGrain))
}

var doBroadcastRow = spanFunc{runBroadcastRow[float32], runBroadcastRow[float64]}

func runBroadcastRow[T Float](s *span[T], lo, hi int) {
	v := s.b[:s.cols]
	if BinaryOp(s.op) == Add {
		rowMap[T]{dst: s.dst[lo*s.cols : hi*s.cols], x: s.a[lo*s.cols : hi*s.cols], ld: s.cols, shift: v}.apply(hi - lo)
		return
	}
	for r := lo; r < hi; r++ {
		from, to := r*s.cols, (r+1)*s.cols
		binaryRange(BinaryOp(s.op), s.dst[from:to], s.a[from:to], v)
	}
}

// BroadcastCol sets dst[r,c] = op(x[r,c], v[r]) for x [rows, cols]. dst may be x.
func BroadcastCol[T Float](op BinaryOp, dst, x, v []T, rows, cols int) {
	_, _, _ = dst[:rows*cols], x[:rows*cols], v[:rows]
	checkBinary(op)
	s := newSpan[T](&doBroadcastCol)
	s.op, s.dst, s.a, s.b, s.cols = int(op), dst, x, v, cols
	s.do(rows, rowGrain(cols, elementGrain))
}

var doBroadcastCol = spanFunc{runBroadcastCol[float32], runBroadcastCol[float64]}

func runBroadcastCol[T Float](s *span[T], lo, hi int) {
	t := scratches[T]().get()
	k := t.take(min(constBlock, s.cols))
	for r := lo; r < hi; r++ {
		Fill(k, s.b[r])
		for c := 0; c < s.cols; c += constBlock {
			from, to := r*s.cols+c, r*s.cols+min(c+constBlock, s.cols)
			binaryRange(BinaryOp(s.op), s.dst[from:to], s.a[from:to], k[:to-from])
		}
	}
	scratches[T]().put(t)
}
