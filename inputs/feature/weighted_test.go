package feature

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// TestPlacedWeights: where some values of a row have no id, the others keep the weights at their own places in the row.
func TestPlacedWeights(t *testing.T) {
	for name, c := range map[string]struct {
		ids    arrow.Array
		width  int // of weights 1, 2, ...
		want   []float32
		refuse string
	}{
		"dense":                {denseTexts(2, "a", "", "", "b"), 2, []float32{1, 4}, ""},
		"dense, more weights":  {denseTexts(2, "a", "", "", "b"), 3, nil, "2 ids but 3 weights"},
		"dense, fewer weights": {denseTexts(2, "a", "", "", "b"), 1, nil, "2 ids but 1 weights"},
		"lists":                {textLists([]string{"a", ""}, []string{"", "b"}), 2, []float32{1, 4}, ""},
		"lists of less":        {textLists([]string{"", "a"}, []string{"b"}), 2, nil, "1 ids but 2 weights"},
	} {
		t.Run(name, func(t *testing.T) {
			w := array.NewFixedSizeListBuilder(memory.NewGoAllocator(), int32(c.width), arrow.PrimitiveTypes.Float32)
			for row := range 2 {
				w.Append(true)
				for i := range c.width {
					w.ValueBuilder().(*array.Float32Builder).Append(float32(row*c.width + i + 1))
				}
			}
			arrays := []arrow.Array{c.ids, w.NewArray()}
			rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrays[0].DataType(), Nullable: true}, {Name: "w", Type: arrays[1].DataType()}}, nil), arrays, 2)
			plan, err := New(Columns{Linear: []Column{&Weighted{Of: &Vocabulary{Key: "s", Values: []string{"a", "b"}}, WeightKey: "w"}}})
			if err != nil {
				t.Fatal(err)
			}
			out, err := plan.Apply(t.Context(), rec)
			if c.refuse != "" {
				if err == nil || !strings.Contains(err.Error(), c.refuse) {
					t.Fatalf("error %v, want one with %q", err, c.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			linear, err := plan.Linear(1)
			if err != nil {
				t.Fatal(err)
			}
			at := out.Schema().FieldIndices(linear[0].Weights)[0]
			if got := out.Column(at).(array.ListLike).ListValues().(*array.Float32).Float32Values(); !slices.Equal(got, c.want) {
				t.Errorf("weights %v, want %v", got, c.want)
			}
		})
	}
}

// denseTexts returns rows of width texts.
func denseTexts(width int, texts ...string) arrow.Array {
	b := array.NewFixedSizeListBuilder(memory.NewGoAllocator(), int32(width), arrow.BinaryTypes.String)
	for i, s := range texts {
		if i%width == 0 {
			b.Append(true)
		}
		b.ValueBuilder().(*array.StringBuilder).Append(s)
	}
	return b.NewArray()
}

// textLists returns a row for each list; empty texts are null.
func textLists(rows ...[]string) arrow.Array {
	b := array.NewListBuilder(memory.NewGoAllocator(), arrow.BinaryTypes.String)
	for _, row := range rows {
		b.Append(true)
		for _, s := range row {
			b.ValueBuilder().(*array.StringBuilder).AppendValues([]string{s}, []bool{s != ""})
		}
	}
	return b.NewArray()
}
