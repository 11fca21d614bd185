package kernels

// Column sums over x [rows, cols]. The rows are cut into blocks whose number follows from the shape alone; each block
// is summed by one thread and the blocks are added in order.
const (
	colBlockElements = 16384
	colBlocksMax     = 64
)

type colKind int

const (
	colSum      colKind = iota
	colCentered         // sum of (a - mean)^2
	colProduct          // sum of a*(b - mean)
)

// ColSum sets dst[c] to the sum of column c: the gradient of a bias.
func ColSum[T Float](dst, x []T, rows, cols int) {
	columns(colSum, dst[:cols], x[:rows*cols], nil, nil, rows)
}

// ColSumCentered sets dst[c] to the sum over rows of (x[r,c]-mean[c])^2: rows times the variance.
func ColSumCentered[T Float](dst, x, mean []T, rows, cols int) {
	columns(colCentered, dst[:cols], x[:rows*cols], nil, mean[:cols], rows)
}

// ColDotCentered sets dst[c] to the sum over rows of dy[r,c]*(x[r,c]-mean[c]): the gradient of batch norm's scale
// before division by the standard deviation.
func ColDotCentered[T Float](dst, dy, x, mean []T, rows, cols int) {
	columns(colProduct, dst[:cols], dy[:rows*cols], x[:rows*cols], mean[:cols], rows)
}

func columns[T Float](kind colKind, dst, a, b, mean []T, rows int) {
	cols := len(dst)
	blocks := max(1, min(rows*cols/colBlockElements, colBlocksMax, rows))
	if cols == 0 {
		return
	}
	s := newSpan(runColumns[T])
	s.op, s.a, s.b, s.c, s.rows, s.cols = int(kind), a, b, mean, rows, cols
	s.block = ceilDiv(rows, blocks)
	s.dst = s.part.take(blocks * cols)
	Parallel(blocks, 1, s)
	copy(dst, s.dst[:cols])
	for i := 1; i < blocks; i++ {
		binaryRange(Add, dst, dst, s.dst[i*cols:(i+1)*cols])
	}
	s.recycle()
}

func runColumns[T Float](s *span[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		acc := s.dst[i*s.cols : (i+1)*s.cols]
		Fill(acc, 0)
		from, to := min(i*s.block, s.rows), min((i+1)*s.block, s.rows)
		var b []T
		if s.b != nil {
			b = s.b[from*s.cols : to*s.cols]
		}
		addColumns(colKind(s.op), acc, s.a[from*s.cols:to*s.cols], b, s.c)
	}
}

// addColumns adds the columns of a (and b) to acc.
func addColumns[T Float](kind colKind, acc, a, b, mean []T) {
	if kind == colSum && simdColSum(acc, a) {
		return
	}
	cols := len(acc)
	for ; len(a) > 0; a = a[cols:] {
		row := a[:cols]
		switch kind {
		case colSum:
			binaryRange(Add, acc, acc, row)
		case colCentered:
			for i, v := range row {
				d := v - mean[i]
				acc[i] += d * d
			}
		default:
			for i, v := range row {
				acc[i] += v * (b[i] - mean[i])
			}
			b = b[cols:]
		}
	}
}

// BroadcastRow sets dst[r,c] = op(x[r,c], v[c]) for x [rows, cols]: with Add, a bias. dst may be x.
func BroadcastRow[T Float](op BinaryOp, dst, x, v []T, rows, cols int) {
	_, _, _ = dst[:rows*cols], x[:rows*cols], v[:cols]
	checkBinary(op)
	s := newSpan(runBroadcastRow[T])
	s.op, s.dst, s.a, s.b, s.cols = int(op), dst, x, v, cols
	s.do(rows, rowGrain(cols, elementGrain))
}

func runBroadcastRow[T Float](s *span[T], lo, hi int) {
	v := s.b[:s.cols]
	for r := lo; r < hi; r++ {
		from, to := r*s.cols, (r+1)*s.cols
		binaryRange(BinaryOp(s.op), s.dst[from:to], s.a[from:to], v)
	}
}

// BroadcastCol sets dst[r,c] = op(x[r,c], v[r]) for x [rows, cols]. dst may be x.
func BroadcastCol[T Float](op BinaryOp, dst, x, v []T, rows, cols int) {
	_, _, _ = dst[:rows*cols], x[:rows*cols], v[:rows]
	checkBinary(op)
	s := newSpan(runBroadcastCol[T])
	s.op, s.dst, s.a, s.b, s.cols = int(op), dst, x, v, cols
	s.do(rows, rowGrain(cols, elementGrain))
}

func runBroadcastCol[T Float](s *span[T], lo, hi int) {
	var k [constBlock]T
	for r := lo; r < hi; r++ {
		Fill(k[:min(constBlock, s.cols)], s.b[r])
		for c := 0; c < s.cols; c += constBlock {
			from, to := r*s.cols+c, r*s.cols+min(c+constBlock, s.cols)
			binaryRange(BinaryOp(s.op), s.dst[from:to], s.a[from:to], k[:to-from])
		}
	}
}

// ScaleShift sets dst[r,c] = x[r,c]*scale[c] + shift[c], and max of that and 0 if relu: batch norm with its moments
// folded into scale and shift. dst may be x.
func ScaleShift[T Float](dst, x, scale, shift []T, relu bool) {
	cols := len(scale)
	_, _ = x[:len(dst)], shift[:cols]
	if cols == 0 {
		return
	}
	s := newSpan(runScaleShift[T])
	s.dst, s.a, s.b, s.c, s.flag, s.cols = dst, x, scale, shift, relu, cols
	s.do(len(dst)/cols, rowGrain(cols, elementGrain))
}

func runScaleShift[T Float](s *span[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		from, to := r*s.cols, (r+1)*s.cols
		scaleShiftRow(s.dst[from:to], s.a[from:to], s.b, s.c)
		if s.flag {
			unaryRange(Relu, s.dst[from:to], s.dst[from:to])
		}
	}
}

func scaleShiftRow[T Float](dst, x, scale, shift []T) {
	x, scale, shift = x[:len(dst)], scale[:len(dst)], shift[:len(dst)]
	if simdMulAdd(dst, x, scale, shift) {
		return
	}
	for i, v := range x {
		dst[i] = v*scale[i] + shift[i]
	}
}

// BatchNormGrad sets dst[r,c] = a[c]*dy[r,c] + b[c]*x[r,c] + c[c]: the input gradient of batch norm in training mode,
// whose coefficients the caller derives from the column sums. dst may be dy or x.
func BatchNormGrad[T Float](dst, dy, x []T, coef [3][]T) {
	cols := len(coef[0])
	_, _, _, _ = dy[:len(dst)], x[:len(dst)], coef[1][:cols], coef[2][:cols]
	if cols == 0 {
		return
	}
	s := newSpan(runBatchNormGrad[T])
	s.dst, s.a, s.b, s.coef, s.cols = dst, dy, x, coef, cols
	s.do(len(dst)/cols, rowGrain(cols, elementGrain))
}

func runBatchNormGrad[T Float](s *span[T], lo, hi int) {
	var t [constBlock]T
	for r := lo; r < hi; r++ {
		for c := 0; c < s.cols; c += constBlock {
			from, to := r*s.cols+c, r*s.cols+min(c+constBlock, s.cols)
			end := c + to - from
			scaleShiftRow(t[:to-from], s.b[from:to], s.coef[1][c:end], s.coef[2][c:end])
			scaleShiftRow(s.dst[from:to], s.a[from:to], s.coef[0][c:end], t[:to-from])
		}
	}
}
