package inputs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/inputs"
)

// TestFileColumns: columns that can be read and one that cannot are told apart.
func TestFileColumns(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}, {Name: "span", Type: arrow.FixedWidthTypes.MonthInterval}, {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)}}, nil)
	rec := array.NewRecord(schema, []arrow.Array{array.MakeArrayOfNull(memory.DefaultAllocator, schema.Field(0).Type, 1),
		array.MakeArrayOfNull(memory.DefaultAllocator, schema.Field(1).Type, 1), array.MakeArrayOfNull(memory.DefaultAllocator, schema.Field(2).Type, 1)}, 1)
	path := filepath.Join(t.TempDir(), "t.arrow")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := ipc.NewWriter(f, ipc.WithSchema(schema))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	columns, err := inputs.FileColumns("arrow", path)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range columns {
		got += fmt.Sprintf("%s %s %v %t; ", c.Name, c.DType, c.Ragged, c.Err != nil)
	}
	if want := "x int64 false false; span invalid false true; l float32 true false; "; got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
	if _, err := inputs.FileColumns("csv", path); err == nil {
		t.Error("csv: expected an error")
	}
	if _, err := inputs.FileColumns("parquet", path); err == nil || !strings.Contains(err.Error(), "t.arrow") {
		t.Errorf("got %v", err)
	}
}

// TestLabelForms: numeric labels may be written in another form, and words of the vocabulary are values even if they mean a missing
// value in other columns.
func TestLabelForms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("1,NA,1.0\nNA,b,0\n2,NA,2e0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ds, err := inputs.CSV([]string{path}, inputs.CSVOptions{MissingValues: []string{"NA"}, Columns: []inputs.ColumnSpec{
		{Name: "x", Default: -1}, {Name: "kind", Role: inputs.Label, Vocabulary: []string{"NA", "b"}}, {Name: "y", Role: inputs.Label, Vocabulary: []string{"0", "1", "2"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	it, err := ds.Iterate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if got := fmt.Sprint(rec.Column(0), rec.Column(1), rec.Column(2)); got != "[1 -1 2] [0 1 0] [1 0 2]" {
		t.Errorf("got %s", got)
	}
}
