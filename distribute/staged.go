package distribute

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/inputs"
	strategies "github.com/goestimator/goestimator/internal/distribute"
)

// staged is the batch of one step, and the records whose memory it shares.
type staged struct {
	readers []*inputs.TensorReader // by replica
	batch   Batch
	records []arrow.Record
	before  func() []byte           // the input's position before it, if it was read ahead
	err     error                   // of reading it; returned in its turn
	fed     map[*Function]*fedParts // functions for which it is copied to the GPUs
}

// fedParts is a batch in the form that a function takes.
type fedParts struct {
	parts []strategies.Batch
	ahead bool // it is being copied to the GPUs
}

func (in *Input) newStaged() *staged {
	st := &staged{fed: map[*Function]*fedParts{}}
	for range in.strategy.LocalReplicas() {
		st.readers = append(st.readers, inputs.NewTensorReader(in.ds.Schema()))
		st.batch = append(st.batch, Tensors{})
	}
	return st
}

// full reports whether each replica has a part.
func (st *staged) full() bool { return len(st.records) == len(st.readers) }

// add makes a record the part of the next replica and keeps it, unless it has no rows.
func (st *staged) add(rec arrow.Record) error {
	if rec.NumRows() == 0 {
		rec.Release()
		return nil
	}
	n := len(st.records)
	columns, err := st.readers[n].Read(rec)
	if err != nil {
		rec.Release()
		return err
	}
	for _, c := range columns {
		if c.Offsets == nil {
			st.batch[n][c.Name] = c.Tensor
		}
	}
	st.records = append(st.records, rec)
	return nil
}

// release releases the records once no copy of them is in progress.
func (st *staged) release() error {
	var errs []error
	for f, fed := range st.fed {
		if fed.ahead { // it did not run
			errs = append(errs, f.uploader().Forget())
		}
		fed.ahead = false
	}
	for _, r := range st.records {
		r.Release()
	}
	st.records, st.before, st.err = st.records[:0], nil, nil
	return errors.Join(errs...)
}

// readAhead reads as many batches ahead as the functions that ran on the previous batch want, and begins to copy
// them.
func (it *Iterator) readAhead(ctx context.Context) error {
	users := it.used
	it.used = it.used[:0]
	depth := 0
	for _, f := range users {
		if u := f.uploader(); u != nil {
			depth = max(depth, u.Ahead())
		}
	}
	last := it.now
	for n := range depth {
		if !last.full() {
			return nil
		}
		if n == len(it.ahead) {
			if err := it.grow(); err != nil {
				return err
			}
		}
		last = it.ahead[n]
		if last.err != nil {
			return nil
		}
		if last.err = it.fill(ctx, last); last.err != nil {
			if ctx.Err() != nil {
				last.err = nil // the next call has another context
			}
			return nil
		}
		for _, f := range users {
			if err := last.prefetch(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// grow adds an empty batch to the ones ahead.
func (it *Iterator) grow() error {
	before, err := inputs.Mark(it.it)
	if err != nil {
		return err
	}
	var st *staged
	if n := len(it.free) - 1; n >= 0 {
		st, it.free = it.free[n], it.free[:n]
	} else {
		st = it.input.newStaged()
	}
	st.before = before
	it.ahead = append(it.ahead, st)
	return nil
}

// prefetch begins to copy the batch for a function, unless it already has.
func (st *staged) prefetch(ctx context.Context, f *Function) error {
	u, fed := f.uploader(), st.fed[f]
	if u == nil || u.Ahead() == 0 || len(st.records) == 0 || fed != nil && fed.ahead {
		return nil
	}
	if fed == nil {
		fed = &fedParts{}
		st.fed[f] = fed
	}
	var err error
	if fed.parts, err = f.feeds(st.batch[:len(st.records)], fed.parts); err != nil {
		return nil // the function's Run returns the error
	}
	fed.ahead = true // even if it fails: copies for earlier replicas have begun
	return u.Prefetch(ctx, fed.parts)
}

// take returns the batch in the form copied to a function's GPUs, if it is b and its tensors were not replaced.
func (st *staged) take(f *Function, b Batch) ([]strategies.Batch, bool) {
	fed := st.fed[f]
	if fed == nil || !fed.ahead || len(b) != len(fed.parts) {
		return nil, false
	}
	for i, part := range b {
		for j, a := range f.traced.args {
			if part[a.name] != fed.parts[i].Feeds[j] {
				return nil, false
			}
		}
	}
	fed.ahead = false
	return fed.parts, true
}

// uploader returns the function's stepper if it copies batches to GPUs, else nil.
func (f *Function) uploader() strategies.Uploader {
	u, _ := f.stepper.(strategies.Uploader)
	return u
}

// current returns the Iterator whose current batch is b, nil if the caller made b.
func (s *Strategy) current(b Batch) *Iterator {
	i := slices.IndexFunc(s.inputs, func(in *Input) bool { return in.it != nil && len(b) > 0 && &b[0] == &in.it.now.batch[0] })
	if i < 0 {
		return nil
	}
	return s.inputs[i].it
}
