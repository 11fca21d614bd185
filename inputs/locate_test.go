package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

var errBadValue = errors.New("bad value")

// refuse returns a check that a column has no value like bad.
func refuse(s *Schema, column string, bad float64) func(context.Context, arrow.Record) error {
	return func(_ context.Context, rec arrow.Record) error {
		ts, err := Tensors(rec, s)
		if err != nil {
			return err
		}
		t := ts[s.Index(column)]
		for i := range t.Tensor.Len() {
			if t.Tensor.Float(i) == bad {
				each := t.Tensor.Len() / int(rec.NumRows())
				return &RowError{Column: column, Row: int64(i / each), InBatch: true, Element: i % each, Value: fmt.Sprint(bad), Err: errBadValue}
			}
		}
		return nil
	}
}

// TestLocate: a row is found in its file for every order of the pipeline, and only if the pipeline
// delivers it.
func TestLocate(t *testing.T) {
	double := Mapper{Name: "double", Map: func(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) {
		in.Retain()
		return in, nil
	}}
	odd := func(_ context.Context, rec arrow.Record, keep []bool) error {
		ts, err := Tensors(rec, adoptSchema(rec))
		for i := range keep {
			keep[i] = err == nil && int(ts[0].Tensor.Float(i))%2 == 1
		}
		return err
	}
	pipelines := map[string]struct {
		steps []Transform
		has   func(row int) bool // of 600
	}{
		"nothing":               {nil, func(int) bool { return true }},
		"shuffled, repeated":    {[]Transform{Shuffle(7, 1), Repeat(0), Batch(4, true), Prefetch(2)}, func(int) bool { return true }},
		"cached":                {[]Transform{Cache(), Shuffle(1000, 1), Repeat(3), Batch(4, false)}, func(int) bool { return true }},
		"skip":                  {[]Transform{Skip(300), Shuffle(7, 1), Batch(5, false)}, func(row int) bool { return row >= 300 }},
		"take":                  {[]Transform{Take(299), Shuffle(7, 1), Repeat(0), Batch(5, false)}, func(row int) bool { return row < 299 }},
		"a shard":               {[]Transform{Shard(1, 3), Shuffle(7, 1), Batch(5, false)}, func(row int) bool { return row%3 == 1 }},
		"folds of what is left": {[]Transform{Skip(10), Fold(5, 2, false), Batch(5, false)}, func(row int) bool { return row >= 10 && (row-10)%5 != 2 }},
		"mapped":                {[]Transform{Batch(64, false), ParallelMap(double, 3), Prefetch(1)}, func(int) bool { return true }},
		"filtered":              {[]Transform{Filter("odd", odd), Shuffle(10, 1), Batch(64, false)}, func(row int) bool { return row%2 == 1 }},
		// Rows after a repeat or a shuffle are not checked.
		"skip of a repeat":   {[]Transform{Repeat(0), Skip(1000), Batch(5, false)}, func(int) bool { return true }},
		"taken of a shuffle": {[]Transform{Shuffle(600, 1), Take(1), Repeat(0), Batch(1, false)}, func(int) bool { return true }},
	}
	for name, p := range pipelines {
		t.Run(name, func(t *testing.T) {
			var files []string
			for f := range 2 {
				var b strings.Builder
				b.WriteString("x,y0,y1\n# a comment\n\n")
				for i := range 300 {
					row := 300*f + i
					fmt.Fprintf(&b, "%d,%d, %d\n", row, row, row)
				}
				files = append(files, write(t, "f.csv", []byte(b.String())))
			}
			ds, err := CSV(files, CSVOptions{Header: true, Comment: "#", Allocator: checked(t),
				Columns: []ColumnSpec{{Name: "x"}, {Name: "y0", Shape: []int{2}}}})
			if err != nil {
				t.Fatal(err)
			}
			ds = Pipe(ds, p.steps...)
			for _, row := range []int{0, 1, 9, 10, 12, 255, 256, 298, 299, 300, 301, 599, 600} {
				got := Locate(context.Background(), ds, refuse(ds.Schema(), "x", float64(row)))
				want := ""
				if row < 600 && p.has(row) {
					want = fmt.Sprintf("%s:%d:1: column \"x\": value %d: bad value", files[row/300], row%300+4, row)
				}
				switch {
				case got == nil && want != "", got != nil && got.Error() != want:
					t.Errorf("row %d: got %v, expected %q", row, got, want)
				case got != nil && !errors.Is(got, errBadValue):
					t.Errorf("row %d: %v does not wrap what check returned", row, got)
				}
			}
			at := Locate(context.Background(), ds, func(ctx context.Context, rec arrow.Record) error {
				err := refuse(ds.Schema(), "y0", 301)(ctx, rec)
				var e *RowError
				if errors.As(err, &e) {
					e.Element = 1
				}
				return err
			})
			if want := fmt.Sprintf("%s:5:10: column \"y0\": ", files[1]); p.has(301) && (at == nil || !strings.HasPrefix(at.Error(), want)) {
				t.Errorf("element 1: got %v, expected %s", at, want)
			}
		})
	}
}

// TestLocateMeasured: measuring a pass does not change the place.
func TestLocateMeasured(t *testing.T) {
	path := write(t, "a.csv", []byte("1\n2\n3\n"))
	ds, err := CSV([]string{path}, CSVOptions{Columns: []ColumnSpec{{Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := Locate(WithMeter(t.Context(), NewMeter()), ds, refuse(ds.Schema(), "x", 3))
	if got == nil || got.File != path || got.Line != 3 {
		t.Errorf("got %v", got)
	}
}

// adoptSchema returns the schema of a record.
func adoptSchema(rec arrow.Record) *Schema {
	s, err := SchemaFromArrow(rec.Schema())
	if err != nil {
		panic(err)
	}
	return s
}

// TestLocateInFormats: each format gives the place of a row in the same form as its other errors.
func TestLocateInFormats(t *testing.T) {
	columns := []ColumnSpec{{Name: "a"}, {Name: "b"}}
	arrows := ArrowOptions{Columns: columns, Allocator: checked(t)}
	stream := func() []byte {
		src, err := Slices(nil, Slice("a", Feature, []float32{0, 1, 2}), Slice("b", Feature, []float32{0, 10, 20}))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := src.Gather(context.Background(), []int64{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Release()
		var b bytes.Buffer
		w := ipc.NewWriter(&b, ipc.WithSchema(rec.Schema()))
		if err := errors.Join(w.Write(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one := func(v float32) map[string]any { return map[string]any{"a": []float32{v}, "b": []float32{10 * v}} }
	for _, c := range []struct {
		name string
		data []byte
		open func(file string) (Dataset, error)
		want string // of the row whose b is 20
	}{
		{"x.csv", []byte("0,0\n\n\"1\",\"10\"\n2,20\n"), func(f string) (Dataset, error) {
			return CSV([]string{f}, CSVOptions{Columns: columns, Allocator: arrows.Allocator})
		}, `x.csv:4:3: column "b": value 20: bad value`},
		{"aligned.csv", []byte("0  0\n1 10\n2   20\n"), func(f string) (Dataset, error) {
			return CSV([]string{f}, CSVOptions{Columns: columns, Delimiter: "whitespace", Allocator: arrows.Allocator})
		}, `aligned.csv:3:5: column "b": value 20: bad value`},
		{"packed.csv", packed(t, []byte("0,0\n1,10\n2,20\n")), func(f string) (Dataset, error) {
			return CSV([]string{f}, CSVOptions{Columns: columns, Allocator: arrows.Allocator})
		}, `packed.csv:3:3: column "b": value 20: bad value`},
		{"x.jsonl", []byte("{\"a\": 0, \"b\": 0}\n\n{\"a\": 1, \"b\": 10}\n{\"a\": 2, \"b\": 20}\n"), func(f string) (Dataset, error) {
			return JSONL([]string{f}, arrows)
		}, `x.jsonl:4: column "b": value 20: bad value`},
		{"x.tfrecord", records(t, one(0), one(1), one(2)), func(f string) (Dataset, error) {
			return TFRecord([]string{f}, arrows)
		}, `x.tfrecord: record 3: column "b": value 20: bad value`},
		{"x.arrow", stream(), func(f string) (Dataset, error) { return ArrowFile([]string{f}, arrows) },
			`x.arrow: row 3: column "b": value 20: bad value`},
		{"memory", nil, func(string) (Dataset, error) {
			return Slices(arrows.Allocator, Slice("a", Feature, []float32{0, 1, 2}), Slice("b", Feature, []float32{0, 10, 20}))
		}, `row 3: column "b": value 20: bad value`},
	} {
		file := write(t, c.name, c.data)
		ds, err := c.open(file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		ds = Pipe(ds, Shuffle(10, 1), Repeat(0), Batch(2, false))
		got := Locate(context.Background(), ds, refuse(ds.Schema(), "b", 20))
		if got == nil || strings.TrimPrefix(got.Error(), filepath.Dir(file)+"/") != c.want {
			t.Errorf("%s: got %v, expected %s", c.name, got, c.want)
		}
	}
}

// TestLocateFindsFailuresOfSteps: the failure of a step at a row has a place, like the failure of a check.
// Failures without a row, an ended context and data of other packages have none.
func TestLocateFindsFailuresOfSteps(t *testing.T) {
	src := numbers(t, checked(t), 300)
	failing := Mapper{Name: "fails", Map: func(_ context.Context, in arrow.Record, _ Rows) (arrow.Record, error) {
		if err := refuse(src.Schema(), "id", 270)(context.Background(), in); err != nil {
			return nil, err
		}
		in.Retain()
		return in, nil
	}}
	pass := func(context.Context, arrow.Record) error { return nil }
	ds := Pipe(src, Shuffle(20, 1), Repeat(0), Batch(16, false), Map(failing))
	if got := Locate(context.Background(), ds, pass); got == nil || got.Error() != `row 271: column "id": value 270: bad value` {
		t.Errorf("got %v", got)
	}
	if got := Locate(context.Background(), src, pass); got != nil {
		t.Errorf("got %v where nothing fails", got)
	}
	whole := func(_ context.Context, rec arrow.Record) error {
		if rec.NumRows() > 1 {
			return errBadValue
		}
		return nil
	}
	if got := Locate(context.Background(), src, whole); got != nil {
		t.Errorf("got %v where no row fails by itself", got)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if got := Locate(ended, ds, pass); got != nil {
		t.Errorf("got %v of an ended context", got)
	}
	if got := Locate(context.Background(), Pipe(opaqueDataset{src}, Map(failing)), pass); got != nil {
		t.Errorf("got %v of data of another package", got)
	}
	endless, err := Glyphs(1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Locate(context.Background(), Pipe(endless, Batch(2, false)), pass); got != nil {
		t.Errorf("got %v of data without an end", got)
	}
	if got := Locate(context.Background(), Pipe(src, Skip(-1)), pass); got != nil {
		t.Errorf("got %v of a pipeline that cannot be", got)
	}
}
