package inputs

import "fmt"

// A RowError names the row in which a column has an invalid value. Locate finds that row in the files.
type RowError struct {
	Column  string // its name
	Row     int64  // from 0, in the pass over the data set or, if InBatch, in its batch
	InBatch bool
	Element int    // index in the row's values
	Value   string // the value, quoted if it is a string; "" if it does not help
	Err     error  // what is wrong with it
}

// Error returns "column "age", row 17: value NaN: what is wrong". Rows count from 1, like lines of files.
func (e *RowError) Error() string {
	row := fmt.Sprintf("row %d", e.Row+1)
	if e.InBatch {
		row += " of its batch"
	}
	return fmt.Sprintf("column %q, %s: %s", e.Column, row, e.what())
}

// what returns the error without its place.
func (e *RowError) what() string {
	if e.Value == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("value %s: %v", e.Value, e.Err)
}

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }
