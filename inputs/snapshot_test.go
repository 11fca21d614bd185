package inputs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// TestSnapshotOfOtherData: files of the same name in other folders, and readers with other options, have their own snapshots.
func TestSnapshotOfOtherData(t *testing.T) {
	root, saved := t.TempDir(), t.TempDir()
	read := func(folder, rows string, o CSVOptions) []int64 {
		t.Helper()
		name := filepath.Join(root, folder, "part-0.csv")
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(rows), 0o644)); err != nil {
			t.Fatal(err)
		}
		o.Columns, o.Allocator = []ColumnSpec{{Name: "id", DType: "int64", Role: Label}}, checked(t)
		return flat(ids(t, Snapshot(saved)(must[Dataset](t)(CSV([]string{name}, o)))))
	}
	for _, c := range []struct {
		folder, rows string
		o            CSVOptions
		want         []int64
	}{
		{"train", "1\n2\n", CSVOptions{}, []int64{1, 2}},
		{"eval", "3\n4\n", CSVOptions{}, []int64{3, 4}},
		{"eval", "5\n6\n7\n", CSVOptions{}, []int64{5, 6, 7}},
		{"comments", "8\n#9\n", CSVOptions{Comment: "#"}, []int64{8}},
	} {
		for range 2 {
			if got := read(c.folder, c.rows, c.o); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, expected %v", c.folder, got, c.want)
			}
		}
	}
	if jsonOptions := (ArrowOptions{Unlabeled: true}); jsonOptions.origin().options == (ArrowOptions{}).origin().options {
		t.Error("options of readers have no part in the name")
	}
}

// failsOnce returns a step that fails at the record of row 5, and continues when it is called again.
func failsOnce(err error) Transform {
	return Filter("fails once", func(_ context.Context, rec arrow.Record, keep []bool) error {
		for i := range keep {
			if keep[i] = true; peek(rec, 1).(interface{ Value(int) int64 }).Value(i) == 5 {
				return err
			}
		}
		return nil
	})
}

// pulls calls Next until the end, at most 20 times, and returns the numbers of rows and failures.
func pulls(t *testing.T, ds Dataset) (rows, failures int) {
	t.Helper()
	it := iterate(t, ds)
	for range 20 {
		rec, err := it.Next(t.Context())
		if eof(err) {
			break
		}
		if err != nil {
			failures++
			continue
		}
		rows += int(rec.NumRows())
		rec.Release()
	}
	return rows, failures
}

// TestSnapshotAfterFailure: a pass with missing rows leaves no file.
func TestSnapshotAfterFailure(t *testing.T) {
	dir := t.TempDir()
	ds := Pipe(streamOf(numbers(t, checked(t), 20)), Batch(2, false), failsOnce(errors.New("broken")), Snapshot(dir))
	rows, failures := pulls(t, ds)
	if rows != 18 || failures != 1 {
		t.Errorf("%d rows, %d failures: the test needs a step that goes on", rows, failures)
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestSnapshotOfKilledProcess: the file of a killed process is removed by the next process that writes the snapshot.
func TestSnapshotOfKilledProcess(t *testing.T) {
	dir := t.TempDir()
	read := func() {
		if rows, failures := pulls(t, Pipe(streamOf(numbers(t, checked(t), 20)), Snapshot(dir))); rows != 20 || failures != 0 {
			t.Fatalf("%d rows, %d failures", rows, failures)
		}
	}
	read()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	name := filepath.Join(dir, files[0].Name())
	old := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.Rename(name, name+".tmp-1-1"), os.Chtimes(name+".tmp-1-1", old, old)); err != nil {
		t.Fatal(err)
	}
	read()
	if files, err = os.ReadDir(dir); err != nil || len(files) != 1 || files[0].Name() != filepath.Base(name) {
		t.Errorf("got %v, %v, expected one file", files, err)
	}
}

// TestZipAfterFailure: rows that do not belong together are not delivered.
func TestZipAfterFailure(t *testing.T) {
	mem := checked(t)
	bad := Pipe(streamOf(numbers(t, mem, 20)), Batch(2, false), failsOnce(errors.New("broken")))
	other := Pipe(streamOf(Rename(map[string]string{"x": "a", "id": "b"})(numbers(t, mem, 20))), Batch(2, false))
	if rows, failures := pulls(t, Zip(other, bad)); rows != 4 || failures != 18 {
		t.Errorf("got %d rows and %d failures, expected 4 and 18", rows, failures)
	}
}
