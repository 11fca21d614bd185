package kernels

const (
	narrowRow  = 32  // most columns of rows that are done side by side
	narrowRows = 128 // rows done at a time, so that they stay in the L1 cache
)

// narrowSoftmax is softmax of rows that are too short for vectors. They are transposed, so that a vector has one column of many
// rows. A row's result does not depend on the number of rows.
type narrowSoftmax[T Float] struct {
	cols, n int
	x       []T // [cols, n]
	v, sum  []T // one element for each of the n rows
}

// narrowBlock returns the number of rows of a block. A few rows are done one by one.
func narrowBlock(rows int) int {
	if rows < transposeRows {
		return 1
	}
	return min(rows, narrowRows)
}

// newNarrow returns the memory for blocks of rows with cols columns.
func newNarrow[T Float](t *scratch[T], cols int) narrowSoftmax[T] {
	all := t.take((cols + 2) * narrowRows)
	return narrowSoftmax[T]{cols: cols, x: all[2*narrowRows:], v: all[:narrowRows], sum: all[narrowRows:]}
}

// load loads n rows and subtracts their maxima.
func (b *narrowSoftmax[T]) load(rows []T, n int) {
	b.n, b.v, b.sum = n, b.v[:n], b.sum[:n]
	transposeRange(b.x, n, rows, b.cols, n, b.cols)
	b.fold(Max, b.v)
	b.each(Sub)
}

// exp replaces the elements by their exponentials and sums these.
func (b *narrowSoftmax[T]) exp() {
	x := b.x[:b.cols*b.n]
	unaryRange(Exp, x, x)
	b.fold(Add, b.sum)
}

// store writes the exponentials divided by their sums to rows.
func (b *narrowSoftmax[T]) store(rows []T) {
	unaryRange(Reciprocal, b.v, b.sum)
	b.each(Mul)
	transposeRange(rows, b.cols, b.x, b.n, b.cols, b.n)
}

// fold sets acc to the columns combined by Add or Max, from the first one on.
func (b *narrowSoftmax[T]) fold(op BinaryOp, acc []T) {
	copy(acc, b.x)
	if b.n > 1 {
		for c := 1; c < b.cols; c++ {
			binaryRange(op, acc, acc, b.x[c*b.n:][:b.n])
		}
		return
	}
	all := acc[0]
	for _, e := range b.x[1:b.cols] {
		if op == Add {
			all += e
		} else {
			all = max(all, e)
		}
	}
	acc[0] = all
}

// each combines all columns with v by Sub or Mul.
func (b *narrowSoftmax[T]) each(op BinaryOp) {
	if b.n > 1 {
		for c := range b.cols {
			column := b.x[c*b.n:][:b.n]
			binaryRange(op, column, column, b.v)
		}
		return
	}
	row, k := b.x[:b.cols], b.v[0]
	for i := range row {
		if op == Sub {
			row[i] -= k
		} else {
			row[i] *= k
		}
	}
}

func narrowSoftmaxRows[T Float](s *span[T], lo, hi int) {
	t := scratches[T]().get()
	for b := newNarrow(t, s.cols); lo < hi; lo += b.n {
		n := narrowBlock(hi - lo)
		from, to := lo*s.cols, (lo+n)*s.cols
		b.load(s.a[from:to], n)
		b.exp()
		b.store(s.dst[from:to])
	}
	scratches[T]().put(t)
}

func narrowSparseXent[T Float](s *span[T], lo, hi int) {
	t := scratches[T]().get()
	for b := newNarrow(t, s.cols); lo < hi; lo += b.n {
		n := narrowBlock(hi - lo)
		from, to := lo*s.cols, (lo+n)*s.cols
		loss := s.b[lo : lo+n]
		b.load(s.a[from:to], n)
		for i := range loss {
			loss[i] = b.x[s.label(lo+i)*n+i]
		}
		b.exp()
		if s.dst != nil {
			dst := s.dst[from:to]
			b.store(dst)
			for i := range loss {
				dst[i*s.cols+s.label(lo+i)]--
			}
		}
		unaryRange(Log, b.v, b.sum)
		for i, l := range b.v {
			loss[i] = l - loss[i]
		}
	}
	scratches[T]().put(t)
}
