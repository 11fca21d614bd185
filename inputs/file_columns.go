package inputs

import (
	"context"
	"errors"
	"fmt"
)

// FileColumn is a column of a Parquet or Arrow file.
type FileColumn struct {
	Column
	// Declare says that the column is read only if it is declared with a dtype. Column has a suitable one: float64 for decimals, string
	// for dates and times.
	Declare bool
	// Err says why the column cannot be read; nil: it can.
	Err error
}

// FileColumns returns the columns of a file of format parquet or arrow, in order, including columns whose type cannot be read.
func FileColumns(format, file string) (_ []FileColumn, err error) {
	defer recoverArrow(file, &err)
	open := map[string]recordOpener{"parquet": openParquet, "arrow": openArrow}[format]
	if open == nil {
		return nil, fmt.Errorf("files of format %q do not say what columns they have: expected parquet or arrow", format)
	}
	f, err := open(context.Background(), file, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	var out []FileColumn
	for _, field := range f.schema.Fields() {
		c := FileColumn{Column: Column{Name: field.Name}}
		spec := ColumnSpec{Name: field.Name}
		if t := logicalType(field.Type); asText(t) {
			c.Declare, spec.DType = true, textDType(t).String()
		}
		plan, err := planColumn(f.schema, spec)
		if c.Err = err; err == nil {
			c.Column = plan.out
		}
		out = append(out, c)
	}
	return out, nil
}
