package inputs

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
)

// A Dataset is a lazy stream of Arrow record batches with one Schema that can
// be iterated any number of times. Datasets are safe for concurrent use.
type Dataset interface {
	// Schema describes the columns of every record of the stream.
	Schema() *Schema
	// Iterate starts a fresh pass. Background work of the pass (prefetching,
	// parallel maps) ends when ctx is cancelled or the Iterator is closed.
	Iterate(ctx context.Context) (Iterator, error)
}

// An Iterator is one pass over a Dataset. Its methods must not be called
// concurrently. It must be closed.
type Iterator interface {
	// Next returns the next record, which the caller releases, or io.EOF at the end.
	Next(ctx context.Context) (arrow.Record, error)
	// State returns the exact position, which is after the last record that Next
	// delivered.
	State() ([]byte, error)
	// Restore moves to a position that State returned for the same pipeline, so that
	// Next continues with the first record not delivered then. The error wraps
	// ErrStateMismatch for a state of another pipeline, ErrBadState for a damaged one;
	// the Iterator can then only be closed.
	Restore(state []byte) error
	// Close ends the pass and releases what it holds.
	Close() error
}

// Indexed is implemented by Datasets with random access to their rows.
// Shuffling one keeps row numbers instead of rows.
type Indexed interface {
	Dataset
	// Len returns the number of rows, math.MaxInt64 for an endless data set.
	Len() int64
	// Gather returns the given rows, in that order, as one record.
	Gather(ctx context.Context, rows []int64) (arrow.Record, error)
}

// Epoched is implemented by Datasets whose passes differ from epoch to epoch;
// Repeat numbers the epochs from 0. Iterate is the pass of epoch 0.
type Epoched interface {
	Dataset
	IterateEpoch(ctx context.Context, epoch int64) (Iterator, error)
}

// A Transform makes a Dataset out of another one. Counts are always rows.
// An invalid argument is reported by Iterate of the result.
type Transform func(Dataset) Dataset

// Pipe applies transforms from left to right. It returns nil for a nil data set, so
// that callers can return its result together with a source's error.
func Pipe(ds Dataset, transforms ...Transform) Dataset {
	if ds == nil {
		return nil
	}
	for _, t := range transforms {
		ds = t(ds)
	}
	return ds
}
