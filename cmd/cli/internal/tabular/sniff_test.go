package tabular_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// TestForm: delimiter, header, decimal mark, columns and rows of each text are the ones that a person sees.
func TestForm(t *testing.T) {
	for _, c := range []struct {
		name, content, label string
		want                 string // delimiter, header, decimal mark, names, rows
	}{
		{"commas", "a,b\n1,x\n2,y\n", "", `"," true . [a b] 2`},
		{"semicolons", "a;b\n1;x\n2;y\n", "", `";" true . [a b] 2`},
		{"tabs", "a\tb\n1\tx y\n2\ty, z\n", "", `"\t" true . [a b] 2`},
		{"pipes", "a|b\n1|x\n2|y\n", "", `"|" true . [a b] 2`},
		{"no header", "1,x\n2,y\n3,x\n", "", `"," false . [column1 column2] 3`},
		{"names only by the label", "x,y\nx,y\ny,x\n", "y", `"," true . [x y] 2`},
		{"texts without header", "red,yes\nblue,no\nred,no\nblue,yes\n", "", `"," false . [column1 column2] 4`},
		{"names again", "a,b,c\nx,u,p\ny,v,q\na,b,c\nx,w,r\n", "", `"," true . [a b c] 3`},
		{"a first row of values again", "x,u,p\ny,u,q\nx,u,p\nx,w,p\n", "", `"," false . [column1 column2 column3] 4`},
		{"quoted line breaks", "a,b\n1,\"x\ny\"\n2,\"u, \"\"v\"\"\nw\"\n", "", `"," true . [a b] 2`},
		{"decimal commas", "a;b\n1,5;x\n2,5;y\n", "", `";" true , [a b] 2`},
		{"decimal commas without header", "1,5;2,5\n3,5;4,5\n", "", `";" false , [column1 column2] 2`},
		{"commas, and lists in texts", "a,b\n1,x;y\n2,y;z\n", "", `"," true . [a b] 2`},
		{"names in brackets", "[a],[b]\n1,x\n2,y\n", "", `"," true . [[a] [b]] 2`},
		{"byte order mark", "\xef\xbb\xbfa,b\n1,2\n", "", `"," true . [a b] 1`},
		{"byte order mark and quotes", "\xef\xbb\xbf\"a\",\"b\"\n1,2\n", "", `"," true . [a b] 1`},
		{"CRLF", "a,b\r\n1,x\r\n2,y\r\n", "", `"," true . [a b] 2`},
		{"no line break at the end", "a,b\n1,2\n3,4", "", `"," true . [a b] 2`},
		{"spaces", "a b c\n1 x 2\n3 y 4\n", "", `"whitespace" true . [a b c] 2`},
		{"aligned without header", "  18.0   8  3504.\n  9.5   4  199.\n", "", `"whitespace" false . [column1 column2 column3] 2`},
		{"a tab before names", "18. 8 70 1\t\"ford pinto\"\n15. 8 70 3\t\"buick\"\n", "", `"whitespace" false . [column1 column2 column3 column4 column5] 2`},
		{"dates and tabs", "a\tb\n2021-01-01 10:00\t2021-01-02 11:00\n2021-01-03 10:00\t2021-01-02 12:00\n", "", `"\t" true . [a b] 2`},
		{"words in commas", "a,b\nx y,1 u v\nx z,2 u v\n", "", `"," true . [a b] 2`},
		{"texts of one column", "a text\nof some\nwords here now\n", "", `"," true . [a text] 2`},
		{"one column", "a\n1\n2\n", "", `"," true . [a] 2`},
		{"one row of numbers", "1,2\n", "", `"," false . [column1 column2] 1`},
		{"space around cells", " a , b\n 1 , 2 \n", "", `"," true . [a b] 1`},
		{"number named like a year", "2019,2020\n1,2\n", "2020", `"," true . [2019 2020] 1`},
		{"missing cell in the first row", "1,?\n2,3\n", "", `"," false . [column1 column2] 2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := tabular.Read(t.Context(), write(t, "t.csv", c.content), tabular.Options{Label: c.label})
			if p == nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%q %v %s %v %d", p.Form.Delimiter, p.Form.Header, p.Form.Decimal, p.Names(), p.Rows); got != c.want {
				t.Errorf("got %s, expected %s", got, c.want)
			}
		})
	}
}

// TestRefused: files that are no tables are refused with a message that says why.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", 17<<20)
	for _, c := range []struct{ name, file, content, want string }{
		{"empty", "t.csv", "", "is empty"},
		{"blank", "t.csv", " \n\n", "is empty"},
		{"binary", "t.csv", "a,b\n\x00\x01,2\n", "is not a text, Parquet or Arrow file"},
		{"UTF-16", "t.csv", "\xff\xfea\x00,\x00b\x00", "iconv -f utf-16"},
		{"workbook", "t.csv", "PK\x03\x04\xff\xfe\x00", "save the sheet as CSV"},
		{"lines of carriage returns", "t.csv", "a,b\r1,2\r3,4\r", `tr '\r' '\n'`},
		{"line for spreadsheets", "t.csv", "sep=,\na,b,c\n1,2,3\n", "the first line, sep=,, is for spreadsheets: remove it"},
		{"line for spreadsheets, two columns", "t.csv", "sep=;\r\na;b\r\n1;2\r\n", "the first line, sep=;, is for spreadsheets: remove it"},
		{"Latin-1", "t.csv", "a,b\nM\xfcnchen,1\n", "is not UTF-8"},
		{"Latin-1 at the end", "t.csv", "a,b\n1,caf\xe9", "is not UTF-8"},
		{"Latin-1 below the part that is sniffed", "t.csv", "a,b\n" + strings.Repeat("1,x\n", 70_000) + "1,caf\xe9\n", "line 70002 is not UTF-8"},
		{"cut off last line", "t.csv", "a,b\n1,2\n3", "line 3 has 1 cells, expected 2"},
		{"cut off in quotes", "t.csv", "a,b\n1,\"x\n", "quote"},
		{"quote never closed", "t.csv", "a,b\n1,\"" + long, "a row has more than 16 MiB"},
		{"object never closed", "t.jsonl", `{"a":"` + long, "a row has more than 16 MiB"},
		{"no file", "", "", "does not exist"},
		{"damaged gzip", "t.csv.gz", "\x1f\x8b\x08\x00,2\n", "gzip"},
		{"damaged JSON", "t.jsonl", "{\"a\":1}\n{\"a\":\n", "expected a JSON object"},
		{"damaged JSON below the part that is sniffed", "t.jsonl", strings.Repeat("{\"a\":1}\n", 1500) + "[1]\n", "object 1501"},
		{"too many columns", "t.csv", strings.Repeat("a,", 1<<15) + "a\n", "32769 columns: expected at most 32768"},
		{"JSON array", "t.json", "[\n {\"a\": 1},\n {\"a\": 2}\n]", "is a JSON array: expected JSON lines"},
		{"JSON array that is cut", "t.json", "[{\"a\": \"" + strings.Repeat("x", 1<<18), "is a JSON array"},
		{"JSON array of numbers", "t.json", "[1, 2]", "is a JSON array"},
		{"damaged Parquet", "t.parquet", "PAR1 and more PAR1", "t.parquet"},
		{"damaged Arrow", "t.arrow", "ARROW1 and more", "t.arrow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := t.TempDir() + "/none.csv"
			if c.file != "" {
				path = write(t, c.file, c.content)
			}
			p, err := tabular.Read(t.Context(), path, tabular.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v and error %v, expected one with %q", p, err, c.want)
			}
		})
	}
}

func TestNamesWithoutRows(t *testing.T) {
	_, err := tabular.Read(t.Context(), write(t, "t.csv", "a,b\n"), tabular.Options{Label: "b"})
	if err == nil || !strings.Contains(err.Error(), "has no rows") {
		t.Errorf("got %v", err)
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte("a;b\n1;2\n"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if p := read(t, "t.csv.gz", b.String(), tabular.Options{}); p.Form.Delimiter != ";" || p.Rows != 1 {
		t.Errorf("got %+v", p)
	}
}

// TestGivenForm: a given form is used, whatever the file looks like.
func TestGivenForm(t *testing.T) {
	form := tabular.Form{Format: "csv", Delimiter: "|", Decimal: "."}
	if p := read(t, "t.csv", "a,b\n1,2\n", tabular.Options{Form: &form}); len(p.Columns) != 1 || p.Rows != 2 {
		t.Errorf("got %d columns and %d rows, expected 1 and 2", len(p.Columns), p.Rows)
	}
}

// TestNamesAgain: rows that repeat the header are counted separately, and the label's name does not become a class.
func TestNamesAgain(t *testing.T) {
	part := table(20, "a,b,y", format("%d", 3, 0), format("%d.5", 1, 7), format("k%d", 1, 2))
	p := read(t, "t.csv", part+" a, b,y\n"+part, tabular.Options{Label: "y"})
	if p.Rows != 40 || p.Repeated != 2 || len(p.Label.Classes) != 2 || p.Columns[0].Kind != tabular.Number || p.Columns[0].Missing != 0 {
		t.Errorf("%d rows, %d repeated, classes %v, column %+v", p.Rows, p.Repeated, p.Label.Classes, p.Columns[0])
	}
	if h := strings.Join(p.Hints(), "\n"); !strings.Contains(h, "2 repeat the names of the columns") {
		t.Errorf("hints %q", h)
	}
}

// TestPointsBesideCommas: in a file with decimal commas, points separate groups of three digits. A column without commas whose points
// cannot be such separators is read with decimal points.
func TestPointsBesideCommas(t *testing.T) {
	p := read(t, "t.csv", "a;b;c;d;e;f;y\n1,5;0.25;1.234;1.234,5;0.123;1,1;k\n2,5;-2.5;12.000;2,5;1.234;1,2;l\n3,5;1000;1;3,5;-0.456;1,3;k\n", tabular.Options{Label: "y"})
	for i, want := range []string{" 1.5 3.5", "number -2.5 1000", " 1 12000", " 2.5 1234.5", "number -0.456 1.234"} {
		c := p.Columns[i]
		if got := fmt.Sprintf("%s %g %g", c.Reading, c.Min, c.Max); got != want {
			t.Errorf("column %s: got %q, expected %q", c.Name, got, want)
		}
	}
}
