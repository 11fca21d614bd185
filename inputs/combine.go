package inputs

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// combined returns the node of a step over several data sets. The caller adds its start and schema.
func combined(step string, inputs []Dataset) *node {
	n := &node{mem: memory.DefaultAllocator, schema: &Schema{arrow: arrow.NewSchema(nil, nil)}}
	if len(inputs) == 0 {
		n.err = fmt.Errorf("%s of no data sets: give at least one", step)
		return n
	}
	descs := make([]string, len(inputs))
	for i, ds := range inputs {
		if ds == nil {
			n.err = fmt.Errorf("%s: input %d is nil: check the error of its source", step, i+1)
			return n
		}
		in := adopt(ds)
		n.several = append(n.several, in)
		descs[i] = in.desc
		if n.err == nil && in.err != nil {
			n.err = fmt.Errorf("input %d of %s: %w", i+1, step, in.err)
		}
	}
	n.mem, n.schema = n.several[0].mem, n.several[0].schema
	n.desc = fmt.Sprintf("%s(%s)", step, strings.Join(descs, "; "))
	return n
}

// alike combines data sets of the same schema into one data set.
func alike(step string, inputs []Dataset) *node {
	n := combined(step, inputs)
	for i, in := range n.several {
		if n.err == nil && !in.schema.Equal(n.schema) {
			n.err = fmt.Errorf("input %d of %s has the columns %s, input 1 has %s: give all the same columns in the same order, for example with Project and Rename",
				i+1, step, in.schema, n.schema)
		}
		if i == 0 {
			n.batch = in.batch
		} else if n.batch != in.batch {
			n.batch = 0
		}
	}
	n.alike = true
	return n
}

// openAll opens a pass over all data sets, or none if one fails.
func openAll(ctx context.Context, inputs []*node, epoch int64) ([]*tap, error) {
	taps := make([]*tap, len(inputs))
	for i, in := range inputs {
		st, err := in.open(withoutBatchMemory(ctx), epoch)
		if err != nil {
			_ = closeTaps(taps[:i]) // the error to report is known
			return nil, err
		}
		taps[i] = &tap{up: st, node: in}
	}
	return taps, nil
}

func closeTaps(taps []*tap) error {
	var first error
	for _, t := range taps {
		if err := t.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// A tap is an upstream from which rows are taken in runs.
type tap struct {
	up   stage
	node *node
	rec  arrow.Record // the last record pulled; nil: none
	at   int64        // its rows taken so far
	done bool         // there are no more
}

// fill returns the number of rows that can be taken, 0 at the end. If none are left, it pulls at most limit rows from upstream.
func (t *tap) fill(ctx context.Context, limit int) (int64, error) {
	for !t.done && (t.rec == nil || t.at == t.rec.NumRows()) {
		t.discard()
		rec, err := t.up.pull(withoutBatchMemory(ctx), limit)
		if eof(err) {
			t.done = true
			break
		}
		if err != nil {
			return 0, err
		}
		t.rec, t.at = rec, 0
	}
	if t.rec == nil {
		return 0, nil
	}
	return t.rec.NumRows() - t.at, nil
}

// take moves the next n rows, which fill has made available, to p.
func (t *tap) take(p *picks, n int64) {
	p.add(t.rec, int(t.at), int(n))
	t.at += n
}

func (t *tap) discard() {
	if t.rec != nil {
		t.rec.Release()
		t.rec, t.at = nil, 0
	}
}

func (t *tap) save(w *stateWriter) error {
	done := int64(0)
	if t.done {
		done = 1
	}
	w.int(done)
	var rest arrow.Record
	if t.rec != nil && t.at < t.rec.NumRows() {
		rest = t.rec.NewSlice(t.at, t.rec.NumRows())
		defer rest.Release()
	}
	if err := w.record(rest); err != nil {
		return err
	}
	return t.up.save(w)
}

func (t *tap) load(ctx context.Context, r *stateReader) error {
	t.discard()
	t.done = r.count(1) == 1
	var err error
	if t.rec, err = r.record(t.node.schema); err != nil {
		return err
	}
	return t.up.load(ctx, r)
}

func (t *tap) close() error {
	t.discard()
	return t.up.close()
}

// picks are runs of rows of several records, to be copied into one.
type picks struct {
	recs  []arrow.Record
	spans []span
	n     int // rows
}

// add adds rows start to start+n-1 of rec.
func (p *picks) add(rec arrow.Record, start, n int) {
	last := len(p.recs) - 1
	if last < 0 || p.recs[last] != rec {
		rec.Retain()
		p.recs = append(p.recs, rec)
		last++
	}
	p.spans = appendSpan(p.spans, span{last, start, n})
	p.n += n
}

// record returns the rows and empties p. It copies nothing if the rows are contiguous.
func (p *picks) record(mem memory.Allocator, schema *arrow.Schema) (arrow.Record, error) {
	defer p.discard()
	if len(p.spans) == 1 {
		return sliceRecord(schema, p.recs[0], p.spans[0]), nil
	}
	return gatherRecord(mem, schema, p.recs, p.spans)
}

func (p *picks) discard() {
	releaseAll(p.recs)
	*p = picks{}
}
