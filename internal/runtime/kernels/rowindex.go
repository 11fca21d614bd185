package kernels

// shortRow is the length below which a row costs less than the way to its assembly.
const shortRow = 16

// ScatterRows adds (op Add) row i of src to row ids[i] of table, rows of cols elements, or subtracts it (op Sub), in the
// order of the ids: an update of an embedding. Rows of a negative id are skipped; every other id must be a row of the table.
func ScatterRows[T Float, I int32 | int64](op BinaryOp, table, src []T, ids []I, cols int) {
	for i, id := range ids {
		if id < 0 {
			continue
		}
		row, x := table[int(id)*cols:][:cols], src[i*cols:][:cols]
		switch {
		case cols >= shortRow:
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
}
