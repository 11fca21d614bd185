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
)

// sparkFolder is a folder as Spark writes it: a column id in the files, year, town and part in their folders.
func sparkFolder(t testing.TB) string {
	t.Helper()
	files := map[string][]byte{"_SUCCESS": {}, "_metadata": []byte("x"), ".part.crc": {1}, "_temporary/0/part-9.parquet": []byte("half")}
	for i, folder := range []string{"year=2023/town=S%C3%A3o%20Paulo", "year=2024/town=Bern", "year=2024/town=__HIVE_DEFAULT_PARTITION__"} {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil))
		b.Field(0).(*array.Int64Builder).AppendValues([]int64{int64(2 * i), int64(2*i + 1)}, nil)
		rec := b.NewRecord()
		files[folder+"/part-0.parquet"] = parquetFileOf(t, rec)
		rec.Release()
		b.Release()
	}
	return imageFiles(t, files)
}

// TestPartitions: the folders' values are columns, hidden files are passed over, by folder and by glob.
func TestPartitions(t *testing.T) {
	dir := sparkFolder(t)
	for _, pattern := range []string{dir, dir + string(filepath.Separator), dir + "/**/*.parquet", dir + "/*/*/*.parquet", dir + "/year=*/**"} {
		spec := Spec{Format: "parquet", Files: []string{pattern}, Columns: []ColumnSpec{{Name: "id"}, {Name: "year"}, {Name: "town", Default: "?"}}, BatchSize: 4}
		ds := must[Dataset](t)(Open(t.Context(), spec, Context{Allocator: checked(t)}))
		if got := ds.Schema().String(); got != "id int64 feature, year int64 feature, town string feature" {
			t.Fatalf("%s: got %s", pattern, got)
		}
		if got := fmt.Sprint(column[int64](t, ds, "id"), column[int64](t, ds, "year")); got != "[0 1 2 3 4 5] [2023 2023 2024 2024 2024 2024]" {
			t.Errorf("%s: got %s", pattern, got)
		}
		var towns []string
		it := iterate(t, ds)
		for {
			rec, err := it.Next(t.Context())
			if eof(err) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			ts, err := Tensors(rec, ds.Schema())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range ts[2].Tensor.Strings {
				towns = append(towns, string(s))
			}
			rec.Release()
		}
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

func TestExpandBelow(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"a/1.csv": nil, "a/b/2.csv": nil, "a/b/_c/3.csv": nil, "a/b/.d": nil, "4.csv": nil, "5.txt": nil})
	for pattern, want := range map[string]string{"": "4.csv 5.txt a/1.csv a/b/2.csv", "a": "a/1.csv a/b/2.csv", "**/*.csv": "4.csv a/1.csv a/b/2.csv", "a/**/2.csv": "a/b/2.csv", "**": "4.csv 5.txt a/1.csv a/b/2.csv", "*/b/**": "a/b/2.csv"} {
		files, err := Expand(filepath.Join(dir, pattern))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
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
