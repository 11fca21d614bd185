package inputs

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
)

// TestAutomaticCache: a shuffle of small files keeps their rows in memory, but not the output of steps, images or glyphs.
func TestAutomaticCache(t *testing.T) {
	files := csvFiles(t, 1)
	columns := []ColumnSpec{{Name: "id", DType: "int64", Role: Label}}
	for _, c := range []struct {
		spec Spec
		want bool
	}{
		{Spec{Format: "csv", Files: files, Columns: columns}, true},
		{Spec{Format: "csv", Files: files, Columns: columns, Transforms: []TransformSpec{{Kind: "window", Size: 3, Shift: 1}}}, false},
		{Spec{Format: "images", Files: []string{animals(t)}, ImageSize: []int{2, 2}, Take: 3}, false},
		{Spec{Format: "glyphs", Skip: 1}, false},
	} {
		c.spec.Shuffle, c.spec.BatchSize = 5, 2
		ds, err := Open(t.Context(), c.spec, Context{Mode: Train})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(adopt(ds).desc, "| cache"); got != c.want {
			t.Errorf("%s: cached is %t: %s", c.spec.Format, got, adopt(ds).desc)
		}
	}
}

// TestAutomaticCacheNeedsMemory: the rows of small shuffled files count fully toward memory_mb, as documented.
func TestAutomaticCacheNeedsMemory(t *testing.T) {
	s := Spec{Format: "csv", Files: []string{write(t, "t.csv", bytes.Repeat([]byte("1\n"), 200_000))}, Columns: []ColumnSpec{{Name: "id", DType: "int64"}}, Shuffle: 2, BatchSize: 100}
	for mib, want := range map[int]string{1: "small files that are shuffled, are kept in memory and need more than 1 MiB: raise memory_mb", 8: ""} {
		s.MemoryMB = mib
		if err := readAll(s, Context{Mode: Train}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("memory_mb %d: got %v", mib, err)
		}
	}
}

// TestWindowsFarApart: rows between windows are neither held nor requested in one record.
func TestWindowsFarApart(t *testing.T) {
	largest := int64(0)
	src := Filter("largest", func(_ context.Context, rec arrow.Record, keep []bool) error {
		largest = max(largest, rec.NumRows())
		for i := range keep {
			keep[i] = true
		}
		return nil
	})(streamOf(counted(t, nil, 0, 20_000)))
	ds := Window(Windows{Size: 2, Shift: 5000})(src)
	st, err := adopt(ds).open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	for range 4 {
		rec, err := st.pull(t.Context(), 256)
		if err != nil || rec.NumRows() != 1 {
			t.Fatalf("got %v, %v", rec, err)
		}
		rec.Release()
	}
	if largest > chunkRows {
		t.Errorf("a record of %d rows was asked for", largest)
	}
	if d := flat(ids(t, ds)); !slices.Equal(d, []int64{0, 1, 5000, 5001, 10000, 10001, 15000, 15001}) {
		t.Errorf("got %v", d)
	}
	if _, err := Window(Windows{Size: 2, Shift: math.MaxInt / 2})(src).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "2^24") {
		t.Errorf("a shift without bound: %v", err)
	}
}

// TestBoundsOfTransforms: config files cannot ask for unbounded lengths and shifts.
func TestBoundsOfTransforms(t *testing.T) {
	for text, want := range map[string]string{
		"{kind: pad, column: v, length: 16777217}": "length",
		"{kind: window, size: 2, shift: 16777217}": "shift",
	} {
		if err := specOf(t, "", "format: glyphs\ntransforms: ["+text+"]").Validate(); err == nil || !strings.Contains(err.Error(), "transforms[0]."+want+": got 16777217, expected at most") {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if _, err := Map(Pad(Padding{Column: "v", Length: maxSpan + 1}))(lists(t, checked(t), 1)).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "at most 16777216") {
		t.Errorf("got %v", err)
	}
}

// TestResizedInBoundedMemory: a small file cannot take all memory while it is resized.
func TestResizedInBoundedMemory(t *testing.T) {
	const h = 200_000
	dir := imageFiles(t, map[string][]byte{"a/1.png": pngOf(t, drawn(4, 6, 1)), "a/tall.png": pngOf(t, drawn(h, 1, 1))})
	ds := must[Indexed](t)(ImageFolder(dir, Images{Height: 2, Width: 1000, Allocator: checked(t)}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ds.Gather(t.Context(), []int64{1})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "tall.png") || after.TotalAlloc-before.TotalAlloc > 64<<20 {
		t.Errorf("took %d bytes: %v", after.TotalAlloc-before.TotalAlloc, err)
	}
	left := silent()
	ds = must[Indexed](t)(ImageFolder(dir, Images{Height: 2, Width: 1000, Damaged: left, Allocator: checked(t)}))
	if ds.Len() != 1 || left.Count() != 1 || !strings.Contains(left.First().Error(), "tall.png") {
		t.Errorf("%d images, left out: %s", ds.Len(), left.First())
	}
}

// TestFirstImageDamaged: the first image that is not damaged sets the size.
func TestFirstImageDamaged(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"a/1.png": []byte("no"), "a/2.png": pngOf(t, drawn(4, 6, 1))})
	ds := must[Indexed](t)(ImageFolder(dir, Images{Damaged: silent(), Allocator: checked(t)}))
	if got := ds.Schema().String(); got != "image uint8[4 6 3] feature, label int64 label" || ds.Len() != 1 {
		t.Errorf("got %s, %d rows", got, ds.Len())
	}
	if err := second(ImageFolder(imageFiles(t, map[string][]byte{"a/1.png": nil}), Images{Damaged: silent()})); err == nil || !strings.Contains(err.Error(), "all 1 files of") {
		t.Errorf("got %v", err)
	}
}
