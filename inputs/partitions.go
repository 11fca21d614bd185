package inputs

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// hiveNull is the value of a partition whose column is null.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// partitionsOf returns the values of the folders key=value that a file lies in, as Hive and Spark name them.
func partitionsOf(name string) map[string]string {
	out := map[string]string{}
	for _, folder := range strings.Split(filepath.ToSlash(filepath.Dir(name)), "/") {
		key, value, ok := strings.Cut(folder, "=")
		if !ok || key == "" {
			continue
		}
		if text, err := url.PathUnescape(value); err == nil {
			value = text
		}
		out[key] = value
	}
	return out
}

// partitionColumns returns the columns of the folders that all files lie in: int64 where all values are whole numbers, else text.
func partitionColumns(files []string) []arrow.Field {
	var keys []string
	for key := range partitionsOf(files[0]) {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var fields []arrow.Field
	for _, key := range keys {
		whole, everywhere := true, true
		for _, name := range files {
			value, ok := partitionsOf(name)[key]
			_, err := strconv.ParseInt(value, 10, 64)
			everywhere = everywhere && ok
			whole = whole && (err == nil || value == hiveNull)
		}
		f := arrow.Field{Name: key, Type: arrow.BinaryTypes.String, Nullable: true}
		if whole {
			f.Type = arrow.PrimitiveTypes.Int64
		}
		if everywhere {
			fields = append(fields, f)
		}
	}
	return fields
}

// partitioned adds to the columns of a file those of its folders that it does not have itself.
func (f *recordFile) partitioned(name string, fields []arrow.Field) *recordFile {
	all := slices.Clone(f.schema.Fields())
	var added []arrow.Field
	for _, field := range fields {
		if len(f.schema.FieldIndices(field.Name)) == 0 {
			added = append(added, field)
		}
	}
	if len(added) == 0 {
		return f
	}
	meta := f.schema.Metadata()
	values := partitionsOf(name)
	out := *f
	out.schema = arrow.NewSchema(append(all, added...), &meta)
	out.next = func(ctx context.Context) (arrow.Record, error) {
		rec, err := f.next(ctx)
		if err != nil {
			return nil, err
		}
		defer rec.Release()
		columns, names := slices.Clone(rec.Columns()), slices.Clone(rec.Schema().Fields())
		for _, field := range added {
			c := constantColumn(field.Type, values[field.Name], int(rec.NumRows()))
			defer c.Release()
			columns, names = append(columns, c), append(names, field)
		}
		return array.NewRecord(arrow.NewSchema(names, nil), columns, rec.NumRows()), nil
	}
	return &out
}

// constantColumn returns n times the same value.
func constantColumn(t arrow.DataType, value string, n int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	b.Reserve(n)
	for range n {
		switch b := b.(type) {
		case *array.Int64Builder:
			v, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				b.AppendNull()
				continue
			}
			b.Append(v)
		case *array.StringBuilder:
			if value == hiveNull {
				b.AppendNull()
				continue
			}
			b.Append(value)
		}
	}
	return b.NewArray()
}
