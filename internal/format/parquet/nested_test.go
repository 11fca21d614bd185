package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// optionalGroup is a group of nodes.
func optionalGroup(name string, nodes ...schema.Node) schema.Node {
	return schema.MustGroup(schema.NewGroupNode(name, parquet.Repetitions.Optional, nodes, -1))
}

// fileOfNodes returns a file with one row, whose 32-bit columns are null.
func fileOfNodes(t *testing.T, nodes ...schema.Node) []byte {
	t.Helper()
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)))
	g := w.AppendRowGroup()
	for range g.NumColumns() {
		c, err := g.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.(*file.Int32ColumnChunkWriter).WriteBatch(nil, []int16{0}, []int16{0}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestColumnsInGroups: a column may be in MaxNested groups, and in no more.
func TestColumnsInGroups(t *testing.T) {
	column := schema.Node(schema.NewInt32Node("x", parquet.Repetitions.Optional, -1))
	for range MaxNested {
		column = optionalGroup("g", column)
	}
	got, err := ours(fileOfNodes(t, column))
	if err != nil || !got.groups[0][0].IsNull(0) {
		t.Errorf("got %v, %v: expected a null", got, err)
	}
	if _, err := ours(fileOfNodes(t, optionalGroup("g", column))); err == nil || !strings.Contains(err.Error(), "lies in 101 groups, expected at most 100") {
		t.Errorf("got %v", err)
	}
}

// TestLeads: a column without a list in between tells where a struct is null, wherever it is below the struct.
func TestLeads(t *testing.T) {
	column := func(name string) schema.Node { return schema.NewInt32Node(name, parquet.Repetitions.Optional, -1) }
	list := func(name string) schema.Node {
		return schema.MustGroup(schema.ListOf(column(name), parquet.Repetitions.Optional, -1))
	}
	for _, c := range []struct {
		node    schema.Node
		lead    int
		repeats bool
	}{
		{optionalGroup("s", column("a"), column("b")), 0, false},
		{optionalGroup("s", list("a"), column("b")), 1, false},
		{optionalGroup("s", list("a"), optionalGroup("t", list("b"), column("c"))), 2, false},
		{optionalGroup("s", list("a"), optionalGroup("t", list("b"), list("c"))), 0, true},
		{list("a"), 0, false},
	} {
		data := fileOfNodes(t, c.node)
		f, err := file.NewParquetReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.fields[0]; got.lead.leaf != c.lead || got.repeats() != c.repeats {
			t.Errorf("%s: column %d, a list between: %t; expected column %d, %t", got.Field, got.lead.leaf, got.repeats(), c.lead, c.repeats)
		}
		if got, err := ours(data); err != nil || fmt.Sprint(got.groups[0][0]) == "" || !got.groups[0][0].IsNull(0) {
			t.Errorf("%v: expected a null", err)
		}
	}
}
