// Package rawrows draws rows of raw features for tests of feature columns.
package rawrows

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"
)

// Draw draws rows: words and weights are ragged, word is a string, ids an
// integer (-1: missing), x two numbers, which may be null.
func Draw(t *rapid.T) arrow.Record {
	mem := memory.DefaultAllocator
	words, weights := array.NewListBuilder(mem, arrow.BinaryTypes.Binary), array.NewListBuilder(mem, arrow.PrimitiveTypes.Float32)
	word, ids := array.NewStringBuilder(mem), array.NewInt32Builder(mem)
	x := array.NewFixedSizeListBuilder(mem, 2, arrow.PrimitiveTypes.Float64)
	rows := rapid.IntRange(0, 12).Draw(t, "rows")
	some := rapid.SampledFrom([]string{"", "a", "b", "c"})
	for range rows {
		n := rapid.IntRange(0, 3).Draw(t, "n")
		words.Append(true)
		weights.Append(true)
		for range n {
			words.ValueBuilder().(*array.BinaryBuilder).AppendString(some.Draw(t, "w"))
			weights.ValueBuilder().(*array.Float32Builder).Append(float32(rapid.IntRange(-2, 5).Draw(t, "weight")))
		}
		word.Append(some.Draw(t, "word"))
		ids.Append(int32(rapid.IntRange(-1, 4).Draw(t, "id")))
		x.Append(true)
		for range 2 {
			if v := rapid.IntRange(-3, 3).Draw(t, "x"); v == -3 {
				x.ValueBuilder().AppendNull()
			} else {
				x.ValueBuilder().(*array.Float64Builder).Append(float64(v) / 2)
			}
		}
	}
	arrays := []arrow.Array{words.NewArray(), weights.NewArray(), word.NewArray(), ids.NewArray(), x.NewArray()}
	var fields []arrow.Field
	for k, name := range []string{"words", "weights", "word", "ids", "x"} {
		fields = append(fields, arrow.Field{Name: name, Type: arrays[k].DataType(), Nullable: true})
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(rows))
}
