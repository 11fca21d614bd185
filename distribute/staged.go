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
	before  func() []byte           // the position of the input before it, where it was read ahead
	err     error                   // of reading it, to be returned in its turn
	fed     map[*Function]*fedParts // functions that it is copied to the GPUs for
}

// fedParts is a batch as a function takes it.
type fedParts struct {
	parts []strategies.Batch
	ahead bool // it is on its way
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

// add makes a record the part of the next replica, and keeps it, unless it has no rows.
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

// release gives the records back, once no copy of them is under way.
func (st *staged) release() error {
	var errs []error
	for f, fed := range st.fed {
		if fed.ahead { // it was not run
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

// readAhead reads the batches behind the present one, as many as the functions that ran on the batch before want ahead, and
// begins to copy them.
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
				last.err = nil // the next call has a context of its own
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

// grow adds a batch to those ahead, which is to be filled.
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

// prefetch begins to copy the batch for a function, unless that has begun.
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
		return nil // the function's Run will say so
	}
	fed.ahead = true // also where it fails: the replicas before have begun
	return u.Prefetch(ctx, fed.parts)
}

// take returns the batch as a function's GPUs get it, if it is b and nobody has put other tensors in it.
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

// uploader is the function's stepper where it copies batches to GPUs, else nil.
func (f *Function) uploader() strategies.Uploader {
	u, _ := f.stepper.(strategies.Uploader)
	return u
}

// current returns the batch of an open pass that b is, nil where the caller has made b.
func (s *Strategy) current(b Batch) *Iterator {
	i := slices.IndexFunc(s.inputs, func(in *Input) bool { return in.it != nil && len(b) > 0 && &b[0] == &in.it.now.batch[0] })
	if i < 0 {
		return nil
	}
	return s.inputs[i].it
}
