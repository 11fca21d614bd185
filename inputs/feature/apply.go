package feature

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/inputs"
)

// binding is a Plan for records of one schema.
type binding struct {
	in    *arrow.Schema
	out   *inputs.Schema
	index map[string]int // of the features that columns read
	pass  []int          // columns of in that come first in out

	batches sync.Pool // of *batch, for reuse
	frames  frames
}

// schema returns the schema of the transformed records.
func (p *Plan) schema(in *inputs.Schema) (*inputs.Schema, error) {
	b, err := p.bind(in)
	if err != nil {
		return nil, err
	}
	return b.out, nil
}

// bind checks that the data has the features that the columns read.
func (p *Plan) bind(in *inputs.Schema) (*binding, error) {
	b := &binding{in: in.Arrow(), index: map[string]int{}}
	for _, r := range p.reads {
		c, err := in.Column(r.key)
		if err != nil {
			return nil, fmt.Errorf("feature columns: %w", err)
		}
		if err := r.accepts(c); err != nil {
			return nil, fmt.Errorf("feature columns: %w", err)
		}
		b.index[r.key] = in.Index(r.key)
	}
	for _, name := range p.columns.Keep {
		if _, err := in.Column(name); err != nil {
			return nil, fmt.Errorf("feature columns: keep: %w", err)
		}
	}
	var fields []arrow.Field
	for i, c := range in.Columns() {
		if c.Role != inputs.Feature || slices.Contains(p.columns.Keep, c.Name) {
			b.pass, fields = append(b.pass, i), append(fields, in.Arrow().Field(i))
		}
	}
	made := make([]inputs.Column, len(p.outputs))
	for i, o := range p.outputs {
		made[i] = o.describe()
	}
	s, err := inputs.NewSchema(made...)
	if err != nil {
		return nil, fmt.Errorf("feature columns: %w", err)
	}
	if b.out, err = inputs.SchemaFromArrow(arrow.NewSchema(append(fields, s.Arrow().Fields()...), nil)); err != nil {
		return nil, fmt.Errorf("feature columns: %w", err)
	}
	b.frames.schema, b.frames.passed = b.out.Arrow(), len(b.pass)
	return b, nil
}

// Apply transforms one record, as Transform does in a pipeline. It does not release
// in.
func (p *Plan) Apply(ctx context.Context, in arrow.Record) (arrow.Record, error) {
	return p.apply(ctx, in, inputs.Rows{})
}

func (p *Plan) apply(ctx context.Context, in arrow.Record, rows inputs.Rows) (arrow.Record, error) {
	bound := p.bound.Load()
	if bound == nil || bound.in != in.Schema() && !bound.in.Equal(in.Schema()) {
		s, err := inputs.SchemaFromArrow(in.Schema())
		if err != nil {
			return nil, err
		}
		if bound, err = p.bind(s); err != nil {
			return nil, err
		}
		p.bound.Store(bound)
	}
	b, ok := bound.batches.Get().(*batch)
	if !ok {
		b = &batch{}
	}
	b.set(in, rows.First, bound.index)
	f := bound.frames.get()
	err := p.compute(ctx, b, f)
	b.forget()
	bound.batches.Put(b)
	if err != nil {
		f.giveBack()
		return nil, err
	}
	for i, at := range bound.pass {
		f.columns[i] = in.Column(at)
		f.columns[i].Retain()
	}
	return f.record(in.NumRows()), nil
}

// parallelFrom is the number of rows times outputs from which several goroutines pay off.
const parallelFrom = 1 << 14

// compute makes all outputs, in parallel if there is enough work.
func (p *Plan) compute(ctx context.Context, b *batch, f *frame) error {
	if b.rows()*len(p.outputs) >= parallelFrom {
		return p.computeParallel(ctx, b, f)
	}
	for i, o := range p.outputs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := o.safely(b, &f.made[i]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (p *Plan) computeParallel(ctx context.Context, b *batch, f *frame) error {
	errs := make([]error, len(p.outputs))
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(p.outputs) || ctx.Err() != nil {
				return
			}
			errs[i] = p.outputs[i].safely(b, &f.made[i])
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(p.outputs)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	for _, err := range errs { // the first error, in the order of columns
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// safely calls make and turns a panic into an error, since it may run in the background.
func (o *Output) safely(b *batch, m *made) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = columnError(o.Column, fmt.Errorf("panicked at a batch that begins with row %d: %v", b.first, p))
		}
	}()
	if err = o.make(b, m); err != nil {
		if row := (*inputs.RowError)(nil); errors.As(err, &row) {
			return err
		}
		return columnError(o.Column, err)
	}
	return nil
}
