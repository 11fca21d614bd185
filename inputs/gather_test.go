package inputs

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestGatherKeepsNulls copies rows of two records, one with nulls, one without.
func TestGatherKeepsNulls(t *testing.T) {
	as := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.Binary), Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), as)
	defer b.Release()
	var recs []arrow.Record
	for r := range 2 {
		for i := range 20 {
			valid := r == 0 || i%3 != 0
			l := b.Field(1).(*array.ListBuilder)
			l.Append(valid)
			if !valid {
				b.Field(0).AppendNull()
				continue
			}
			b.Field(0).(*array.Int64Builder).Append(int64(20*r + i))
			l.ValueBuilder().(*array.BinaryBuilder).Append([]byte{byte(i)})
		}
		recs = append(recs, b.NewRecord())
	}
	s, err := SchemaFromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	ds, err := Records(s, recs, checked(t))
	if err != nil {
		t.Fatal(err)
	}
	rows := []int64{23, 5, 6, 20, 39, 21, 22}
	rec, err := ds.Gather(context.Background(), rows)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	x, l := rec.Column(0).(*array.Int64), rec.Column(1).(*array.List)
	for i, row := range rows {
		null := row >= 20 && (row-20)%3 == 0
		if x.IsNull(i) != null || l.IsNull(i) != null || !null && x.Value(i) != row {
			t.Errorf("row %d: null %t, %t, value %d", row, x.IsNull(i), l.IsNull(i), x.Value(i))
		}
		from, to := l.ValueOffsets(i)
		if v := l.ListValues().(*array.Binary); !null && (to-from != 1 || v.Value(int(from))[0] != byte(row%20)) {
			t.Errorf("row %d: list [%d, %d)", row, from, to)
		}
	}
	if want := 2; x.NullN() != want {
		t.Errorf("%d nulls, expected %d", x.NullN(), want)
	}
}
