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

// hiveNull is the folder value of a null partition column.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// partitionsOf returns the values of the key=value folders that a file lies in, without the percent-encoding of Hive and Spark. If a key
// occurs twice, the inner folder counts.
func partitionsOf(name string) map[string]string {
	out := map[string]string{}
	if u, err := url.Parse(name); err == nil && IsURL(name) {
		name = u.Path
	}
	for _, folder := range strings.Split(filepath.ToSlash(filepath.Dir(name)), "/") {
		if key, value, ok := strings.Cut(folder, "="); ok && key != "" {
			out[decoded(key)] = decoded(value)
		}
	}
	return out
}

// decoded returns s without its percent-encoding, or s itself if that is invalid.
func decoded(s string) string {
	if text, err := url.PathUnescape(s); err == nil {
		return text
	}
	return s
}

// PartitionColumns returns the columns of the key=value folders that all files lie in, sorted by name. A column is int64 if all values are
// integers or missing, else text.
func PartitionColumns(files []string) []Column {
	var columns []Column
	for _, f := range partitionColumns(files, nil) {
		columns = append(columns, Column{Name: f.Name, DType: dtypeOf[f.Type.ID()]})
	}
	return columns
}

// partitionColumns returns the columns of the folders that all files lie in, sorted. A column is int64 if all values are integers and
// specs do not ask for text, in which leading zeros count; else it is text.
func partitionColumns(files []string, specs []ColumnSpec) []arrow.Field {
	type use struct{ files, whole int }
	uses := map[string]use{}
	for _, name := range files {
		for key, value := range partitionsOf(name) {
			u := uses[key]
			u.files++
			if _, ok := wholeValue(value); ok || value == hiveNull {
				u.whole++
			}
			uses[key] = u
		}
	}
	var fields []arrow.Field
	for key, u := range uses {
		if u.files < len(files) {
			continue
		}
		f := arrow.Field{Name: key, Type: arrow.BinaryTypes.String, Nullable: true}
		if u.whole == u.files && !slices.ContainsFunc(specs, func(s ColumnSpec) bool { return s.Name == key && (s.DType == "string" || len(s.Vocabulary) > 0) }) {
			f.Type = arrow.PrimitiveTypes.Int64
		}
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b arrow.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// wholeValue parses an integer: digits with an optional minus.
func wholeValue(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && s[0] != '+'
}

// partitioned adds the columns of a file's folders that the file itself does not have.
func (f *recordFile) partitioned(name string, fields []arrow.Field) *recordFile {
	added := slices.DeleteFunc(slices.Clone(fields), func(field arrow.Field) bool { return f.schema.HasField(field.Name) })
	if len(added) == 0 {
		return f
	}
	values := partitionsOf(name)
	out := *f
	out.schema = arrow.NewSchema(append(slices.Clone(f.schema.Fields()), added...), nil)
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

// constantColumn returns a column of n times the value of a partition.
func constantColumn(t arrow.DataType, value string, n int) arrow.Array {
	if value == hiveNull {
		return array.MakeArrayOfNull(memory.DefaultAllocator, t, n)
	}
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	b.Reserve(n)
	number, _ := wholeValue(value) // valid for an int64 column
	for range n {
		switch b := b.(type) {
		case *array.Int64Builder:
			b.Append(number)
		case *array.StringBuilder:
			b.Append(value)
		}
	}
	return b.NewArray()
}
