package inputs

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
)

// cutter cuts records of any size into records of the requested size.
type cutter struct{ rest arrow.Record }

// pull returns at most limit rows, or a whole record if limit is 0. It calls
// next when nothing is left over.
func (c *cutter) pull(ctx context.Context, limit int, next func(context.Context) (arrow.Record, error)) (arrow.Record, error) {
	rec := c.rest
	c.rest = nil
	for rec == nil {
		r, err := next(ctx)
		if err != nil {
			return nil, err
		}
		if r.NumRows() == 0 {
			r.Release()
			continue
		}
		rec = r
	}
	if limit <= 0 || rec.NumRows() <= int64(limit) {
		return rec, nil
	}
	defer rec.Release()
	c.rest = rec.NewSlice(int64(limit), rec.NumRows())
	return rec.NewSlice(0, int64(limit)), nil
}

func (c *cutter) discard() {
	if c.rest != nil {
		c.rest.Release()
		c.rest = nil
	}
}

// foreign is a pass over a Dataset of another package.
type foreign struct {
	it   Iterator
	node *node
	cutter
}

func openForeign(ctx context.Context, ds Dataset, n *node, epoch int64) (stage, error) {
	var it Iterator
	var err error
	ctx = unmeasured(ctx)
	if e, ok := ds.(Epoched); ok {
		it, err = e.IterateEpoch(ctx, epoch)
	} else {
		it, err = ds.Iterate(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &foreign{it: it, node: n}, nil
}

func (s *foreign) pull(ctx context.Context, limit int) (arrow.Record, error) {
	return s.cutter.pull(unmeasured(ctx), limit, s.it.Next)
}

func (s *foreign) save(w *stateWriter) error {
	state, err := s.it.State()
	if err != nil {
		return err
	}
	w.bytes(state)
	return w.record(s.rest)
}

func (s *foreign) load(_ context.Context, r *stateReader) error {
	state := r.bytes()
	if r.err != nil {
		return r.err
	}
	if err := s.it.Restore(state); err != nil {
		return err
	}
	s.discard()
	var err error
	s.rest, err = r.record(s.node.schema)
	return err
}

func (s *foreign) close() error {
	s.discard()
	return s.it.Close()
}

// failure is the error that ends a pass. If rows were found before it, they are delivered first. Later calls return it again, since
// the source might continue after what it could not read.
type failure struct{ err error }

// after keeps err for the next call, and reports whether rows have to be delivered before it. If ctx has ended, it keeps nothing:
// the next call tries again.
func (f *failure) after(ctx context.Context, err error, rows bool) bool {
	if ctx.Err() == nil {
		f.err = err
	}
	return rows
}
