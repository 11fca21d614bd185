package inputs

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Zip returns rows with the columns of all data sets: row i has row i of each, up to the end of the shortest, as tf.data's zip.
// Column names must differ. The result has random access if all inputs have it.
func Zip(inputs ...Dataset) Dataset {
	d := combined("zip", inputs)
	if d.err != nil {
		return d
	}
	if d.schema, d.err = zippedSchema(d.several); d.err != nil {
		d.schema = d.several[0].schema
		return d
	}
	d.batch = d.several[0].batch
	if ix := zipIndexed(d, inputs); ix != nil {
		return ix
	}
	d.start = func(ctx context.Context, epoch int64) (stage, error) {
		taps, err := openAll(ctx, d.several, epoch)
		if err != nil {
			return nil, err
		}
		return &zipStage{node: d, taps: taps}, nil
	}
	return d
}

func zippedSchema(inputs []*node) (*Schema, error) {
	var columns []Column
	var fields []arrow.Field
	of := map[string]int{}
	for i, in := range inputs {
		for _, c := range in.schema.columns {
			if first, twice := of[c.Name]; twice {
				return nil, fmt.Errorf("zip: column %q is in input %d and in input %d: leave it out of one with Project, or give it another name with Rename", c.Name, first+1, i+1)
			}
			of[c.Name] = i
		}
		columns, fields = append(columns, in.schema.columns...), append(fields, in.schema.arrow.Fields()...)
	}
	return newSchema(columns, arrow.NewSchema(fields, nil))
}

// zipIndexed returns the rows of data sets with random access, nil if one has none.
func zipIndexed(d *node, inputs []Dataset) Dataset {
	all := make([]Indexed, len(inputs))
	length := int64(math.MaxInt64)
	for i, ds := range inputs {
		ix, ok := ds.(Indexed)
		if !ok {
			return nil
		}
		all[i], length = ix, min(length, ix.Len())
	}
	return newIndexed(d, length, func(ctx context.Context, rows []int64) (arrow.Record, error) {
		recs := make([]arrow.Record, 0, len(all))
		defer func() { releaseAll(recs) }()
		for i, ix := range all {
			rec, err := ix.Gather(ctx, rows)
			if err != nil {
				return nil, fmt.Errorf("input %d of zip: %w", i+1, err)
			}
			recs = append(recs, rec)
		}
		return zipRecords(d.schema.Arrow(), recs), nil
	})
}

// zipRecords returns a record with the columns of all recs, which have the same length.
func zipRecords(schema *arrow.Schema, recs []arrow.Record) arrow.Record {
	var cols []arrow.Array
	for _, r := range recs {
		cols = append(cols, r.Columns()...)
	}
	return array.NewRecord(schema, cols, recs[0].NumRows())
}

type zipStage struct {
	node   *node
	taps   []*tap
	failed failure
}

func (s *zipStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	if s.failed.err != nil {
		return nil, s.failed.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := int64(math.MaxInt64)
	if limit > 0 {
		n = int64(limit)
	}
	for _, t := range s.taps {
		ask := limit
		if n < math.MaxInt64 {
			ask = int(n) // no more than the earlier inputs have
		}
		have, err := t.fill(ctx, ask)
		if err != nil {
			s.failed.after(ctx, err, false) // the inputs may now be at different rows
			return nil, err
		}
		if have == 0 {
			return nil, io.EOF
		}
		n = min(n, have)
	}
	recs := make([]arrow.Record, len(s.taps))
	for i, t := range s.taps {
		recs[i] = t.rec.NewSlice(t.at, t.at+n)
		t.at += n
	}
	defer releaseAll(recs)
	return zipRecords(s.node.schema.Arrow(), recs), nil
}

func (s *zipStage) save(w *stateWriter) error { return saveTaps(w, s.taps) }

func (s *zipStage) load(ctx context.Context, r *stateReader) error {
	s.failed.err = nil
	return loadTaps(ctx, r, s.taps)
}

func (s *zipStage) close() error { return closeTaps(s.taps) }

func saveTaps(w *stateWriter, taps []*tap) error {
	for _, t := range taps {
		if err := t.save(w); err != nil {
			return err
		}
	}
	return nil
}

func loadTaps(ctx context.Context, r *stateReader, taps []*tap) error {
	for _, t := range taps {
		if err := t.load(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Rename renames columns without a copy; names maps old names to new ones.
func Rename(names map[string]string) Transform {
	old := make([]string, 0, len(names))
	for name := range names {
		old = append(old, name)
	}
	slices.Sort(old)
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		pairs := ""
		for _, name := range old {
			if up.err == nil && up.schema.Index(name) < 0 {
				return up.refuse("rename: unknown column %q: the data has %s", name, up.schema.names())
			}
			pairs += fmt.Sprintf(" %q->%q", name, names[name])
		}
		columns, fields := slices.Clone(up.schema.columns), slices.Clone(up.schema.arrow.Fields())
		for i := range columns {
			if to, ok := names[columns[i].Name]; ok {
				columns[i].Name, fields[i].Name = to, to
			}
			if columns[i].Name == "" {
				return up.refuse("rename: column %q gets no name: give one", fields[i].Name)
			}
		}
		s, err := newSchema(columns, arrow.NewSchema(fields, nil))
		if err != nil {
			return up.refuse("rename: %w", err)
		}
		m := Mapper{Name: "rename" + pairs, Schema: func(*Schema) (*Schema, error) { return s, nil },
			Map: func(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) {
				return array.NewRecord(s.Arrow(), in.Columns(), in.NumRows()), nil
			}}
		ix, ok := ds.(Indexed)
		if !ok || up.err != nil {
			return Map(m)(ds)
		}
		d := m.node(up)
		return newIndexed(d, ix.Len(), func(ctx context.Context, rows []int64) (arrow.Record, error) {
			rec, err := ix.Gather(ctx, rows)
			if err != nil {
				return nil, err
			}
			defer rec.Release()
			return array.NewRecord(s.Arrow(), rec.Columns(), rec.NumRows()), nil
		})
	}
}
