package inputs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

// people returns rows with every kind of column.
func people(t testing.TB) Dataset {
	t.Helper()
	ds, err := Slices(checked(t), Slice("age", Feature, []float32{10, 20, 30, float32(nan())}), Strings("town", Feature, []string{"Bern", "Basel", "", "Chur"}),
		Slice("id", Label, []int64{1, 9007199254740993, 9007199254740992, -4}), Slice("pair", Feature, make([]float32, 8), 2),
		Strings("sold at", Feature, []string{"2024-02-29", "2023-12-31T23:59:59", "1999-01-01 05:06:07", "?"}), Slice("ok", Feature, []bool{true, false, true, false}))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func nan() float64 { var zero float64; return zero / zero }

func TestExpressions(t *testing.T) {
	ds := people(t)
	rec, err := iterate(t, ds).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	columns, err := Tensors(rec, ds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"age": "10 20 30 NaN", "age + 1": "11 21 31 NaN", "-age % 7": "-3 -6 -2 NaN", "id * 2 - 1": "1 1.8014398509481984e+16 1.8014398509481984e+16 -9",
		"age / 4 > 5": "false false true false", "id == 9007199254740993": "false true false false", "id < 9007199254740993.5": "true true true true", "!(age >= 20)": "true false false true", "age != age": "false false false true",
		`town == "Bern" || town < "A"`: "true false true false", `town + "!"`: "Bern! Basel! ! Chur!", "ok && true": "true false true false", "ok == false": "false true false true",
		"log1p(age * 0)": "0 0 0 NaN", "clip(age, 15, 25)": "15 20 25 NaN", "isnan(age)": "false false false true", "max(age, 15)": "15 20 30 NaN",
		`where(town == "", 0, 1)`: "1 1 0 1", `where(ok, "a", town)`: "a Basel a Chur", "len(town)": "4 5 0 4", "lower(town)": "bern basel  chur", `contains(town, "as")`: "false true false false",
		`year(col("sold at"))`: "2024 2023 1999 NaN", `month(col("sold at"))`: "2 12 1 NaN", `weekday(col("sold at"))`: "4 0 5 NaN", `hour(col("sold at"))`: "0 23 5 NaN", "day(id * 0 + 86400)": "2 2 2 2",
		"pow(2, 3) + 0x10 + 1e1": "34 34 34 34", "'a' == \"a\"": "true true true true",
	} {
		x, err := ParseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		f, err := x.compile(ds.Schema())
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for i := range 4 {
			switch {
			case f.num != nil:
				got = append(got, fmt.Sprint(f.num(columns, i)))
			case f.text != nil:
				got = append(got, f.text(columns, i))
			default:
				got = append(got, fmt.Sprint(f.truth(columns, i)))
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: got %s, expected %s", text, g, want)
		}
	}
}

func TestWrongExpressions(t *testing.T) {
	ds := people(t)
	for text, want := range map[string]string{
		"": "expected operand", "age >": "expected operand", "height > 1": `unknown column "height": the data has age, town`, "age && ok": "operator && of a number and true or false",
		"pair > 1": "has several values in each row", "sin(age)": "unknown function sin: expected one of abs", "clip(age)": `expected one of nnn, got "n"`, "func() {}": "not of the language", "a.b": "not of the language",
		"!age": "operator ! of a number", "age": "is a number: expected a condition", `"a" + 1 == "b"`: "operator + of text and a number", "age.x()": "something else than a function",
		"ok < ok": "operator < of true or false", strings.Repeat("(", 20_000): "at most 10000", `number(town, ";") > 1`: `function number: decimal: expected . or a comma, got ";"`, `number(town, ".", "stone") > 1`: "function number: unit: expected one of MB, MHz", `col("nothing") > 1`: `unknown column "nothing"`,
	} {
		x, err := ParseExpression(text)
		if err == nil {
			_, err = Where(x)(ds).Iterate(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %q", text, err, want)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{"age > 1 && town == \"x\"", "where(ok, 1, clip(age, 2, 3))", "col(\"sold at\")", "-(-(1))", "year(1e300)"} {
		f.Add(text)
	}
	ds := people(f)
	rec, err := iterate(f, ds).Next(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(rec.Release)
	columns, err := Tensors(rec, ds.Schema())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := ParseExpression(text)
		if err != nil {
			return
		}
		c, err := x.compile(ds.Schema())
		if err != nil {
			return
		}
		switch {
		case c.num != nil:
			_ = c.num(columns, 3)
		case c.text != nil:
			_ = c.text(columns, 3)
		default:
			_ = c.truth(columns, 3)
		}
	})
}

func expression(t testing.TB, text string) Expression {
	t.Helper()
	x, err := ParseExpression(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestComputedColumns(t *testing.T) {
	cast, err := Cast(tensor.Int32, "age")
	if err != nil {
		t.Fatal(err)
	}
	ds := Pipe(people(t), Project("age", "town", "id"), Where(expression(t, "id > -4")), Map(Compute(Computed{Name: "old", Expression: expression(t, "age >= 20")})),
		Map(Compute(Computed{Name: "id", Expression: expression(t, "age / 10")})), Map(Fill("?", "town")), Map(cast), Map(Compute(Computed{Name: "twice", Expression: expression(t, "age * 2"), DType: tensor.Float64})))
	if got := ds.Schema().String(); got != "age int32 feature, town string feature, id int64 label, old bool feature, twice float64 feature" {
		t.Fatalf("got %s", got)
	}
	if d := cmp.Diff([]any{[]int32{10, 20, 30}, []int64{1, 2, 3}, []float64{20, 40, 60}}, []any{column[int32](t, ds, "age"), column[int64](t, ds, "id"), column[float64](t, ds, "twice")}); d != "" {
		t.Error(d)
	}
	checkDataset(t, Pipe(ds, Repeat(3), Batch(2, false), Prefetch(1)))
	filled := Pipe(people(t), Map(Fill(7.5)))
	if got := column[float32](t, filled, "age"); !slices.Equal(got, []float32{10, 20, 30, 7.5}) {
		t.Errorf("filled: %v", got)
	}
	for want, ds := range map[string]Dataset{
		"expected a whole number from -2.147483648e+09": Pipe(people(t), Map(cast)),
		"its expression \"age\" is a number":            Pipe(people(t), Map(Compute(Computed{Name: "x", Expression: expression(t, "age"), DType: tensor.String}))),
		"cannot be filled with 3":                       Pipe(people(t), Map(Fill(3, "town"))),
		"unknown column":                                Pipe(people(t), Map(Fill(3, "nothing"))),
	} {
		it, err := ds.Iterate(t.Context())
		if err == nil {
			_, err = it.Next(t.Context())
			it.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestExactIntegers: integers beyond 2^53 are computed, cast and chosen without rounding.
func TestExactIntegers(t *testing.T) {
	cast, err := Cast(tensor.Int64, "id")
	if err != nil {
		t.Fatal(err)
	}
	ds := Pipe(people(t), Project("ok", "id"), Map(cast), Map(Compute(Computed{Name: "copy", Expression: expression(t, "id"), DType: tensor.Int64})),
		Map(Compute(Computed{Name: "signed", Expression: expression(t, "where(ok, id, -id)"), DType: tensor.Int64})),
		Map(Compute(Computed{Name: "mixed", Expression: expression(t, "where(ok, id / 2, id)"), DType: tensor.Float64})))
	for name, want := range map[string][]int64{
		"id": {1, 9007199254740993, 9007199254740992, -4}, "copy": {1, 9007199254740993, 9007199254740992, -4}, "signed": {1, -9007199254740993, 9007199254740992, 4},
	} {
		if got := column[int64](t, ds, name); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, expected %v", name, got, want)
		}
	}
	if got := column[float64](t, ds, "mixed"); !slices.Equal(got, []float64{0.5, 9007199254740992, 4503599627370496, -4}) {
		t.Errorf("got %v", got)
	}
}

// TestTimesOfExpressions: the parts of times as Arrow columns, pandas and databases write them; the hour is that of the time's zone.
func TestTimesOfExpressions(t *testing.T) {
	texts := []string{"2024-12-31 23:04:05Z", "2024-12-31 23:04:05.5+0100", "2024-12-31 23:04:05-05:30", "2024-12-31T23:04:05+0100", "2024-12-31 23:04:05+01", "2024-12-31T23:04", "2024-12-31 23:04"}
	ds, err := Slices(checked(t), Strings("at", Feature, texts))
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]float32{"year": 2024, "month": 12, "day": 31, "weekday": 2, "hour": 23} {
		got := column[float32](t, Pipe(ds, Map(Compute(Computed{Name: "x", Expression: expression(t, part+"(at)")}))), "x")
		for i, x := range got {
			if x != want {
				t.Errorf("%s of %q: got %v, expected %v", part, texts[i], x, want)
			}
		}
	}
}

// TestTransformsOfConfigs: each kind and its keys; groups; registered kinds; errors.
func TestTransformsOfConfigs(t *testing.T) {
	file := write(t, "t.csv", []byte("1,a,0\n2,b,1\n3,a,0\nnan,b,1\n5,a,1\n"))
	spec := func(steps ...TransformSpec) Spec {
		return Spec{Format: "csv", Files: []string{file}, Columns: []ColumnSpec{{Name: "x"}, {Name: "town", DType: "string"}, {Name: "y", Role: Label, DType: "int64"}}, Transforms: steps, BatchSize: 10}
	}
	own := Context{Mode: Train, Transforms: map[string]TransformFunc{
		"odd": func(params map[string]any, _ int64) (Transform, error) {
			if params["by"] != 2 {
				return nil, fmt.Errorf("by: got %v", params["by"])
			}
			return Where(expression(t, "x % 2 == 1")), nil
		}}}
	s := spec(TransformSpec{Kind: "fill", Columns: []string{"x"}, Value: 7}, TransformSpec{Kind: "filter", Expression: `town == "a" || x > 6`}, TransformSpec{Kind: "compute", Column: "z", Expression: "x * 10", DType: "int64"},
		TransformSpec{Kind: "cast", Columns: []string{"x"}, DType: "int64"}, TransformSpec{Kind: "odd", Params: map[string]any{"by": 2}})
	s.Group = GroupSpec{Column: "town", Size: 2}
	if err := s.Validate(); err != nil && !strings.Contains(err.Error(), "role") { // Complete sets it
		t.Error(err)
	}
	ds := must[Dataset](t)(Open(t.Context(), s, own))
	if got := column[int64](t, ds, "z"); !slices.Equal(got, []int64{10, 30, 50, 70}) && !slices.Equal(got, []int64{10, 30, 70, 50}) {
		t.Errorf("got %v", got)
	}
	it := iterate(t, ds)
	rec, err := it.Next(t.Context())
	if err != nil || rec.NumRows() != 2 {
		t.Fatalf("%v: %v", rec, err)
	}
	rec.Release()
	for want, s := range map[string]Spec{
		`unknown kind "explode": expected one of cache`:           spec(TransformSpec{Kind: "explode"}),
		"expected params: kind explode is a registered transform": spec(TransformSpec{Kind: "explode", Size: 3}),
		"separator: got nothing, expected it for kind split":      spec(TransformSpec{Kind: "split", Column: "town"}),
		"kind odd: by: got <nil>":                                 spec(TransformSpec{Kind: "odd"}),
		"expression: got \"x >\"":                                 spec(TransformSpec{Kind: "filter", Expression: "x >"}),
		"expression: got nothing":                                 spec(TransformSpec{Kind: "filter"}),
		`dtype: got "text"`:                                       spec(TransformSpec{Kind: "cast", Columns: []string{"x"}, DType: "text"}),
		`transforms[0]: expression "height > 1": unknown column`:  spec(TransformSpec{Kind: "filter", Expression: "height > 1"}),
		"expected one text or whole number in each row":           {Format: "csv", Files: []string{file}, Columns: spec().Columns, Group: GroupSpec{Column: "x", Size: 2}},
	} {
		if err := readAll(s, own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

func ExampleWhere() {
	ds, err := Slices(nil, Slice("age", Feature, []int64{15, 40}), Strings("town", Feature, []string{"Bern", "Basel"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	adults, err := ParseExpression(`age >= 18 && prefix(town, "B")`)
	if err != nil {
		fmt.Println(err)
		return
	}
	it, err := Pipe(ds, Where(adults)).Iterate(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer it.Close()
	rec, err := it.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rec.Release()
	fmt.Println(rec.NumRows(), "of 2")
	// Output: 1 of 2
}
