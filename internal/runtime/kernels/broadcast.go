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
	if s.cols <= narrow && narrowCol(BinaryOp(s.op), s.dst[lo*s.cols:hi*s.cols], s.a[lo*s.cols:hi*s.cols], s.b[lo:hi]) {
		return
	}
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

// narrow is the most columns for which a loop over elements beats a vector operation per row.
const narrow = 16

// narrowCol is BroadcastCol for rows of a few columns. It returns false for operations that it does not support.
func narrowCol[T Float](op BinaryOp, dst, x, v []T) bool {
	cols := len(x) / max(len(v), 1)
	if op == Div || op == DivNoNan {
		divideRows(op, dst, x, v, cols)
		return true
	}
	for r, k := range v {
		d, x := dst[r*cols:(r+1)*cols], x[r*cols:(r+1)*cols]
		switch op {
		case Add:
			for i, e := range x {
				d[i] = e + k
			}
		case Sub:
			for i, e := range x {
				d[i] = e - k
			}
		case Mul:
			for i, e := range x {
				d[i] = e * k
			}
		default:
			return false
		}
	}
	return true
}

// divideRows divides rows of a few columns by one element each. Vector division is so much faster that it pays to repeat
// the elements first.
func divideRows[T Float](op BinaryOp, dst, x, v []T, cols int) {
	t := scratches[T]().get()
	block := max(constBlock/max(cols, 1), 1)
	each := t.take(block * cols)
	for lo := 0; lo < len(v); lo += block {
		some := v[lo:min(lo+block, len(v))]
		for r, k := range some {
			Fill(each[r*cols:(r+1)*cols], k)
		}
		n := len(some) * cols
		to := dst[lo*cols:][:n]
		binaryRange(Div, to, x[lo*cols:][:n], each[:n])
		if op == Div {
			continue
		}
		for r, k := range some {
			if k == 0 {
				clear(to[r*cols : (r+1)*cols])
			}
		}
	}
	scratches[T]().put(t)
}
