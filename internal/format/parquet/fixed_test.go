package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

// fileOfFixed returns a file of lists whose schema declares size items for each. Null lists have none.
func fileOfFixed(t *testing.T, size int32, lists string) []byte {
	t.Helper()
	field := func(typ arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ, Nullable: true}}, nil)
	}
	schema := field(arrow.ListOf(arrow.PrimitiveTypes.Int32))
	rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), schema, strings.NewReader(lists))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := serialized(field(arrow.FixedSizeListOf(size, arrow.PrimitiveTypes.Int32)))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.AppendKeyValueMetadata(storedKey, stored), w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestNullsInFixedLists: null lists keep their places, including at the ends; a list of another size is an error.
func TestNullsInFixedLists(t *testing.T) {
	for lists, want := range map[string]string{
		`[{"x": [1, 2]}, {"x": [3, null]}]`: "[[1 2] [3 (null)]]",
		`[{"x": null}, {"x": [1, 2]}, {"x": null}, {"x": null}, {"x": [3, null]}, {"x": [5, 6]}]`: "[(null) [1 2] (null) (null) [3 (null)] [5 6]]",
		`[{"x": [1, 2]}, {"x": null}]`: "[[1 2] (null)]",
		`[{"x": null}]`:                "[(null)]",
		`[{"x": [1, 2]}, {"x": [1]}]`:  `row group 0, column "x": "x": list 1 has 1 items, expected 2 as the schema of the file says`,
		`[{"x": [1, 2]}, {"x": []}]`:   `row group 0, column "x": "x": list 1 has 0 items, expected 2 as the schema of the file says`,
	} {
		got, err := ours(fileOfFixed(t, 2, lists))
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = fmt.Sprint(got.groups[0][0])
		}
		if text != want {
			t.Errorf("%s: got %s, expected %s", lists, text, want)
		}
	}
}

// TestManyFixedLists: blocks of lists follow each other, and a size that the file cannot hold is an error and allocates nothing.
func TestManyFixedLists(t *testing.T) {
	const n = 2*spacedBlock + 1
	var lists []string
	for i := range n {
		if i%3 == 0 {
			lists = append(lists, `{"x": null}`)
		} else {
			lists = append(lists, fmt.Sprintf(`{"x": [%d, null]}`, i))
		}
	}
	got, err := ours(fileOfFixed(t, 2, "["+strings.Join(lists, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	a := got.groups[0][0].(*array.FixedSizeList)
	items := a.ListValues().(*array.Int32)
	if a.Len() != n || items.Len() != 2*n {
		t.Fatalf("%d lists, %d items", a.Len(), items.Len())
	}
	for i := range n {
		if null := i%3 == 0; a.IsNull(i) != null || items.IsNull(2*i) != null || !null && items.Value(2*i) != int32(i) || items.IsValid(2*i+1) {
			t.Fatalf("list %d: null %t, item %d", i, a.IsNull(i), items.Value(2*i))
		}
	}
	if _, err := ours(fileOfFixed(t, 1<<30, `[{"x": null}, {"x": null}]`)); err == nil || !strings.Contains(err.Error(), "2 lists of 1073741824 items") {
		t.Errorf("got %v", err)
	}
}
