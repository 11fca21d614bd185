package inputs

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestGathersManyRows: columns gathered by several goroutines have the right rows, and no buffer is leaked.
func TestGathersManyRows(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	const rows = sharedValues / 3
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.Float32Builder).Append(float32(i))
		}
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprint(i))
	}
	rec := b.NewRecord()
	defer rec.Release()
	for _, n := range []int{rows, rows + 1} { // by one goroutine, and by several
		spans := make([]span, n)
		for i := range spans {
			spans[i] = span{0, i * 5 % rows, 1}
		}
		got, err := gatherRecord(mem, schema, []arrow.Record{rec}, spans)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range spans {
			f := got.Column(1).(*array.Float32)
			if v := got.Column(0).(*array.Int64).Value(i); v != int64(s.start) || f.IsNull(i) != (s.start%7 == 0) || f.IsValid(i) && f.Value(i) != float32(v) ||
				got.Column(2).(*array.String).Value(i) != fmt.Sprint(v) {
				t.Fatalf("row %d is not row %d: %v, %v", i, s.start, v, f.ValueStr(i))
			}
		}
		got.Release()
	}
}
