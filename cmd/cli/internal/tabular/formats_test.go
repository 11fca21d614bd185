package tabular_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// formats returns the same table of 200 rows in all formats, by file name.
func formats(t testing.TB) map[string]string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "age", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "day", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "kind", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "width", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var csv, lines strings.Builder
	csv.WriteString("age,day,kind,width\n")
	for r := range 200 {
		age, day, kind, width := int64(r*13%60), fmt.Sprintf("2021-03-%02d", 1+r%31), []string{"cat", "dog"}[r*r%7%2], float64(r%17)+0.5
		b.Field(1).(*array.StringBuilder).Append(day)
		b.Field(2).(*array.StringBuilder).Append(kind)
		b.Field(3).(*array.Float64Builder).Append(width)
		if r%10 == 0 {
			b.Field(0).AppendNull()
			fmt.Fprintf(&csv, ",%s,%s,%g\n", day, kind, width)
			fmt.Fprintf(&lines, `{"kind":%q,"width":%g,"day":%q}`+"\n", kind, width, day)
			continue
		}
		b.Field(0).(*array.Int64Builder).Append(age)
		fmt.Fprintf(&csv, "%d,%s,%s,%g\n", age, day, kind, width)
		fmt.Fprintf(&lines, `{"width":%g,"kind":%q,"age":%d,"day":%q}`+"\n", width, kind, age, day)
	}
	rec := b.NewRecord()
	defer rec.Release()
	var parquet, file bytes.Buffer
	pw, err := pqarrow.NewFileWriter(schema, &parquet, nil, pqarrow.DefaultWriterProps())
	check(t, err)
	check(t, pw.Write(rec))
	check(t, pw.Close())
	path := t.TempDir() + "/x"
	aw, err := ipc.NewFileWriter(create(t, path), ipc.WithSchema(schema))
	check(t, err)
	check(t, aw.Write(rec))
	check(t, aw.Close())
	file.Write(contents(t, path))
	return map[string]string{"t.csv": csv.String(), "t.jsonl": lines.String(), "t.parquet": parquet.String(), "t.arrow": file.String()}
}

// TestFormats: a table has the same profile in all formats.
func TestFormats(t *testing.T) {
	all := formats(t)
	describe := func(name string) string {
		p := read(t, name, all[name], tabular.Options{Label: "kind"})
		uses, _ := p.Uses()
		return fmt.Sprintf("%d %+v %v %+v %d %v", p.Rows, p.Columns, uses, *p.Label, p.Duplicates, p.Hints())
	}
	want := describe("t.csv")
	if !strings.HasPrefix(want, "200 [{Name:age Kind:number Rows:200 Missing:20 Distinct:54 ") || !strings.Contains(want, "{Name:day Kind:date") {
		t.Errorf("csv: got %s", want)
	}
	for _, name := range []string{"t.jsonl", "t.parquet", "t.arrow"} {
		if got := describe(name); got != want {
			t.Errorf("%s: got\n%s\nexpected, as CSV,\n%s", name, got, want)
		}
	}
	// Parquet and Arrow are also recognised by their first bytes.
	for name, format := range map[string]string{"t.parquet": "parquet", "t.arrow": "arrow"} {
		if p := read(t, "data", all[name], tabular.Options{}); p.Form.Format != format {
			t.Errorf("got %+v, expected %s", p.Form, format)
		}
	}
}

// TestJSONLines: lists and objects are not values, strings of digits are words, and new names may appear later.
func TestJSONLines(t *testing.T) {
	p := read(t, "t.jsonl", `{"list":[1],"code":"1","ok":true}
{"list":"x","code":"2","ok":null,"late":3}

{"list":{"a":1},"code":"?","ok":false,"late":1.5}
null
`, tabular.Options{})
	got := ""
	for _, c := range p.Columns {
		got += fmt.Sprintf("%s %s %d; ", c.Name, c.Kind, c.Missing)
	}
	if want := "code text 2; late number 2; list nested 3; ok text 2; "; got != want || p.Rows != 4 {
		t.Errorf("got %s in %d rows, expected %s in 4", got, p.Rows, want)
	}
}

// TestLateColumns: a column that first appears after thousands of objects is found, and counts as missing before.
func TestLateColumns(t *testing.T) {
	content := strings.Repeat(`{"b":1}`+"\n", 3000) + `{"b":2,"a":"x"}` + "\n" + `{"b":2,"a":"y","c":1}` + "\n" + `{"b":2,"a":"y","c":1}` + "\n"
	p := read(t, "t.jsonl", content, tabular.Options{Label: "b"})
	got := fmt.Sprint(p.Rows, p.Duplicates)
	for _, c := range p.Columns {
		got += fmt.Sprintf(" %s %s %d/%d", c.Name, c.Kind, c.Missing, c.Rows)
	}
	if want := "3003 3000 b number 0/3003 a text 3000/3003 c number 3001/3003"; got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
}

// TestUnreadableColumn: a column whose type cannot be read is left out with a reason; the others are read.
func TestUnreadableColumn(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}, {Name: "span", Type: arrow.FixedWidthTypes.MonthInterval}, {Name: "y", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for r := range 50 {
		b.Field(0).(*array.Int64Builder).Append(int64(r * r % 11))
		b.Field(1).(*array.MonthIntervalBuilder).Append(arrow.MonthInterval(r))
		b.Field(2).(*array.StringBuilder).Append([]string{"no", "yes"}[r%2])
	}
	rec := b.NewRecord()
	defer rec.Release()
	path := t.TempDir() + "/t.arrow"
	w, err := ipc.NewFileWriter(create(t, path), ipc.WithSchema(schema))
	check(t, err)
	check(t, w.Write(rec))
	check(t, w.Close())
	p, err := tabular.Read(t.Context(), path, tabular.Options{Label: "y"})
	check(t, err)
	uses, reasons := p.Uses()
	if uses[0] != tabular.Numeric || uses[1] != tabular.LeftOut || !strings.Contains(reasons[1], "cannot be read") || p.Rows != 50 {
		t.Errorf("got uses %v for %q of %d rows", uses, reasons, p.Rows)
	}
}
