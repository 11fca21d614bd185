package inputs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// idsFile returns a Parquet file with one column.
func idsFile(t testing.TB, name string, ids ...int64) []byte {
	t.Helper()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
	rec := b.NewRecord()
	defer rec.Release()
	return parquetFileOf(t, rec)
}

// sparkFolder returns a folder in Spark's layout: a column id in the files, year and town in their folders.
func sparkFolder(t testing.TB) string {
	t.Helper()
	files := map[string][]byte{"_SUCCESS": {}, "_metadata": []byte("x"), ".part.crc": {1}, "_temporary/0/part-9.parquet": []byte("half")}
	for i, folder := range []string{"year=2023/town=S%C3%A3o%20Paulo", "year=2024/town=Bern", "year=2024/town=__HIVE_DEFAULT_PARTITION__"} {
		files[folder+"/part-0.parquet"] = idsFile(t, "id", int64(2*i), int64(2*i+1))
	}
	return imageFiles(t, files)
}

// textColumn returns the values of a column of text.
func textColumn(t *testing.T, ds Dataset, name string) []string {
	t.Helper()
	var out []string
	it := iterate(t, ds)
	for {
		rec, err := it.Next(t.Context())
		if eof(err) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		ts, err := Tensors(rec, ds.Schema())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, texts(ts[ds.Schema().Index(name)].Tensor.Strings)...)
		rec.Release()
	}
}

// TestPartitions: the folders' values are columns, and hidden files are skipped, by folder and by glob.
func TestPartitions(t *testing.T) {
	dir := sparkFolder(t)
	for _, pattern := range []string{dir, dir + string(filepath.Separator), dir + "/**/*.parquet", dir + "/year=*/*/*.parquet", dir + "/*=*", dir + "/year=*/**"} {
		spec := Spec{Format: "parquet", Files: []string{pattern}, Columns: []ColumnSpec{{Name: "id"}, {Name: "year"}, {Name: "town", Default: "?"}}, BatchSize: 4}
		ds := must[Dataset](t)(Open(t.Context(), spec, Context{Allocator: checked(t)}))
		if got := ds.Schema().String(); got != "id int64 feature, year int64 feature, town string feature" {
			t.Fatalf("%s: got %s", pattern, got)
		}
		if got := fmt.Sprint(column[int64](t, ds, "id"), column[int64](t, ds, "year")); got != "[0 1 2 3 4 5] [2023 2023 2024 2024 2024 2024]" {
			t.Errorf("%s: got %s", pattern, got)
		}
		towns := textColumn(t, ds, "town")
		if got := strings.Join(towns, ","); got != "São Paulo,São Paulo,Bern,Bern,?,?" {
			t.Errorf("%s: got %s", pattern, got)
		}
		checkDataset(t, Pipe(ds, Repeat(2), Batch(4, false)))
	}
	all := must[Dataset](t)(Open(t.Context(), Spec{Format: "parquet", Files: []string{filepath.Join(dir, "year=2024", "town=Bern")}, BatchSize: 2}, Context{}))
	if got := all.Schema().String(); got != "id int64 feature, town string feature, year int64 feature" {
		t.Errorf("without a list of columns: %s", got)
	}
}

// TestPartitionValues: encodings of values, and their types.
func TestPartitionValues(t *testing.T) {
	for _, c := range []struct {
		folders []string
		dtype   string
		want    string // of the schema
		values  string
	}{
		{[]string{"k=a=b", "k=a%3Db", "k=%2541", "k=50%", "k=x%2Fy"}, "", "k string", "%41,50%,a=b,a=b,x/y"},
		{[]string{"k=1", "k=-2", "k=007"}, "", "k int64", "-2,7,1"},
		{[]string{"k=1", "k=007"}, "string", "k string", "007,1"},
		{[]string{"k=1", "k=+2"}, "", "k string", "+2,1"},
		{[]string{"k=1", "k=99999999999999999999"}, "", "k string", "1,99999999999999999999"},
		{[]string{"k=0.5", "k=1"}, "float32", "k float32", "0.5,1"},
		{[]string{"k=", "k=1"}, "", "k string", ",1"},
		{[]string{"k=1/j=x/k=2"}, "", "k int64", "2"},
		{[]string{"a%20b=1/_k=3"}, "", "_k int64", "3"},
	} {
		files := map[string][]byte{}
		for i, folder := range c.folders {
			files[folder+"/a.parquet"] = idsFile(t, "id", int64(i))
		}
		name, _, _ := strings.Cut(c.want, " ")
		spec := Spec{Format: "parquet", Files: []string{imageFiles(t, files)}, Columns: []ColumnSpec{{Name: name, DType: c.dtype}}, BatchSize: 2}
		ds := must[Dataset](t)(Open(t.Context(), spec, Context{Allocator: checked(t)}))
		if got := ds.Schema().String(); got != c.want+" feature" {
			t.Errorf("%q: got %s, expected %s", c.folders, got, c.want)
			continue
		}
		var got string
		switch ds.Schema().columns[0].DType {
		case tensor.String:
			got = strings.Join(textColumn(t, ds, name), ",")
		case tensor.Int64:
			got = strings.Trim(strings.ReplaceAll(fmt.Sprint(column[int64](t, ds, name)), " ", ","), "[]")
		default:
			got = strings.Trim(strings.ReplaceAll(fmt.Sprint(column[float32](t, ds, name)), " ", ","), "[]")
		}
		if got != c.values {
			t.Errorf("%q: got %s, expected %s", c.folders, got, c.values)
		}
	}
}

// TestPartitionErrors: a null without a default, a key that not all files have, and a column that only some files have themselves.
func TestPartitionErrors(t *testing.T) {
	one := idsFile(t, "id", 1)
	for want, files := range map[string]map[string][]byte{
		"year=__HIVE_DEFAULT_PARTITION__/a.parquet: column \"year\": row 1 of the file: value is null": {"year=__HIVE_DEFAULT_PARTITION__/a.parquet": one},
		"unknown column \"year\": expected one of id":                                                  {"year=1/a.parquet": one, "b.parquet": one},
	} {
		spec := Spec{Format: "parquet", Files: []string{imageFiles(t, files)}, Columns: []ColumnSpec{{Name: "id"}, {Name: "year"}}}
		if err := readAll(spec, Context{Mode: Train, Allocator: checked(t)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	own := imageFiles(t, map[string][]byte{"id=7/a.parquet": one, "id=8/a.parquet": one})
	ds := must[Dataset](t)(Open(t.Context(), Spec{Format: "parquet", Files: []string{own}, BatchSize: 2}, Context{Allocator: checked(t)}))
	if got := column[int64](t, ds, "id"); !slices.Equal(got, []int64{1, 1}) {
		t.Errorf("the files' own column: got %v", got)
	}
}

// TestPartitionsShared: all files decide the type of a column, whatever share of them a pipeline reads.
func TestPartitionsShared(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"k=1/a.parquet": idsFile(t, "id", 1), "k=x/a.parquet": idsFile(t, "id", 2)})
	for pipeline, want := range []string{"1", "x"} {
		ds := must[Dataset](t)(Open(t.Context(), Spec{Format: "parquet", Files: []string{dir}, BatchSize: 2}, Context{Pipeline: pipeline, NumPipelines: 2, Allocator: checked(t)}))
		if got := ds.Schema().String() + strings.Join(textColumn(t, ds, "k"), ","); got != "id int64 feature, k string feature"+want {
			t.Errorf("pipeline %d: got %s", pipeline, got)
		}
	}
}

// TestPartitionsGo: without the option, folders hold no columns, so that a Snapshot may lie anywhere.
func TestPartitionsGo(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"k=1/a.parquet": idsFile(t, "id", 1)})
	ds := must[Dataset](t)(Parquet([]string{filepath.Join(dir, "k=1", "a.parquet")}, ArrowOptions{}))
	if got := ds.Schema().String(); got != "id int64 feature" {
		t.Errorf("got %s", got)
	}
	kept := Pipe(ds, Snapshot(filepath.Join(dir, "k=1")))
	for range 2 {
		if got := column[int64](t, kept, "id"); !slices.Equal(got, []int64{1}) {
			t.Errorf("got %v", got)
		}
	}
}

func TestExpandBelow(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"a/1.csv": nil, "a/b/2.csv": nil, "a/b/_c/3.csv": nil, "a/b/.d": nil, "4.csv": nil, "5.txt": nil})
	for pattern, want := range map[string]string{"": "4.csv 5.txt a/1.csv a/b/2.csv", "a": "a/1.csv a/b/2.csv", "**/*.csv": "4.csv a/1.csv a/b/2.csv", "a/**/2.csv": "a/b/2.csv", "**": "4.csv 5.txt a/1.csv a/b/2.csv", "*/b/**": "a/b/2.csv", "a/**/b/**/*.csv": "a/b/2.csv", "*": "4.csv 5.txt a/1.csv a/b/2.csv", "*.csv": "4.csv", "a/b/*.csv": "a/b/2.csv",
		"a/*/*/*.csv": "no file matches", "a/b/_*/*.csv": "a/b/_c/3.csv", "a/b/_c/*": "a/b/_c/3.csv"} {
		files, err := Expand(filepath.Join(dir, pattern))
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
		if err != nil {
			continue
		}
		for i := range files {
			files[i], _ = filepath.Rel(dir, files[i])
			files[i] = filepath.ToSlash(files[i])
		}
		slices.Sort(files)
		if got := strings.Join(files, " "); got != want {
			t.Errorf("%s: got %s, expected %s", pattern, got, want)
		}
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{"empty": "is a folder without files", "**/*.parquet": "no file matches", "none/**": "no file matches", "**/[": "bad file pattern"} {
		if _, err := Expand(filepath.Join(dir, pattern)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %q", pattern, err, want)
		}
	}
}

// TestHiddenFolders: for any spelling of a pattern, its stars match no hidden folder.
func TestHiddenFolders(t *testing.T) {
	dir := sparkFolder(t)
	t.Chdir(dir)
	for _, pattern := range []string{"*/0/*", "./*/0/*", "*//0/*", ".//*/./0/*", dir + "//*/0/*", dir + "/./*/0/*.parquet", "file://" + dir + "/./*/0/*"} {
		if got, err := Expand(pattern); err == nil {
			t.Errorf("%s: got %q", pattern, got)
		}
	}
	for _, pattern := range []string{"_*/0/*", "./_*/0/*", dir + "//_temporary/0/*", ".//year=2023/*/*"} {
		if got, err := Expand(pattern); err != nil || len(got) == 0 {
			t.Errorf("%s: got %q, %v", pattern, got, err)
		}
	}
}

// TestFolderLinks: links to folders are followed, each folder once, even if they form a cycle.
func TestFolderLinks(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"data/b/1.csv": nil, "other/2.csv": nil})
	for link, to := range map[string]string{"data/a": "data/b", "data/b/up": "data", "data/c": "other", "other/back": "data", "data/none.csv": "nothing", "root": "data"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Skipf("no links: %v", err)
		}
	}
	for _, root := range []string{"data", "root"} {
		files, err := Expand(filepath.Join(dir, root))
		want := []string{"b/1.csv", "c/2.csv", "none.csv"} // opening none.csv reports that it is missing
		for i := range want {
			want[i] = filepath.Join(dir, root, want[i])
		}
		if err != nil || !slices.Equal(files, want) {
			t.Errorf("%s: got %v, %v", root, files, err)
		}
	}
}
