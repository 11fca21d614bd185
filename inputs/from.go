package inputs

import (
	"context"
	"fmt"
	"io"
	"iter"
	"reflect"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// StreamOptions describes a source whose rows come only once.
type StreamOptions struct {
	ArrowOptions
	// Resume says what a restored position means; the zero value is ResumeError.
	Resume Resume
}

// FromStructs returns a data set of structs in memory, or of pointers to structs. Each exported field is a column.
//
// The tag of a field has its column's name and options, in encoding/json's form: `input:"price,label"`. A field without it has
// the name in its json tag, else its own; "-" leaves it out. The fields of an embedded struct are columns, too. The
// options are label, weight, shape=28x28x1 (for a slice) and, as the last one, default=value for a nil pointer.
//
// Numbers keep their types (int is int64, uint uint64), string and []byte are strings, arrays are columns of their
// shape, slices are ragged columns. Columns in o choose among the fields and change role, type, default or vocabulary, as
// for files. The structs are copied.
func FromStructs[T any](rows []T, o ArrowOptions) (Indexed, error) {
	p, err := planStruct(reflect.TypeFor[T](), o)
	if err != nil {
		return nil, err
	}
	values := make([]reflect.Value, len(rows))
	for i := range rows {
		values[i] = reflect.ValueOf(&rows[i]).Elem()
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: the slice of %s has no element", ErrEmpty, reflect.TypeFor[T]())
	}
	// A data set is never closed, so its rows have to be garbage collected.
	recs, err := p.records(memory.NewGoAllocator(), values)
	if err != nil {
		return nil, err
	}
	ix, err := indexRecords(p.schema, recs, o.Allocator)
	if err != nil {
		return nil, err
	}
	ix.view = keepViews(ix.view).view
	return ix, nil
}

// FromFunc returns the structs that a function yields; their fields become columns as for FromStructs. Each pass
// calls the function once, with a context that ends with the pass. An error that the function yields ends the pass.
//
// Restoring a position skips the rows delivered before, so the function must yield the same rows in each
// pass. Generator does the same for rows that are maps.
func FromFunc[T any](rows func(ctx context.Context) iter.Seq2[T, error], o ArrowOptions) (Dataset, error) {
	p, err := planStruct(reflect.TypeFor[T](), o)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return nil, fmt.Errorf("FromFunc got no function: give one that yields rows")
	}
	n := &node{schema: p.schema, mem: alloc(o.Allocator)}
	return liveNode(n, "function of "+reflect.TypeFor[T]().String(), ResumeSkip, func(ctx context.Context) (rowReader, error) {
		ctx, cancel := context.WithCancel(ctx)
		next, stop := iter.Pull2(rows(ctx))
		take := func(wait context.Context) (T, error) {
			defer context.AfterFunc(wait, cancel)()
			row, err, ok := next()
			if !ok {
				err = io.EOF
				if ctx.Err() != nil { // the function stopped early: these are not all rows
					err = context.Cause(ctx)
				}
			}
			return row, err
		}
		return &structReader[T]{plan: p, mem: n.mem, take: take, stop: func() { cancel(); stop() }}, nil
	}), nil
}

// FromChannel returns the structs received from a channel until it is closed; their fields become columns as for FromStructs.
//
// Received values are gone: every pass continues with what is left in the channel, and o.Resume says what a restored
// position means. A pass that waits for the channel ends with its context.
func FromChannel[T any](rows <-chan T, o StreamOptions) (Dataset, error) {
	p, err := planStruct(reflect.TypeFor[T](), o.ArrowOptions)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return nil, fmt.Errorf("FromChannel got a nil channel, from which no row ever comes: make one")
	}
	if err := o.Resume.validate(); err != nil {
		return nil, err
	}
	n := &node{schema: p.schema, mem: alloc(o.Allocator)}
	take := func(ctx context.Context) (row T, err error) {
		select {
		case row, ok := <-rows:
			if !ok {
				return row, io.EOF
			}
			return row, nil
		case <-ctx.Done():
			return row, ctx.Err()
		}
	}
	return liveNode(n, "channel of "+reflect.TypeFor[T]().String(), o.Resume, func(context.Context) (rowReader, error) {
		return &structReader[T]{plan: p, mem: n.mem, take: take, stop: func() {}}, nil
	}), nil
}

// structReader reads structs one after another.
type structReader[T any] struct {
	plan *structPlan
	mem  memory.Allocator
	take func(ctx context.Context) (T, error) // io.EOF at the end
	stop func()
	held []T   // taken, but not delivered
	row  int64 // rows delivered
	err  error // found after good rows, or io.EOF
}

func (r *structReader[T]) read(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	for len(r.held) < limit && r.err == nil {
		row, err := r.take(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, err // held rows stay for the next call
		}
		if err != nil && !eof(err) {
			err = &DataError{Row: r.row + int64(len(r.held)) + 1, Err: err}
		}
		if r.err = err; err == nil {
			r.held = append(r.held, row)
		}
	}
	n := min(limit, len(r.held))
	if n == 0 {
		return nil, r.err
	}
	values := make([]reflect.Value, n)
	for i := range values {
		values[i] = reflect.ValueOf(&r.held[i]).Elem()
	}
	rec, done, err := r.plan.record(r.mem, values, r.row)
	r.row += int64(done)
	clear(r.held[:done])
	r.held = r.held[:copy(r.held, r.held[done:])]
	if err != nil {
		r.err, r.held = err, nil
	}
	if rec == nil {
		return nil, r.err
	}
	return rec, nil
}

func (r *structReader[T]) skip(ctx context.Context, n int64) error {
	for range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := r.take(ctx); err != nil {
			return err
		}
		r.row++
	}
	return nil
}

func (r *structReader[T]) close() error {
	r.stop()
	return nil
}
