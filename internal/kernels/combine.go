package kernels

// GatherSum adds to dst the rows of table that the ids name, of len(dst)
// elements each, every one times its weight; a nil w means weights of 1. Negative
// ids are skipped; the others must be rows of the table.
func GatherSum[T Float, I int32 | int64](dst, table []T, ids []I, w []T) {
	if len(dst) == 1 {
		dst[0] += gatherSumScalars(table, ids, w)
		return
	}
	cols := len(dst)
	for p, id := range ids {
		if id >= 0 {
			addRow(dst, table[int(id)*cols:][:cols], w, p)
		}
	}
}

// SumRows adds to dst the rows that lie one after the other, but for those with
// a negative id, as GatherSum does.
func SumRows[T Float, I int32 | int64](dst, rows []T, ids []I, w []T) {
	cols := len(dst)
	for p, id := range ids {
		if id >= 0 {
			addRow(dst, rows[p*cols:][:cols], w, p)
		}
	}
}

// gatherSumScalars is GatherSum of a column, a linear model's weights.
func gatherSumScalars[T Float, I int32 | int64](table []T, ids []I, w []T) T {
	var sum T
	if w == nil {
		for _, id := range ids {
			if id >= 0 {
				sum += table[id]
			}
		}
		return sum
	}
	for p, id := range ids {
		if id >= 0 {
			sum += T(w[p] * table[id])
		}
	}
	return sum
}

// addRow adds row x, times weight p where there are weights, to dst.
func addRow[T Float](dst, x, w []T, p int) {
	switch {
	case w == nil && len(dst) >= shortRow:
		binaryRange(Add, dst, dst, x)
	case w == nil:
		for c, v := range x {
			dst[c] += v
		}
	case len(dst) >= shortRow:
		axpyRange(w[p], x, dst)
	default:
		k := w[p]
		for c, v := range x {
			dst[c] += T(k * v)
		}
	}
}
