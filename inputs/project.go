package inputs

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Project keeps the named columns, in that order, without a copy.
func Project(names ...string) Transform {
	return func(ds Dataset) Dataset {
		ix, ok := ds.(Indexed)
		if !ok {
			return Map(projector(names))(ds)
		}
		up := adopt(ds)
		d := projector(names).node(up)
		if d.err != nil {
			return d
		}
		return newIndexed(d, ix.Len(), func(ctx context.Context, rows []int64) (arrow.Record, error) {
			rec, err := ix.Gather(ctx, rows)
			if err != nil {
				return nil, err
			}
			defer rec.Release()
			return projectRecord(rec, names, d.schema.Arrow())
		})
	}
}

func projector(names []string) Mapper {
	plan := func(in *Schema) (*Schema, error) {
		var columns []Column
		var fields []arrow.Field
		for _, name := range names {
			c, err := in.Column(name)
			if err != nil {
				return nil, err
			}
			columns, fields = append(columns, c), append(fields, in.arrow.Field(in.Index(name)))
		}
		return newSchema(columns, arrow.NewSchema(fields, nil))
	}
	return Mapper{Name: fmt.Sprintf("project%q", names), Schema: plan,
		Map: func(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) {
			s, err := SchemaFromArrow(in.Schema())
			if err == nil {
				s, err = plan(s)
			}
			if err != nil {
				return nil, err
			}
			return projectRecord(in, names, s.Arrow())
		}}
}

func projectRecord(in arrow.Record, names []string, schema *arrow.Schema) (arrow.Record, error) {
	cols := make([]arrow.Array, len(names))
	for i, name := range names {
		at := in.Schema().FieldIndices(name)
		if len(at) != 1 {
			return nil, fmt.Errorf("column %q is missing from a record", name)
		}
		cols[i] = in.Column(at[0])
	}
	return array.NewRecord(schema, cols, in.NumRows()), nil
}
