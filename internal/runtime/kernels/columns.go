package kernels

// Column sums over x [rows, cols]. The rows are cut into blocks, whose number depends only on the shape. One thread sums
// each block, and the blocks are added in order.
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
	s := newSpan[T](&doColumns)
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

var doColumns = spanFunc{runColumns[float32], runColumns[float64]}

func runColumns[T Float](s *span[T], lo, hi int) {
	t := scratches[T]().get()
	strip := t.take(s.cols)
	for i := lo; i < hi; i++ {
		acc := s.dst[i*s.cols : (i+1)*s.cols]
		clear(acc)
		for r := i * s.block; r < min((i+1)*s.block, s.rows); r += colStrip {
			to := min(r+colStrip, (i+1)*s.block, s.rows)
			var b []T
			if s.b != nil {
				b = s.b[r*s.cols : to*s.cols]
			}
			clear(strip)
			addColumns(colKind(s.op), strip, s.a[r*s.cols:to*s.cols], b, s.c)
			binaryRange(Add, acc, acc, strip)
		}
	}
	scratches[T]().put(t)
}

// colStrip is the number of rows that are summed before their sum is added to the block's, so that the rounding errors of
// long columns stay small.
const colStrip = 64

// addColumns adds the columns of a (and b) to acc.
func addColumns[T Float](kind colKind, acc, a, b, mean []T) {
	cols := len(acc)
	if len(a) == 0 || simdColumns(kind, acc, a, b, mean) {
		return
	}
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
