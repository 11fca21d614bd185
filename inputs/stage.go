package inputs

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// chunkRows is the number of rows in a record if no size was requested: large enough to
// amortise the cost of a call, small enough to stay in cache.
const chunkRows = 256

// stage is one pass through one step of a pipeline. Downstream steps ask for
// exactly the number of rows that they need, so that positions are exact without
// leftovers.
type stage interface {
	// pull returns a record of 1 to limit rows, or of its natural size if limit
	// is 0. At the end it returns io.EOF.
	pull(ctx context.Context, limit int) (arrow.Record, error)
	save(w *stateWriter) error
	load(ctx context.Context, r *stateReader) error
	close() error
}

// node is the Dataset of every source and transform of this package.
type node struct {
	schema *Schema
	mem    memory.Allocator
	desc   string // description that distinguishes this pipeline from others, for its state
	label  string // the name of its step for people; "": the name in desc
	start  func(ctx context.Context, epoch int64) (stage, error)
	index  func(ctx context.Context) (Indexed, error) // random access that is available once the data was read; may be nil
	err    error                                      // an invalid argument; reported by Iterate
	batch  int                                        // rows of a batch, 0 if no size was requested

	up         *node                     // its upstream; nil: a source, or several
	several    []*node                   // the upstreams of a step that combines data sets
	alike      bool                      // the rows of several have one schema
	resume     Resume                    // set for a source whose rows come only once
	again      rowStep                   // effect on single rows; nil: it passes them on
	byPosition bool                      // again depends on the rows' positions
	generated  bool                      // a function yields the rows of this source
	mixes      bool                      // rows are reordered or repeated, or a later step cannot know their positions in up
	inMemory   bool                      // this source has its rows in memory
	files      []string                  // set for a source that reads them one after another
	origin     origin                    // set for a source that reads files
	place      func(row int64) DataError // returns where a row lies, for a source that ends; nil: unknown
}

func (n *node) Schema() *Schema { return n.schema }

func (n *node) Iterate(ctx context.Context) (Iterator, error) { return n.IterateEpoch(ctx, 0) }

func (n *node) IterateEpoch(ctx context.Context, epoch int64) (Iterator, error) {
	st, err := n.open(ctx, epoch)
	if err != nil {
		return nil, err
	}
	return &iterator{ctx: ctx, st: st, desc: n.desc, mem: BatchMemoryOf(ctx), part: partOf(ctx)}, nil
}

func (n *node) open(ctx context.Context, epoch int64) (stage, error) {
	if n.err != nil {
		return nil, n.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st, err := n.start(ctx, epoch)
	if err != nil {
		return nil, err
	}
	return metered(ctx, n, st), nil
}

// self lets adopt find the node in an indexedNode.
func (n *node) self() *node { return n }

type innerNode interface{ self() *node }

// adopt returns the node of any Dataset.
func adopt(ds Dataset) *node {
	if o, ok := ds.(innerNode); ok {
		return o.self()
	}
	n := &node{schema: ds.Schema(), mem: memory.DefaultAllocator, desc: fmt.Sprintf("%T", ds)}
	if ix, ok := ds.(Indexed); ok {
		n.start = func(context.Context, int64) (stage, error) { return &rangeStage{src: ix}, nil }
		return n
	}
	n.generated = true
	n.start = func(ctx context.Context, epoch int64) (stage, error) { return openForeign(ctx, ds, n, epoch) }
	return n
}

// derive returns a node downstream of n, with the same schema and allocator.
func (n *node) derive(step string, start func(ctx context.Context, epoch int64) (stage, error)) *node {
	return &node{schema: n.schema, mem: n.mem, desc: n.desc + " | " + step, start: start, err: n.err, batch: n.batch, up: n}
}

// refuse returns a node downstream of n whose Iterate fails.
func (n *node) refuse(format string, args ...any) *node {
	d := n.derive("invalid", nil)
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	return d
}

// indexedNode is a node with random access.
type indexedNode struct {
	*node
	length int64
	gather func(ctx context.Context, rows []int64) (arrow.Record, error)
	// view returns consecutive rows without a copy, or nil if they are not
	// contiguous. It is nil for a data set that always copies.
	view func(start, rows int64) arrow.Record
}

func (n *indexedNode) Len() int64 { return n.length }

func (n *indexedNode) Gather(ctx context.Context, rows []int64) (arrow.Record, error) {
	for _, r := range rows {
		if r < 0 || r >= n.length {
			return nil, fmt.Errorf("row %d is out of range: the data set has %d rows", r, n.length)
		}
	}
	return n.gather(ctx, rows)
}

// newIndexed completes a node with random access: its passes are ranges.
func newIndexed(n *node, length int64, gather func(context.Context, []int64) (arrow.Record, error)) *indexedNode {
	ix := &indexedNode{node: n, length: length, gather: gather}
	n.start = func(context.Context, int64) (stage, error) { return &rangeStage{src: ix}, nil }
	return ix
}

// iterator is the public face of a stage.
type iterator struct {
	ctx  context.Context // context of Iterate: bounds Restore
	st   stage
	desc string
	mem  BatchMemory // of Iterate; nil: none
	part *part       // of Iterate: measures the steps that are opened later
	err  error       // permanent: a failed Restore, or ErrClosed

	outer, inner context.Context // context of the last Next, and the one derived from it
}

func (it *iterator) Next(ctx context.Context) (arrow.Record, error) {
	if it.err != nil {
		return nil, it.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return it.st.pull(it.within(ctx), 0)
}

// within adds the batch memory and the part of the pass to ctx. It keeps the last result, since most loops pull with one context.
func (it *iterator) within(ctx context.Context) context.Context {
	if it.mem == nil && it.part == nil {
		return ctx
	}
	if it.outer != nil && it.outer == ctx {
		return it.inner
	}
	inner := ctx
	if it.mem != nil {
		inner = WithBatchMemory(inner, it.mem)
	}
	if it.part != nil {
		inner = withPart(inner, it.part)
	}
	if ctx == context.Background() || reflect.TypeOf(ctx).Kind() == reflect.Pointer { // values of other types may not be comparable
		it.outer, it.inner = ctx, inner
	}
	return inner
}

func (it *iterator) State() ([]byte, error) {
	if it.err != nil {
		return nil, it.err
	}
	w, err := writeState(it.desc, it.st)
	if err != nil {
		return nil, err
	}
	return w.finalize(), nil
}

// Mark remembers the position of a pass. It costs less than State if the last step is Prefetch or ParallelMap. The returned function
// gives the State of that position at any later time.
func Mark(it Iterator) (func() []byte, error) {
	own, ok := it.(*iterator)
	if !ok || own.err != nil {
		state, err := it.State()
		return func() []byte { return state }, err
	}
	w, err := writeState(own.desc, own.st)
	if err != nil {
		return nil, err
	}
	return w.finalize, nil
}

func (it *iterator) Restore(state []byte) error {
	if it.err != nil {
		return it.err
	}
	r, err := openState(it.desc, state)
	if err == nil {
		err = it.st.load(it.ctx, r)
	}
	if err == nil {
		err = r.err
	}
	if err == nil && len(r.buf) > 0 {
		err = fmt.Errorf("%w: %d bytes too many", ErrBadState, len(r.buf))
	}
	it.err = err
	return err
}

func (it *iterator) Close() error {
	if it.err == ErrClosed {
		return nil
	}
	it.err = ErrClosed
	return it.st.close()
}

// rangeStage reads an Indexed data set from front to back.
type rangeStage struct {
	src Indexed
	pos int64
}

func (s *rangeStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if limit <= 0 {
		limit = chunkRows
	}
	n := min(int64(limit), s.src.Len()-s.pos)
	if n <= 0 {
		return nil, io.EOF
	}
	rec, err := s.read(ctx, n)
	if err != nil {
		return nil, err
	}
	s.pos += n
	return rec, nil
}

// read returns the next n rows.
func (s *rangeStage) read(ctx context.Context, n int64) (arrow.Record, error) {
	if ix, ok := s.src.(*indexedNode); ok && ix.view != nil {
		if rec := ix.view(s.pos, n); rec != nil {
			return rec, nil
		}
	}
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = s.pos + int64(i)
	}
	return s.src.Gather(ctx, rows)
}

func (s *rangeStage) save(w *stateWriter) error { w.int(s.pos); return nil }

func (s *rangeStage) load(_ context.Context, r *stateReader) error {
	s.pos = r.count(s.src.Len())
	return r.err
}

func (s *rangeStage) close() error { return nil }
