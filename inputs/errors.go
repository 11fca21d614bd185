package inputs

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrEmpty is the error of a data set without rows.
	ErrEmpty = errors.New("data set is empty")
	// ErrStateMismatch is the error of an iterator state that belongs to another pipeline.
	ErrStateMismatch = errors.New("input state belongs to a different pipeline")
	// ErrBadState is the error of an iterator state that is damaged or of an unknown version.
	ErrBadState = errors.New("input state is damaged")
	// ErrClosed is the error of a closed iterator.
	ErrClosed = errors.New("input iterator is closed")
)

// The messages for a missing value.
var (
	errMissing     = errors.New("value is missing: give the column a default, or correct the file")
	errMissingList = errors.New("value is missing: a label needs its list, which may be empty; correct the file")
)

// DataError is the error of a value of a file, with its place.
type DataError struct {
	File   string // path
	Line   int    // from 1; 0: not known
	Column int    // byte within the line, from 1; 0: not known
	Record int    // of a file of records, from 1; 0: not known
	Row    int64  // in a file of columns, or in data in memory, from 1; 0: not known
	Name   string // name of the column; "": the error is not of one column
	Err    error
}

// Error returns "file:line:column: column "name": what happened"; for files of records,
// "file: record 3: column "name": what happened".
func (e *DataError) Error() string {
	var parts []string
	if e.File != "" {
		at := e.File
		if e.Line > 0 {
			at += fmt.Sprintf(":%d", e.Line)
		}
		if e.Line > 0 && e.Column > 0 {
			at += fmt.Sprintf(":%d", e.Column)
		}
		parts = append(parts, at)
	}
	if e.Record > 0 {
		parts = append(parts, fmt.Sprintf("record %d", e.Record))
	}
	if e.Row > 0 {
		parts = append(parts, fmt.Sprintf("row %d", e.Row))
	}
	if e.Name != "" {
		parts = append(parts, fmt.Sprintf("column %q", e.Name))
	}
	return strings.Join(append(parts, e.Err.Error()), ": ")
}

// Unwrap returns the cause.
func (e *DataError) Unwrap() error { return e.Err }

// fileError returns a DataError that concerns a whole file.
func fileError(file, format string, args ...any) error {
	return &DataError{File: file, Err: fmt.Errorf(format, args...)}
}

// baseNames lists files without their folders, so that a state stays valid when the data is
// moved.
func baseNames(files []string) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = BaseName(f)
	}
	return strings.Join(names, " ")
}
