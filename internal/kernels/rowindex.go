package kernels

import "fmt"

// RowError says that an id names no row of a table.
type RowError struct {
	At   int   // position among the ids
	ID   int64 // what it holds
	Rows int   // ids must be in [0, Rows)
}

// Error implements error.
func (e *RowError) Error() string {
	return fmt.Sprintf("id out of range: ids[%d] is %d, expected 0 <= id < %d: check the ids or the number of rows",
		e.At, e.ID, e.Rows)
}

func checkRows[I int32 | int64](ids []I, rows int) error {
	for i, id := range ids {
		if id < 0 || int64(id) >= int64(rows) {
			return &RowError{At: i, ID: int64(id), Rows: rows}
		}
	}
	return nil
}

// GatherRows copies row ids[i] of table [rows, cols] to row i of dst: an embedding lookup. An id outside the table gives
// a *RowError and nothing is written.
func GatherRows[T Float, I int32 | int64](dst, table []T, ids []I, rows, cols int) error {
	_, _ = dst[:len(ids)*cols], table[:rows*cols]
	if err := checkRows(ids, rows); err != nil {
		return err
	}
	for i, id := range ids {
		copy(dst[i*cols:(i+1)*cols], table[int(id)*cols:])
	}
	return nil
}

// ScatterAddRows adds row i of src to row ids[i] of table [rows, cols], in the order of the ids. An id outside the table
// gives a *RowError and nothing is written.
func ScatterAddRows[T Float, I int32 | int64](table, src []T, ids []I, rows, cols int) error {
	_, _ = src[:len(ids)*cols], table[:rows*cols]
	if err := checkRows(ids, rows); err != nil {
		return err
	}
	for i, id := range ids {
		row := table[int(id)*cols : (int(id)+1)*cols]
		binaryRange(Add, row, row, src[i*cols:(i+1)*cols])
	}
	return nil
}
