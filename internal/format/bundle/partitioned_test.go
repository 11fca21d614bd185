package bundle

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// The bundle was written by TensorFlow 2.15's v1.train.Saver: a table of shape
// [3, 2] in two partitions, strings, a vector and the global step. Rewritten
// in the order of its data, it is byte for byte the same.
func TestPartitionedGolden(t *testing.T) {
	const prefix = "testdata/tensorflow-2.15/partitioned"
	tensors := load(t, atomicfile.OS{}, prefix)
	want := []float32{0.2390374, 0.92039955, 0.050512433, 0.49574447, 0.2390374, 0.92039955}
	if got := tensor.Values[float32](tensors["table"]); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	m := atomicfile.NewMem("/d")
	rewrite(t, prefix, m, "/d/x")
	for name, copied := range map[string]string{IndexPath(prefix): "/d/x.index", DataPath(prefix, 0, 1): DataPath("/d/x", 0, 1)} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := atomicfile.ReadFile(m, copied)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n got %x\nwant %x", name, err, got, want)
		}
	}
}

// rewrite copies a bundle with one data file, partition by partition.
func rewrite(t *testing.T, from string, fsys atomicfile.FS, to string) {
	t.Helper()
	r, err := Open(atomicfile.OS{}, from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := NewWriter(fsys, to, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	type piece struct {
		e     *entry
		whole *entry
		s     Slice
	}
	var pieces []piece
	for _, name := range r.names {
		e := r.entries[name]
		for _, s := range e.slices {
			pieces = append(pieces, piece{r.entries[sliceKey(name, s)], e, s})
		}
		if len(e.slices) == 0 {
			pieces = append(pieces, piece{e: e})
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return int(a.e.offset - b.e.offset) })
	for _, p := range pieces {
		x, err := r.read(p.e)
		if err != nil {
			t.Fatal(err)
		}
		if p.whole != nil {
			err = w.AddSlice(p.whole.key, p.whole.shape, p.s, x)
		} else {
			err = w.Add(p.e.key, x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}
