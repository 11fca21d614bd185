package inputs

import (
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Selfish embeds itself, directly and through another struct.
type Selfish struct {
	*Selfish
	*Roundabout
	X float32
}

// Roundabout embeds Selfish.
type Roundabout struct {
	Selfish
	Y int64
}

// TestStructsEmbedThemselves: each field is a column only once.
func TestStructsEmbedThemselves(t *testing.T) {
	ds, err := FromStructs([]Selfish{{X: 2, Roundabout: &Roundabout{Y: 3}}}, ArrowOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := ds.Schema().String(); !strings.Contains(got, "X") || !strings.Contains(got, "Y") || len(ds.Schema().Columns()) != 2 {
		t.Errorf("got %s", got)
	}
}

// TestRecordsOfMuchText: records end before a column's offsets overflow.
func TestRecordsOfMuchText(t *testing.T) {
	type row struct {
		Name string
		Many []string
	}
	p, err := planStruct(reflect.TypeFor[row](), ArrowOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.bytes = 10
	var rows []reflect.Value
	for range 7 {
		rows = append(rows, reflect.ValueOf(row{"1234", []string{"abc", "d"}}))
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	recs, err := p.records(mem, rows)
	if err != nil || len(recs) != 3 || recs[0].NumRows() != 3 || recs[2].NumRows() != 1 {
		t.Errorf("got %d records, %v", len(recs), err)
	}
	for _, r := range recs {
		r.Release()
	}
	rows = append(rows, reflect.ValueOf((*row)(nil)))
	if _, err := p.records(mem, rows); err == nil || !strings.Contains(err.Error(), "nil pointer") {
		t.Errorf("got %v", err)
	}
}
