package columngraph

import (
	"context"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/textvalue"
	"github.com/goestimator/goestimator/tensor"
)

// TestEmittedReadings: the operations read numbers and dates like Apply.
func TestEmittedReadings(t *testing.T) {
	var columns []feature.Column
	add := func(r feature.Reading) {
		columns = append(columns, &feature.Numeric{Key: "text", Read: r, AllowNaN: true})
		if r.Part == "number" {
			columns = append(columns, &feature.Numeric{Key: "text", Read: r, FillNaN: true, Default: []float32{7}, Normalizer: feature.Normalizer{Mean: []float32{1}, Std: []float32{3}}})
		}
	}
	add(feature.Reading{Part: "number"})
	add(feature.Reading{Part: "number", Decimal: ","})
	for _, unit := range textvalue.UnitNames() {
		add(feature.Reading{Part: "number", Unit: unit})
	}
	add(feature.Reading{Part: "number", Decimal: ",", Unit: "kg"})
	for _, p := range textvalue.Parts()[1:] {
		for _, o := range []string{"", "dmy", "mdy"} {
			add(feature.Reading{Part: p, Order: o})
		}
	}
	for _, c := range columns {
		checkReading(t, c)
	}
}

func checkReading(t *testing.T, c feature.Column) {
	t.Helper()
	plan, err := feature.New(feature.Columns{Dense: []feature.Column{c}})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	raw, feeds, err := Placeholders(b, []inputs.Column{{Name: "text", DType: tensor.String}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Emit(plan, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	r := newGraphRun(t, b.Graph, e)
	text := rapid.OneOf(
		rapid.StringMatching(`[-+]?[$€a-z]{0,3} ?[-+]?[0-9]{1,4}([,.' ][0-9]{3}){0,2}([.,][0-9]{0,3})?(e[-+]?[0-9]{1,2})? ?[a-z%]{0,3}2?`),
		rapid.StringMatching(`-?[0-9]{1,3}(\.[0-9])? ?(k|M|Mio\.|BN|t|kg|grams?|LB|cm|Miles|ml|days?|hrs|Weeks|yrs|GB|kib|GHz|x) ?(net)?`),
		rapid.StringMatching(`[0-3]?[0-9][-/.][0-3]?[0-9][-/.]([12][0-9]{3}|[0-9]{2})([T ][0-2]?[0-9]:[0-5][0-9](:[0-9]{2}(\.[0-9]{3})?)?( ?[aApP][mM])?(Z|\+02:00)?)?`),
		rapid.StringMatching(`[12][0-9]{3}[-/.][01]?[0-9]([-/.][0-3]?[0-9])?([T ][0-2]?[0-9]:[0-5][0-9](:[0-9]{2}(\.[0-9]{3})?)?(Z|-0530)?)?`),
		rapid.StringMatching(`((mon|Friday), )?([0-3]?[0-9](st|th)?[- ])?(jan|FEB|Mar(ch)?|april|may|June?|Jul|august|Sept?|october|Nov|DECEMBER)[-., ]{0,2}([0-3]?[0-9](nd)?[- ])?([12][0-9]{3}|[0-9]{2})( 1[0-9]:30( pm)?)?`),
		rapid.SampledFrom([]string{"2021-Mar-12", "2021 mar", "12 Mars 2021", "", " ", "soon", "12:30", "3:05 pm", "12 am", "1e999", "-1e999", "1e-999", "nan", "inf", "\xff12", "12\xff", "\xff2024-01-01", "12\n", "\u22125", "\u2013$5", "$\uff0d1,234.5", "\u20145", "1\u20133", "5 m^2", "5x2", "24:00", "2024-12-31 24:00:00", "0000-01-01", "9999-12-31", "1\u00a0234"}))
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(text, 1, 6).Draw(t, "texts")
		col := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		col.AppendStringValues(texts, nil)
		rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.Binary}}, nil), []arrow.Array{col.NewArray()}, int64(len(texts)))
		out, err := plan.Apply(context.Background(), rec)
		if err != nil {
			return // an infinite number in a column that does not allow it
		}
		fed := tensor.New(tensor.String, len(texts))
		for i, s := range texts {
			fed.Strings[i] = []byte(s)
		}
		got, err := r.run(map[graph.Output]*tensor.Tensor{feeds["text"]: fed})
		if err != nil {
			t.Fatal(err)
		}
		compareRun(t, out, e, got)
	})
}
