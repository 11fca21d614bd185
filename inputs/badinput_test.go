package inputs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes a file into a fresh folder and returns its path.
func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll opens a Spec and reads it to the end.
func readAll(spec Spec, ic Context) error {
	spec.BatchSize = 2
	ds, err := Open(context.Background(), spec, ic)
	if err != nil {
		return err
	}
	it, err := ds.Iterate(context.Background())
	if err != nil {
		return err
	}
	defer it.Close()
	for {
		rec, err := it.Next(context.Background())
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		rec.Release()
	}
}

func idxFile(kind byte, dims []byte, body ...byte) []byte {
	out := []byte{0, 0, kind, byte(len(dims))}
	for _, d := range dims {
		out = append(out, 0, 0, 0, d)
	}
	return append(out, body...)
}

func TestBadInput(t *testing.T) {
	xy := []ColumnSpec{{Name: "x"}, {Name: "y", Role: Label, Vocabulary: []string{"a", "b"}}}
	csv := func(body string) Spec {
		return Spec{Format: "csv", Files: []string{write(t, "t.csv", []byte(body))}, Columns: xy}
	}
	header := func(body string) Spec { s := csv(body); s.Header = true; return s }
	images, labels := idxFile(8, []byte{2, 1, 2}, 1, 2, 3, 4), idxFile(8, []byte{2}, 0, 1)
	idx := func(images, labels []byte) Spec {
		return Spec{Format: "idx", Images: write(t, "images", images), Labels: write(t, "labels", labels)}
	}
	cifar := func(data []byte) Spec { return Spec{Format: "cifar10", Files: []string{write(t, "c.bin", data)}} }
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"no format":        {Spec{}, []string{"input has no format", "glyphs, idx"}},
		"unknown format":   {Spec{Format: "xls"}, []string{`unknown input format "xls"`}},
		"missing file":     {Spec{Format: "cifar10", Files: []string{"nowhere.bin"}}, []string{"nowhere.bin does not exist", "data_dir"}},
		"missing glob":     {Spec{Format: "cifar10", Files: []string{"nowhere*.bin"}}, []string{`no file matches "nowhere*.bin"`}},
		"no files":         {Spec{Format: "csv", Columns: xy}, []string{"files: got [], expected at least one file name"}},
		"folder":           {Spec{Format: "csv", Files: []string{t.TempDir()}, Columns: xy}, []string{"is a folder"}},
		"idx magic":        {idx([]byte("hello, world"), labels), []string{"images: this is text, expected an IDX file"}},
		"idx other magic":  {idx([]byte("\x01\x02\x03\x04"), labels), []string{"wrong magic number 01 02 03 04", "images"}},
		"idx short":        {idx(images[:17], labels), []string{"1 bytes of data", "cut short"}},
		"idx long":         {idx(append(bytes.Clone(images), 9), labels), []string{"5 bytes of data"}},
		"idx header":       {idx(images[:9], labels), []string{"ends within its header"}},
		"idx huge":         {idx(append([]byte{0, 0, 8, 3}, bytes.Repeat([]byte{255}, 12)...), labels), []string{"too many elements"}},
		"idx counts":       {idx(images, idxFile(8, []byte{3}, 0, 1, 1)), []string{"3 labels", "2 images"}},
		"idx label rank":   {idx(images, images), []string{"expected one dimension"}},
		"idx float labels": {idx(images, idxFile(13, []byte{2}, 0, 0, 0, 0, 0, 0, 0, 0)), []string{"labels are float32"}},
		"idx empty":        {idx(idxFile(8, []byte{0, 1, 1}), idxFile(8, []byte{0})), []string{"empty"}},
		"idx gzip":         {idx(packed(t, images)[:20], labels), []string{"cut short"}},
		"cifar size":       {cifar(make([]byte, 3072)), []string{"size 3072 is not a multiple of 3073"}},
		"cifar label":      {cifar(bytes.Repeat([]byte{17}, 3073)), []string{"image 0 has label 17"}},
		"cifar empty":      {cifar(nil), []string{"empty"}},
		"csv number":       {csv("1,a\n2,b\n3,b\n x,a\n"), []string{"t.csv:4:2", `column "x"`, `"x" is not a float32 number`}},
		"csv names":        {csv("x,y\n1,a\n"), []string{"t.csv:1: the first row holds names (x, y): set header: true"}},
		"csv ragged":       {csv("1,a\n2\n"), []string{"t.csv:2", "row has 1 cells, expected 2"}},
		"csv too many":     {csv("1,a\n2,b,3\n"), []string{"t.csv:2", "row has 3 cells, expected 2"}},
		"csv one too many": {csv("1,a,\n"), []string{"t.csv:1", "row has 3 cells, expected 2"}},
		"csv wider header": {header("x,y\n1,a,2\n"), []string{"t.csv:2", "row has 3 cells, expected 2"}},
		"csv label":        {csv("1,a\n1,c\n"), []string{"t.csv:2:3", `unknown label "c", expected one of a, b`}},
		"csv missing":      {csv("1,a\n,b\n"), []string{"t.csv:2:1", `column "x"`, "missing", "default"}},
		"csv quotes":       {csv("1,a\n\"2,b\n"), []string{"t.csv:2", "quote"}},
		"csv empty":        {csv(""), []string{"empty", "t.csv"}},
		"csv header only":  {header("x,y\n"), []string{"empty", "t.csv"}},
		"csv no header":    {header(""), []string{"t.csv", "no header"}},
		"csv unknown":      {header("x,z\n1,2\n"), []string{"t.csv:1", `column "y"`, "unknown column", "x, z"}},
		"csv header twice": {header("x,y,x\n1,a,2\n"), []string{"t.csv:1", `column "x"`, "this name twice"}},
		"csv no columns":   {Spec{Format: "csv", Files: []string{write(t, "t.csv", nil)}}, []string{"columns: got nothing, expected the columns of the file"}},
		"csv delimiter":    {Spec{Format: "csv", Delimiter: "::", Files: []string{write(t, "t.csv", nil)}, Columns: xy}, []string{"one character"}},
		"csv same name":    {Spec{Format: "csv", Files: []string{write(t, "t.csv", nil)}, Columns: []ColumnSpec{{Name: "x"}, {Name: "x"}}}, []string{`"x" occurs twice`}},
		"csv dtype":        {Spec{Format: "csv", Files: []string{write(t, "t.csv", nil)}, Columns: []ColumnSpec{{Name: "x", DType: "floaty"}}}, []string{"floaty", `"x"`}},
		"csv default":      {Spec{Format: "csv", Files: []string{write(t, "t.csv", nil)}, Columns: []ColumnSpec{{Name: "x", Default: "none"}}}, []string{"its default", `"none"`}},
		"csv vector":       {Spec{Format: "csv", Files: []string{write(t, "t.csv", []byte("1,2,3\n1,2,z\n"))}, Columns: []ColumnSpec{{Name: "x", Shape: []int{3}}}}, []string{"t.csv:2:5"}},
		"parquet":          {Spec{Format: "parquet", Files: []string{write(t, "t.parquet", []byte("not parquet at all"))}}, []string{"t.parquet: this is text, expected a Parquet file: name another file, or set format: csv"}},
		"parquet damaged":  {Spec{Format: "parquet", Files: []string{write(t, "t.parquet", []byte("\x01\x02\x03\x04\x05"))}}, []string{"t.parquet", "not a Parquet file"}},
		"parquet empty":    {Spec{Format: "parquet", Files: []string{write(t, "t.parquet", nil)}}, []string{"t.parquet", "this is empty, expected a Parquet file"}},
		"arrow":            {Spec{Format: "arrow", Files: []string{write(t, "t.arrow", []byte("not arrow at all"))}}, []string{"t.arrow: this is text, expected an Arrow IPC file"}},
		"arrow cut":        {Spec{Format: "arrow", Files: []string{write(t, "t.arrow", []byte("ARROW1\x00\x00"))}}, []string{"t.arrow", "not an Arrow IPC file"}},
		"arrow no columns": {Spec{Format: "arrow", Files: []string{"testdata/plain.arrow"}, Columns: []ColumnSpec{{Name: "f32", Role: Ignore}}}, []string{"no column of plain.arrow is read"}},
		"jsonl":            {Spec{Format: "jsonl", Files: []string{write(t, "t.jsonl", []byte("{\"x\":1,\"y\":\"a\"}\n[1]\n"))}, Columns: xy}, []string{"t.jsonl:2", "not a JSON object but an array", "jq -c '.[]'"}},
		"jsonl two":        {Spec{Format: "jsonl", Files: []string{write(t, "t.jsonl", []byte("{\"x\":1,\"y\":\"a\"}{\"x\":2,\"y\":\"b\"}\n"))}, Columns: xy}, []string{"t.jsonl:1", "one object on each line"}},
		"jsonl null":       {Spec{Format: "jsonl", Files: []string{write(t, "t.jsonl", []byte("null\n"))}, Columns: xy}, []string{"t.jsonl:1", "it is null"}},
		"jsonl value":      {Spec{Format: "jsonl", Files: []string{write(t, "t.jsonl", []byte("{\"x\":\"q\",\"y\":\"a\"}\n"))}, Columns: xy}, []string{"t.jsonl:1", `column "x"`, `"q"`}},
		"mean":             {Spec{Format: "glyphs", Count: 3, Mean: []float64{1, 2}, Std: []float64{1, 2}}, []string{`column "image"`, "mean has 2 values, expected 1 or 1"}},
		"std":              {Spec{Format: "glyphs", Count: 3, Std: []float64{2}}, []string{"std: got [2], expected as many values as mean"}},
		"split":            {Spec{Format: "glyphs", Count: 3, Split: SplitSpec{Folds: 3, Part: "test"}}, []string{`split.part: got "test", expected one of train, eval`}},
		"fold":             {Spec{Format: "glyphs", Count: 3, Split: SplitSpec{Folds: 3, HeldOut: 3, Part: "train"}}, []string{"got 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Columns = append([]ColumnSpec(nil), c.spec.Columns...)
			err := readAll(c.spec, Context{Mode: Train, Allocator: checked(t)})
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("got %q, expected it to contain %q", err, w)
				}
			}
		})
	}
}

func TestDataErrorIsTyped(t *testing.T) {
	err := readAll(Spec{Format: "csv", Files: []string{write(t, "t.csv", []byte("1\nx\n"))}, Columns: []ColumnSpec{{Name: "n"}}}, Context{})
	var de *DataError
	if !errors.As(err, &de) || de.Line != 2 || de.Column != 1 || de.Name != "n" {
		t.Fatalf("got %#v", err)
	}
}

// TestByteOrderMark reads text with a byte order mark, as spreadsheets write it.
func TestByteOrderMark(t *testing.T) {
	columns := []ColumnSpec{{Name: "x"}}
	for name, spec := range map[string]Spec{
		"csv":           {Format: "csv", Files: []string{write(t, "t", []byte("\ufeff1\r\n2"))}},
		"quoted header": {Format: "csv", Header: true, Files: []string{write(t, "t", []byte("\ufeff\"x\"\r\n1\r\n2\r\n"))}},
		"jsonl":         {Format: "jsonl", Files: []string{write(t, "t", []byte("\ufeff{\"x\":1}\n{\"x\":2}"))}},
	} {
		spec.Columns, spec.BatchSize = columns, 2
		ds, err := Open(context.Background(), spec, Context{Allocator: checked(t)})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := column[float32](t, ds, "x"); !slices.Equal(got, []float32{1, 2}) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestExpandTakesFilesThatLookLikeGlobs(t *testing.T) {
	path := write(t, "part[1].csv", []byte("1\n"))
	if files, err := Expand(path); err != nil || !slices.Equal(files, []string{path}) {
		t.Errorf("got %v, %v", files, err)
	}
}
