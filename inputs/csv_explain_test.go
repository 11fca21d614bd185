package inputs

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/goestimator/goestimator/internal/testkit"
	"pgregory.net/rapid"
)

// csvError reads a file with the numeric columns a and b and the label y, and returns the error without the folder.
func csvError(t *testing.T, text string, change func(*Spec)) string {
	t.Helper()
	path := write(t, "t.csv", []byte(text))
	spec := Spec{Format: "csv", Files: []string{path}, Columns: []ColumnSpec{{Name: "a"}, {Name: "b"}, {Name: "y", Role: Label, Vocabulary: []string{"n", "p"}}}}
	if change != nil {
		change(&spec)
	}
	err := readAll(spec, Context{Mode: Train, Allocator: checked(t)})
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), strings.TrimSuffix(path, "t.csv"))
}

func separated(by string) func(*Spec) { return func(s *Spec) { s.Delimiter = by } }

func headed(s *Spec) { s.Header = true }

func asTexts(s *Spec) {
	s.Columns = []ColumnSpec{{Name: "a", DType: "string"}, {Name: "b", DType: "string"}, {Name: "y", DType: "string"}}
}

// TestCSVMistakes: each message says what is wrong, where it begins, and what to do.
func TestCSVMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		change func(*Spec)
		want   string
	}{
		"names of texts":      {"a,b,y\nx,z,n\n", asTexts, `t.csv:1: the first row holds names (a, b, y): set header: true, or rename the columns where these are values`},
		"names, skipped":      {"a,b,y\nx,z,n\n", func(s *Spec) { asTexts(s); s.OnError = "skip" }, `t.csv:1: the first row holds names (a, b, y): set header: true, or rename the columns where these are values`},
		"names of some":       {"a,x,y\nx,z,n\n", asTexts, ``},
		"names behind":        {"x,z,n\na,b,y\n", asTexts, ``},
		"names, header":       {"a,b,y\na,b,y\n", func(s *Spec) { asTexts(s); headed(s) }, ``},
		"semicolons":          {"1;2;n\n2;3;p\n", nil, `t.csv:1: cells are separated by ';' here, not by ',': set delimiter: ";"`},
		"tabs":                {"1\t2\tn\n2\t3\tp\n", nil, `t.csv:1: cells are separated by a tab here, not by ',': set delimiter: tab`},
		"bars":                {"# c\n1|2|n\n", func(s *Spec) { s.Comment = "#" }, `t.csv:2: cells are separated by '|' here, not by ',': set delimiter: "|"`},
		"aligned":             {"1  2 n\n 20 30 p\n", nil, `t.csv:1: cells are separated by white space here, not by ',': set delimiter: whitespace`},
		"commas":              {"1,2,n\n", separated("tab"), `t.csv:1: cells are separated by ',' here, not by a tab: set delimiter: ","`},
		"commas, aligned":     {"1,2,n\n", separated("whitespace"), `t.csv:1: cells are separated by ',' here, not by white space: set delimiter: ","`},
		"more columns":        {"1;2;n;4\n2;3;p;4\n", nil, `t.csv:1: cells are separated by ';' here, not by ',': set delimiter: ";", and list all 4 columns`},
		"header, semicolons":  {"a;b;y\n1;2;n\n", headed, `t.csv:1: cells are separated by ';' here, not by ',': set delimiter: ";"`},
		"words are no cells":  {"some words,2,n\nmore words,3,p\n", nil, `t.csv:1:1: column "a": value "some words" is not a float32 number: correct the cell, change the column's dtype, or list the value under missing_values (if the first row holds names, set header: true)`},
		"times are no cells":  {"1:30,2,n\n", nil, `t.csv:1:1: column "a": value "1:30" is not a float32 number: correct the cell, change the column's dtype, or list the value under missing_values (if the first row holds names, set header: true)`},
		"uneven":              {"1;2\n1;2;3\n", nil, `t.csv:1: row has 1 cells, expected 3: check the delimiter ',', the quotes and the list of columns`},
		"decimal commas":      {"1,5;2;n\n", separated(";"), `t.csv:1:1: column "a": value "1,5" is not a float32 number: correct the cell, change the column's dtype, or list the value under missing_values (numbers have a decimal point, no comma; where all have a comma, set decimal: ",")`},
		"names":               {"a,b,y\n1,2,n\n", nil, `t.csv:1: the first row holds names (a, b, y): set header: true`},
		"other names":         {"A,B,class\n1,2,n\n", nil, `t.csv:1: the first row holds names (A, B, class): set header: true`},
		"no names":            {"1,2,n\n2,3,p\n", headed, `t.csv:1: the first row holds values, no names (1, 2, n): set header: false`},
		"no names, a hole":    {"1,,n\n2,3,p\n", headed, `t.csv:1: the first row holds values, no names (1, , n): set header: false`},
		"a name less":         {"a,c,y\n1,2,n\n", headed, `t.csv:1: column "b": unknown column: the header has a, c, y`},
		"other names, header": {"u,v,w\n1,2,n\n", headed, `t.csv:1: column "a": unknown column: the header has u, v, w`},
		"capitals":            {"A,b,y\n1,2,n\n", headed, `t.csv:1: column "a": unknown column: the header has "A": names tell capitals from small letters`},
		"header behind lines": {"\n# c\n\na,b,z\n", func(s *Spec) { s.Header, s.Comment = true, "#" }, `t.csv:4: column "y": unknown column: the header has a, b, z`},
		"all quoted":          {"\"1\";\"2\";\"n\"\n\"3\";\"4\";\"p\"\n", nil, `t.csv:1: cells are separated by ';' here, not by ',': set delimiter: ";"`},
		"all quoted, header":  {"\"a\"\t\"b\"\t\"y\"\n\"1\"\t\"2\"\t\"n\"\n", headed, `t.csv:1: cells are separated by a tab here, not by ',': set delimiter: tab`},
		"text quoted":         {"1;2;\"n\"\n3;4;\"p\"\n", nil, `t.csv:1: cells are separated by ';' here, not by ',': set delimiter: ";"`},
		"missing value":       {",2,n\n", nil, `t.csv:1:1: column "a": value is missing: give the column a default, or correct the file`},
		"cells too few":       {"1,2,n\n1,2\n", nil, `t.csv:2: row has 2 cells, expected 3 as the rows before: a missing value needs its empty cell`},
		"too few, aligned":    {"1 2 n\n1 2\n", separated("whitespace"), `t.csv:2: row has 2 cells, expected 3 as the rows before: a missing value needs "" in its place, or one of missing_values`},
		"label, empty word":   {"1,2,x\n", func(s *Spec) { s.Columns[2].Vocabulary = []string{"n", "", "p"} }, `t.csv:1:5: column "y": unknown label "x", expected one of n, "", p: correct the cell or extend the vocabulary`},
		"fraction, integers":  {"1.5,2,n\n", func(s *Spec) { s.Columns[0].DType = "int64" }, `t.csv:1:1: column "a": value "1.5" is not an int64 number: correct the cell, change the column's dtype, or list the value under missing_values`},
		"cells too many":      {"1,2,n\n1,2,3,n\n", nil, `t.csv:2: row has 4 cells, expected 3 as the rows before: one that holds ',' needs quotes`},
		"unclosed":            {"1,2,n\n2,\"3,p\n3,4,n\n", nil, `t.csv:2:3: this quote is not closed: close it, or write "" for a quote that belongs to the text`},
		"unclosed, end":       {"1,2,n\n2,3,\"p", nil, `t.csv:2:5: this quote is not closed: close it, or write "" for a quote that belongs to the text`},
		"unclosed, CRLF":      {"1,2,n\r\n\"2,3,p\r\n3,4,n\r\n", nil, `t.csv:2:1: this quote is not closed: close it, or write "" for a quote that belongs to the text`},
		"unclosed, escapes":   {"1,2,\"n\"\n1,\"2\"\"3\"\"4,n\n5,6,n\n", nil, `t.csv:2:3: this quote is not closed: close it, or write "" for a quote that belongs to the text`},
		"unclosed, behind a text with lines": {"1,2,\"n\n\"\n2, \"3,p\n3,\"4\",n\n", nil,
			`t.csv:3:4: this quote is not closed where its cell ends: the next quote is in line 4: close it, or write "" for a quote that belongs to the text`},
		"unclosed header":  {"\"a,b,y\n1,2,n\n", headed, `t.csv:1:1: this quote is not closed: close it, or write "" for a quote that belongs to the text`},
		"unclosed, wide":   {"1→2→n\n1→\"2→n\n", separated("→"), `t.csv:2:5: this quote is not closed: close it, or write "" for a quote that belongs to the text`},
		"unclosed, lines":  {"1,2,\"n\n3,4,p\"\n", nil, `t.csv:1:5: column "y": unknown label "n\n3,4,p", expected one of n, p: correct the cell or extend the vocabulary (the cell goes over several lines: is its quote to be closed before?)`},
		"unclosed, merged": {"1,2,n\n1,\"2,n\n3,4,n\",n,5\n", nil, `t.csv:2:3: row has 4 cells, expected 3: the cell that begins with this quote goes over 2 lines: is the quote to be closed before?`},
		"unclosed, commented": {"#\"\n1,2,n\n#\"\n2,\"3,n\n", func(s *Spec) { s.Comment = "#" },
			`t.csv:4:3: this quote is not closed: close it, or write "" for a quote that belongs to the text`},
		"text behind":       {"1,\"2\"x,n\n", nil, `t.csv:1:3: text follows the closing quote of this cell, at 1:5: close it, or write "" for a quote that belongs to the text`},
		"quote within":      {"1,2\"x,n\n", nil, `t.csv:1:4: a quote within a cell that does not begin with one: put the whole cell in quotes and write "" for the quote`},
		"unclosed, aligned": {"1 2 n\n1 \"2 n\n", separated("whitespace"), `t.csv:2:3: this quote is not closed where its cell ends, or before the line does: close it, or write "" for a quote that belongs to the text`},
		"within, aligned":   {"1 2\"3 n\n", separated("whitespace"), `t.csv:1:4: a quote within a cell that does not begin with one: put the whole cell in quotes and write "" for the quote`},
		"Latin 1":           {"1,2,caf\xe9\n", nil, `t.csv:1:5: column "y": unknown label "caf\xe9", expected one of n, p: correct the cell or extend the vocabulary (the text is not UTF-8: save it so, for example with iconv -f LATIN1 -t UTF-8)`},
		"carriage returns":  {"1,2,n\r2,3,p\r", nil, `t.csv: lines end with a carriage return alone (old Mac text): end them with line feeds, for example with tr '\r' '\n'`},
		"JSON lines":        {"{\"a\": 1, \"b\": 2, \"y\": \"n\"}\n", nil, `t.csv: this is JSON, expected CSV: set format: jsonl, an object on each line`},
		"a web page":        {"<!DOCTYPE html>\n<html>\n", nil, `t.csv: this is a web page, expected CSV: get the file again: the page tells why it did not come`},
		"UTF-16":            {utf16Of("1,2,n\n", "\xff\xfe", false), nil, `t.csv: this is UTF-16 text, expected CSV in UTF-8: save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8`},
		"UTF-16, header":    {utf16Of("a,b,y\n", "\xfe\xff", true), headed, `t.csv: this is UTF-16 text, expected CSV in UTF-8: save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8`},
		"UTF-16, no mark":   {utf16Of("1,2,n\n", "", false), nil, `t.csv: this is UTF-16 text (little-endian, without its mark), expected CSV in UTF-8: save it as UTF-8, for example with iconv -f UTF-16LE -t UTF-8`},
		"UTF-16, Cyrillic":  {utf16Of(strings.Repeat("1,2,нет\n3,4,данные\n", 60), "", false), nil, `t.csv: this is UTF-16 text (little-endian, without its mark), expected CSV in UTF-8: save it as UTF-8, for example with iconv -f UTF-16LE -t UTF-8`},
		"UTF-16, big, Han":  {utf16Of("1,2,中文中文\n", "", true), nil, `t.csv: this is UTF-16 text (big-endian, without its mark), expected CSV in UTF-8: save it as UTF-8, for example with iconv -f UTF-16BE -t UTF-8`},
		"small integers":    {"1\x00\x02\x00\x03\x00\x04\x01\x05\x02", nil, `t.csv: this is a binary file, expected CSV in UTF-8: name a file of text, or set the format that it has`},
		"UTF-16, big":       {utf16Of("1,2,n\n", "", true), nil, `t.csv: this is UTF-16 text (big-endian, without its mark), expected CSV in UTF-8: save it as UTF-8, for example with iconv -f UTF-16BE -t UTF-8`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := csvError(t, c.text, c.change); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// utf16Of returns a text in UTF-16, after a byte order mark.
func utf16Of(text, mark string, big bool) string {
	out := []byte(mark)
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

// TestLongRow: a quote that is not closed does not read the rest of a large file into memory.
func TestLongRow(t *testing.T) {
	testkit.NotConcurrent(t)
	f, err := newCSVFormat(CSVOptions{Columns: []ColumnSpec{{Name: "a"}, {Name: "b"}, {Name: "y", DType: "string"}}})
	if err != nil {
		t.Fatal(err)
	}
	f.longest = 1 << 20
	path := write(t, "t.csv", append([]byte("1,2,n\n3,\"4,p\n"), bytes.Repeat([]byte("5,6,n\n"), 1<<20)...))
	r, err := f.open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	err = r.skip(t.Context(), 2)
	if want := path + ":2:3: a row is too long, over 1 MiB: is this quote never closed?"; err == nil || err.Error() != want {
		t.Errorf("got %v, expected %s", err, want)
	}
	if r.limit.left < -1<<16 {
		t.Errorf("%d bytes were read beyond the limit", -r.limit.left)
	}
}

// TestLongRowWithQuotes: the search for the quote that is not closed ends after twice the longest row.
func TestLongRowWithQuotes(t *testing.T) {
	testkit.NotConcurrent(t)
	const longest = 1 << 20
	for at, want := range map[int]int{2*longest - 1: 2 * longest, 2 * longest: 3} {
		f, err := newCSVFormat(CSVOptions{Columns: []ColumnSpec{{Name: "a"}, {Name: "y", DType: "string"}}})
		if err != nil {
			t.Fatal(err)
		}
		f.longest = longest
		row := `3,"4",`
		row += strings.Repeat("p", at-len(row)-1) + ",\"n\n"
		path := write(t, "t.csv", []byte(row))
		r, err := f.open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		err = r.skip(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s:1:%d: a row is too long", path, want)) {
			t.Errorf("a quote after %d characters: got %v, expected that of column %d", at, err, want)
		}
		r.close()
	}
}

// TestAlignedColumns: cells separated by white space equal the cells of the same file with commas, including
// quotes, from any row on.
func TestAlignedColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 40).Draw(t, "rows")
		space := rapid.StringOfN(rapid.SampledFrom([]rune(" \t")), 1, 5, -1)
		var aligned, commas strings.Builder
		for range rows {
			if rapid.Bool().Draw(t, "indented") {
				aligned.WriteString(space.Draw(t, "indent"))
			}
			for i := range 3 {
				word := rapid.StringOfN(rapid.SampledFrom([]rune("aé\" \t,;")), 0, 6, -1).Draw(t, "word")
				word = "x" + word + "x" // csv drops space around cells
				cell := word
				if strings.ContainsAny(word, "\" \t") || rapid.Bool().Draw(t, "quoted") {
					cell = `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
				}
				aligned.WriteString(cell)
				fmt.Fprintf(&commas, `"%s"`, strings.ReplaceAll(word, `"`, `""`))
				aligned.WriteString(space.Draw(t, "space"))
				commas.WriteString([]string{",", ",", "\n"}[i])
			}
			aligned.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", "\n \t\n"}).Draw(t, "end"))
		}
		columns := []ColumnSpec{{Name: "a", DType: "string"}, {Name: "b", DType: "string"}, {Name: "c", DType: "string"}}
		want, got := rowsOf(t, commas.String(), CSVOptions{Columns: columns}), rowsOf(t, aligned.String(), CSVOptions{Columns: columns, Delimiter: "whitespace"})
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, expected %q, of %q", got, want, aligned.String())
		}
	})
}

// rowsOf reads all cells of a text, and skips some rows.
func rowsOf(t *rapid.T, text string, o CSVOptions) []string {
	f, err := newCSVFormat(o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for skip := range int64(2) {
		r, err := f.reader(context.Background(), "t", strings.NewReader(text))
		if err == nil {
			err = r.skip(context.Background(), skip)
		}
		for err == nil {
			var rec arrow.Record
			if rec, err = r.read(context.Background(), 1); err == nil {
				out = append(out, fmt.Sprint(rec.Columns()))
				rec.Release()
			}
		}
		if !eof(err) {
			t.Fatalf("%v, in %q", err, text)
		}
		r.close()
	}
	return out
}

// TestDecimalComma: a comma before the fraction, points between groups of three digits.
func TestDecimalComma(t *testing.T) {
	columns := []ColumnSpec{{Name: "x", DType: "float64"}, {Name: "n", DType: "string"}}
	const none = -1
	for cell, want := range map[string]float64{
		"1,5": 1.5, "-0,25": -0.25, "7": 7, "1.234": 1234, "1.234.567,5": 1234567.5, "+12.345": 12345, "1,5e3": 1500, "1234,5": 1234.5,
		"1.5": none, "1.2345": none, "1.23,4": none, ".123": none, "1,2,3": none, "1234.567": none,
	} {
		f, err := newCSVFormat(CSVOptions{Columns: columns, Delimiter: ";", Decimal: ","})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.reader(context.Background(), "t", strings.NewReader(cell+";1,5\n"))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := r.read(context.Background(), 1)
		if want == none {
			if err == nil {
				t.Errorf("%s: got %v, expected an error", cell, rec.Columns())
			}
			continue
		}
		if err != nil || rec.Column(0).(*array.Float64).Value(0) != want || string(rec.Column(1).(*array.Binary).Value(0)) != "1,5" {
			t.Errorf("%s: got %v, %v, expected %v", cell, rec, err, want)
		}
	}
	for _, o := range []CSVOptions{{Columns: columns, Decimal: ","}, {Columns: columns, Decimal: ";"}} {
		if _, err := newCSVFormat(o); err == nil {
			t.Errorf("decimal %q, delimiter %q: expected an error", o.Decimal, o.Delimiter)
		}
	}
}
