package kernels

// GatherSum adds to dst the rows of table that the ids name, of len(dst) elements
// each, times their weights; a nil w means weights of 1. It skips negative ids. At
// the first id that is no row of the table it stops and returns the id's place,
// otherwise -1.
func GatherSum[T Float, I int32 | int64](dst, table []T, ids []I, w []T) int {
	cols := len(dst)
	if cols == 1 && w == nil {
		return gatherSumScalars(dst, table, ids)
	}
	rows := uint64(len(table) / max(cols, 1))
	for lo := 0; lo < len(ids); lo += touched {
		some := ids[lo:min(lo+touched, len(ids))]
		touchRows(table, some, cols, rows)
		for p, id := range some {
			if uint64(id) < rows {
				addRow(dst, table[int(id)*cols:][:cols], w, lo+p)
			} else if id >= 0 {
				return lo + p
			}
		}
	}
	return -1
}

// GatherRows sets each row of dst to the row of table that its id names, or to zeros for a negative id, like GatherSum of
// one id to a dst of zeros. At the first id that is no row of the table it stops and returns the id's place, otherwise -1.
// It is meant for rows of a few columns.
func GatherRows[T Float, I int32 | int64](dst, table []T, ids []I) int {
	cols := len(dst) / max(len(ids), 1)
	if cols == 1 {
		return gatherScalars(dst, table, ids)
	}
	rows := uint64(len(table) / max(cols, 1))
	for p, id := range ids {
		to := dst[p*cols : (p+1)*cols]
		switch {
		case uint64(id) < rows:
			for c, v := range table[int(id)*cols:][:cols] {
				to[c] = 0 + v // a sum: -0 gives 0
			}
		case id >= 0:
			return p
		default:
			clear(to)
		}
	}
	return -1
}

func gatherScalars[T Float, I int32 | int64](dst, table []T, ids []I) int {
	dst = dst[:len(ids)]
	for p, id := range ids {
		switch {
		case uint64(id) < uint64(len(table)):
			dst[p] = 0 + table[id]
		case id >= 0:
			return p
		default:
			dst[p] = 0
		}
	}
	return -1
}

// touched is the number of rows that are touched before they are used.
const touched = 64

// touchRows reads an element of each existing row, so that the cache misses of many
// rows overlap. It is not inlined, because the compiler would drop the reads.
//
//go:noinline
func touchRows[T any, I int32 | int64](table []T, ids []I, cols int, rows uint64) (last T) {
	for _, id := range ids {
		if uint64(id) < rows {
			last = table[int(id)*cols]
		}
	}
	return last
}

// SumRows is GatherSum for consecutive rows: it adds to dst all rows except the
// ones with a negative id.
func SumRows[T Float, I int32 | int64](dst, rows []T, ids []I, w []T) {
	cols := len(dst)
	for p, id := range ids {
		if id >= 0 {
			addRow(dst, rows[p*cols:][:cols], w, p)
		}
	}
}

// gatherSumScalars is GatherSum for a single column, a linear model's weights.
func gatherSumScalars[T Float, I int32 | int64](dst, table []T, ids []I) int {
	sum := dst[0]
	for p, id := range ids {
		if uint64(id) < uint64(len(table)) {
			sum += table[id]
		} else if id >= 0 {
			return p
		}
	}
	dst[0] = sum
	return -1
}

// addRow adds row x to dst, times w[p] unless w is nil.
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
