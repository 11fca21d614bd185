package inputs

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// SplitText returns a Mapper that turns a column of texts into a ragged column: the parts of each text between separators, without
// surrounding white space. Empty parts are left out.
func SplitText(column, separator string) Mapper {
	schema := func(in *Schema) (*Schema, error) {
		c, err := in.Column(column)
		switch {
		case err != nil:
			return nil, fmt.Errorf("split: %w", err)
		case c.DType != tensor.String || c.Ragged || len(c.Shape) > 0:
			return nil, fmt.Errorf("split: column %s: expected texts, one value of dtype string without a shape in each row", c)
		case separator == "":
			return nil, fmt.Errorf("split: column %q: expected a separator, for example a comma", column)
		}
		columns := slices.Clone(in.columns)
		i := in.Index(column)
		columns[i].Ragged, columns[i].Default = true, nil
		return NewSchema(columns...)
	}
	return Mapper{Name: fmt.Sprintf("split %q %q", column, separator), Schema: schema,
		Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
			from, err := SchemaFromArrow(in.Schema())
			if err != nil {
				return nil, err
			}
			to, err := schema(from)
			if err != nil {
				return nil, err
			}
			i := from.Index(column)
			b := array.NewBuilder(rows.Allocator, to.arrow.Field(i).Type).(*array.ListBuilder)
			defer b.Release()
			texts := in.Column(i).(*array.Binary)
			for row := range texts.Len() {
				b.Append(true)
				appendParts(b.ValueBuilder().(*array.BinaryBuilder), texts.Value(row), []byte(separator))
			}
			list := b.NewArray()
			defer list.Release()
			columns := slices.Clone(in.Columns())
			columns[i] = list
			return array.NewRecord(to.arrow, columns, in.NumRows()), nil
		}}
}

// appendParts appends the parts of a text.
func appendParts(b *array.BinaryBuilder, text, separator []byte) {
	for part := range bytes.SplitSeq(text, separator) {
		if part = bytes.TrimSpace(part); len(part) > 0 {
			b.Append(part)
		}
	}
}
