package kernels

// shortRow is the length below which a row costs less than a call of assembly.
const shortRow = 16

// scatterEach is the number of elements of rows that are worth a thread.
const scatterEach = 1 << 14

// ScatterRows adds (op Add) row i of src to row ids[i] of table, or subtracts it (op Sub), in the order of the ids, to update
// an embedding. Rows have cols elements. Rows of a negative id are skipped; every other id must be a row of the table. The ids
// decide which thread does a row.
func ScatterRows[T Float, I int32 | int64](op BinaryOp, table, src []T, ids []I, cols int) {
	src = src[:len(ids)*cols]
	if len(src) == 0 {
		return
	}
	s := newSpan[T](&doScatterRows)
	s.dst, s.a, s.op, s.cols = table, src, int(op), cols
	s.labels32, s.labels64 = byWidth(ids)
	s.block = sharers(len(src), scatterEach)
	parallelEach(s.block, s)
	s.recycle()
}

var doScatterRows = spanFunc{runScatterRows[float32], runScatterRows[float64]}

func runScatterRows[T Float](s *span[T], lo, hi int) {
	for part := lo; part < hi; part++ {
		if s.labels32 != nil {
			scatterShare(s, s.labels32, part)
		} else {
			scatterShare(s, s.labels64, part)
		}
	}
}

// scatterShare does the rows of one of s.block threads, a few at a time.
func scatterShare[T Float, I int32 | int64](s *span[T], ids []I, part int) {
	cols, rows := s.cols, uint64(len(s.dst)/s.cols)
	var mine [touched]I
	var at [touched]int
	for i := 0; i < len(ids); {
		n := 0
		for ; n < touched && i < len(ids); i++ {
			if id := ids[i]; id >= 0 && (s.block == 1 || shareOf(rowHash(id), s.block) == part) {
				mine[n], at[n] = id, i
				n++
			}
		}
		touchRows(s.dst, mine[:n], cols, rows)
		for k, id := range mine[:n] {
			scatterRow(BinaryOp(s.op), s.dst[int(id)*cols:][:cols], s.a[at[k]*cols:][:cols])
		}
	}
}

// scatterRow adds x to a row or subtracts it.
func scatterRow[T Float](op BinaryOp, row, x []T) {
	switch {
	case len(row) >= shortRow:
		binaryRange(op, row, row, x)
	case op == Add:
		for c, v := range x {
			row[c] += v
		}
	default:
		for c, v := range x {
			row[c] -= v
		}
	}
}
