package inputs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

// writtenAsText has values whose types have no tensor form, two of each type, and how they are read.
var writtenAsText = []struct {
	name  string
	t     arrow.DataType
	cells [2]string // as JSON
	want  [2]string
	dtype string
}{
	{"date32", arrow.FixedWidthTypes.Date32, [2]string{`"1969-12-31"`, `"2024-02-29"`}, [2]string{"1969-12-31", "2024-02-29"}, "string"},
	{"date64", arrow.FixedWidthTypes.Date64, [2]string{`"0001-01-01"`, `"9999-12-31"`}, [2]string{"0001-01-01", "9999-12-31"}, "string"},
	{"time32", arrow.FixedWidthTypes.Time32ms, [2]string{`"00:00:00"`, `"23:59:59.999"`}, [2]string{"00:00:00.000", "23:59:59.999"}, "string"},
	{"time64", arrow.FixedWidthTypes.Time64us, [2]string{`"00:00:00.000001"`, `"23:59:59"`}, [2]string{"00:00:00.000001", "23:59:59.000000"}, "string"},
	{"zone", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, [2]string{`"2024-07-01 12:00:00"`, `"1900-01-01 00:00:00.5"`}, [2]string{"2024-07-01 12:00:00Z", "1900-01-01 00:00:00.5Z"}, "string"},
	{"decimal128", &arrow.Decimal128Type{Precision: 20, Scale: 2}, [2]string{`"-12.50"`, `"123456789012345678.91"`}, [2]string{"-12.50", "123456789012345678.91"}, "float64"},
	{"decimal256", &arrow.Decimal256Type{Precision: 40, Scale: 0}, [2]string{`"1"`, `"1234567890123456789012345678901234"`}, [2]string{"1", "1234567890123456789012345678901234"}, "float64"},
}

// textFile writes columns with two values and a null each as Arrow or Parquet. It leaves out types that Parquet lacks.
func textFile(t *testing.T, format string) (path string, names []string) {
	t.Helper()
	var fields []arrow.Field
	var row [3][]string
	for _, c := range writtenAsText {
		if format == "parquet" && c.t.ID() == arrow.DECIMAL256 { // arrow v15 does not write it
			continue
		}
		fields, names = append(fields, arrow.Field{Name: c.name, Type: c.t, Nullable: true}), append(names, c.name)
		for r, cell := range []string{c.cells[0], c.cells[1], "null"} {
			row[r] = append(row[r], `"`+c.name+`": `+cell)
		}
	}
	var text []string
	for _, r := range row {
		text = append(text, "{"+strings.Join(r, ", ")+"}")
	}
	schema := arrow.NewSchema(fields, nil)
	rec, _, err := array.RecordFromJSON(checked(t), schema, strings.NewReader("["+strings.Join(text, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	var b bytes.Buffer
	if format == "parquet" {
		w, err := pqarrow.NewFileWriter(schema, &b, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
		if err == nil {
			err = w.Write(rec)
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	} else {
		w := ipc.NewWriter(&b, ipc.WithSchema(schema))
		if err := w.Write(rec); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(t.TempDir(), "table."+format)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, names
}

// TestTypesAsText: dates, times and decimals are read as text if a dtype is declared, with nulls as the default, and refused otherwise.
func TestTypesAsText(t *testing.T) {
	for _, format := range []string{"arrow", "parquet"} {
		t.Run(format, func(t *testing.T) {
			path, names := textFile(t, format)
			columns, err := FileColumns(format, path)
			if err != nil {
				t.Fatal(err)
			}
			var specs []ColumnSpec
			for i, c := range columns {
				if c.Err != nil || !c.Declare || c.DType.String() != writtenAsText[i].dtype {
					t.Errorf("%s: %s, declare %t, error %v, expected %s", c.Name, c.DType, c.Declare, c.Err, writtenAsText[i].dtype)
				}
				specs = append(specs, ColumnSpec{Name: c.Name, DType: "string", Default: "none"})
			}
			rows := rowsOfInput(t, Spec{Format: format, Files: []string{path}, Columns: specs}, Context{Allocator: checked(t)})
			if len(rows) != 3 {
				t.Fatalf("got %d rows, expected 3", len(rows))
			}
			for i, name := range names {
				for r, want := range []string{writtenAsText[i].want[0], writtenAsText[i].want[1], "none"} {
					if !strings.Contains(rows[r], want) {
						t.Errorf("%s, row %d: expected %q in %s", name, r, want, rows[r])
					}
				}
			}
			for _, c := range []struct{ spec, want string }{{"date32", "declare it with dtype: string"}, {"decimal128", "declare it with dtype: float64"}} {
				if err := readAll(Spec{Format: format, Files: []string{path}, Columns: []ColumnSpec{{Name: c.spec}}}, Context{}); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s without a dtype: got %v, expected %q", c.spec, err, c.want)
				}
			}
			if err := readAll(Spec{Format: format, Files: []string{path}, Columns: []ColumnSpec{{Name: "date32", DType: "float64", Default: 0}}}, Context{}); err == nil || !strings.Contains(err.Error(), `row 1 of the file: value "1969-12-31" is not a`) {
				t.Errorf("a date as a number: got %v", err)
			}
		})
	}
}
