package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

var ctx = context.Background()

// bufferLogger returns a logger and the buffer with its text.
func bufferLogger() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

// snapshot returns a snapshot whose values depend on the step.
func snapshot(step int64) Snapshot {
	w, _ := tensor.FromSlice([]float32{float32(step), 2, 3}, 3)
	s, _ := tensor.FromStrings([][]byte{fmt.Appendf(nil, "state %d", step)})
	return Snapshot{Step: step, Tensors: map[string]*tensor.Tensor{"w": w, "goestimator/input": s}}
}

// checkValues fails unless the reader has the values of snapshot(step) for its step.
func checkValues(t testing.TB, r *Reader) {
	t.Helper()
	want, err := snapshot(r.Step()).complete()
	if err != nil {
		t.Fatal(err)
	}
	if !r.holds(want) {
		t.Fatalf("%s holds other values", r.Prefix())
	}
}

func newSaver(t testing.TB, dir string, o Options) *Saver {
	t.Helper()
	if o.Log == nil {
		o.Log, _ = bufferLogger()
	}
	s, err := NewSaver(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSave(t testing.TB, s Store, steps ...int64) {
	t.Helper()
	for _, n := range steps {
		if _, err := s.Save(ctx, snapshot(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// latest opens the newest checkpoint, checks its values and returns its step.
func latest(t testing.TB, s Store) int64 {
	t.Helper()
	r, err := s.OpenLatest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	checkValues(t, r)
	return r.Step()
}

func steps(t testing.TB, s Store) (list []int64) {
	t.Helper()
	all, err := s.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		list = append(list, e.Step)
	}
	return list
}

// The contract of every Store.
func TestStoreContract(t *testing.T) {
	log, _ := bufferLogger()
	for name, open := range map[string]func(Options) (*Saver, error){
		"disk":   func(o Options) (*Saver, error) { return NewSaver(filepath.Join(t.TempDir(), "new"), o) },
		"memory": NewMemory,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(Options{MaxToKeep: 2, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			storeContract(t, s)
		})
	}
}

func storeContract(t *testing.T, s Store) {
	if _, err := s.OpenLatest(ctx); !errors.Is(err, ErrNone) {
		t.Fatalf("empty: %v", err)
	}
	mustSave(t, s, 0, 10)
	r, err := s.OpenLatest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mustSave(t, s, 20, 30)
	if got := latest(t, s); got != 30 {
		t.Fatalf("latest step %d", got)
	}
	if d := cmp.Diff([]int64{20, 30}, steps(t, s)); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff([]string{GlobalStep, "goestimator/input", "w"}, r.Names()); d != "" {
		t.Fatal(d)
	}
	checkValues(t, r) // its files are deleted by now
	if _, err := s.Open(r.Prefix()); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("deleted: %v", err)
	}
	if _, err := r.Tensor("v"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("missing tensor: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Save(canceled, snapshot(40)); !errors.Is(err, context.Canceled) {
		t.Fatalf("canceled: %v", err)
	}
	if _, err := s.Save(ctx, Snapshot{Step: -1}); err == nil {
		t.Fatal("step -1 is accepted")
	}
	if _, err := s.Save(ctx, Snapshot{Step: 1, Tensors: map[string]*tensor.Tensor{GlobalStep: tensor.Scalar(int64(2))}}); err == nil {
		t.Fatal("a global_step other than Step is accepted")
	}
	if got := latest(t, s); got != 30 {
		t.Fatalf("latest step %d after failed saves", got)
	}
}

func TestEqualSnapshotsGiveEqualFiles(t *testing.T) {
	var first map[string][]byte
	for range 2 {
		m := atomicfile.NewMem()
		mustSave(t, newSaver(t, "/d", Options{FS: m}), 1, 2)
		files := map[string][]byte{}
		names, _ := m.ReadDir("/d")
		for _, n := range names {
			if n != StateFile {
				files[n], _ = atomicfile.ReadFile(m, "/d/"+n)
			}
		}
		if first == nil {
			first = files
		}
		if len(files) != 4 || cmp.Diff(first, files) != "" {
			t.Fatalf("files %v differ from %v", files, first)
		}
	}
}

// clock returns a clock that shows *now.
func clock(now *time.Time) func() time.Time { return func() time.Time { return *now } }

func TestKeepEveryNHours(t *testing.T) {
	m := atomicfile.NewMem()
	now := time.Unix(1_700_000_000, 0)
	o := Options{FS: m, MaxToKeep: 2, KeepEveryNHours: 1, Clock: clock(&now)}
	s := newSaver(t, "/d", o)
	for step := range int64(12) {
		if step == 6 { // a restart in between changes nothing
			s = newSaver(t, "/d", o)
		}
		now = now.Add(25 * time.Minute)
		mustSave(t, s, step)
	}
	// Saved at minutes 25, 50, ...: step 2 (75) is the first an hour after the
	// start, step 5 (150) the next an hour after that, then 8; 10 and 11 are newest.
	if d := cmp.Diff([]int64{2, 5, 8, 10, 11}, steps(t, s)); d != "" {
		t.Fatal(d)
	}
	text, err := atomicfile.ReadFile(m, "/d/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	want := `model_checkpoint_path: "model.ckpt-11"
all_model_checkpoint_paths: "model.ckpt-10"
all_model_checkpoint_paths: "model.ckpt-11"
all_model_checkpoint_timestamps: 1700016500
all_model_checkpoint_timestamps: 1700018000
last_preserved_timestamp: 1700013500
# deleting "model.ckpt-9"
`
	if d := cmp.Diff(want, string(text)); d != "" {
		t.Fatal(d)
	}
}

func TestListIsAuthority(t *testing.T) {
	m := atomicfile.NewMem()
	s := newSaver(t, "/d", Options{FS: m})
	mustSave(t, s, 1, 2, 3)
	// A user goes back to step 2 by editing the list, as TensorFlow allows.
	if err := atomicfile.WriteFile(m, "/d/checkpoint", []byte(`model_checkpoint_path: "model.ckpt-2"`)); err != nil {
		t.Fatal(err)
	}
	s = newSaver(t, "/d", Options{FS: m})
	if got := latest(t, s); got != 2 {
		t.Fatalf("latest step %d, want 2", got)
	}
	for _, text := range []string{"", "garbage", "model_checkpoint_path: 'model.ckpt-9'", "model_checkpoint_path: \"model.ckpt-3\n"} {
		if err := atomicfile.WriteFile(m, "/d/checkpoint", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := latest(t, newSaver(t, "/d", Options{FS: m})); got != 3 {
			t.Fatalf("list %q: latest step %d, want 3", text, got)
		}
	}
}

func TestLostListSparesOldCheckpoints(t *testing.T) {
	m := atomicfile.NewMem()
	mustSave(t, newSaver(t, "/d", Options{FS: m}), 1, 2, 3, 4)
	if err := m.Remove("/d/checkpoint"); err != nil {
		t.Fatal(err)
	}
	s := newSaver(t, "/d", Options{FS: m, MaxToKeep: 2})
	mustSave(t, s, 5)
	if d := cmp.Diff([]int64{1, 2, 4, 5}, steps(t, s)); d != "" {
		t.Fatal(d)
	}
}

func TestSavingAStepAgain(t *testing.T) {
	m := atomicfile.NewMem()
	s := newSaver(t, "/d", Options{FS: m, MaxToKeep: 3})
	mustSave(t, s, 1, 2, 2)
	if d := cmp.Diff([]string{"checkpoint", "model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index",
		"model.ckpt-2.data-00000-of-00001", "model.ckpt-2.index"}, names(t, m)); d != "" {
		t.Fatal(d)
	}
	for shards := range 3 {
		other := snapshot(2)
		other.Tensors["w"] = tensor.Scalar(float64(shards))
		prefix, err := s.Save(ctx, other)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Open(prefix)
		if err != nil {
			t.Fatal(err)
		}
		w, err := r.Tensor("w")
		if err != nil || tensor.Values[float64](w)[0] != float64(shards) {
			t.Fatalf("got %v, %v", w, err)
		}
		_ = r.Close()
		if n := len(names(t, m)); n != 5+(shards+1)%2 {
			t.Fatalf("files %v", names(t, m))
		}
	}
}

func names(t testing.TB, m *atomicfile.Mem) []string {
	t.Helper()
	n, err := m.ReadDir("/d")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPartitionedVariables(t *testing.T) {
	s, err := NewMemory(Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	b, _ := tensor.FromSlice([]float32{5, 6}, 1, 2)
	snap := snapshot(1)
	parts := []Part{
		{Name: "table", Full: []int{3, 2}, Slice: Slice{{Start: 0, Length: 2}, {Start: 0, Length: 2}}, Tensor: a},
		{Name: "table", Full: []int{3, 2}, Slice: Slice{{Start: 2, Length: 1}, {Start: 0, Length: 2}}, Tensor: b},
		{Name: "whole", Tensor: b},
	}
	snap.Parts = PartsOf(parts...)
	for range 2 {
		if _, err := s.Save(ctx, snap); err != nil {
			t.Fatal(err)
		}
		r, err := s.OpenLatest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]float32{1, 2, 3, 4, 5, 6}, tensor.Values[float32](got.Tensors["table"])); d != "" {
			t.Fatal(d)
		}
		rows, err := r.Rows("table", 1, 3)
		if err != nil || !slices.Equal(tensor.Values[float32](rows), []float32{3, 4, 5, 6}) {
			t.Fatalf("rows %v, %v", rows, err)
		}
		if info, _ := r.Lookup("whole"); len(info.Slices) != 0 || !slices.Equal(tensor.Values[float32](got.Tensors["whole"]), []float32{5, 6}) {
			t.Fatalf("whole: %+v", info)
		}
	}
	broken := errors.New("broken")
	snap.Parts = func(yield func(Part, error) bool) { _ = yield(parts[0], nil) && yield(Part{}, broken) }
	if _, err := s.Save(ctx, snap); !errors.Is(err, broken) {
		t.Errorf("a part that fails: %v", err)
	}
	snap.Parts = PartsOf(Part{Name: "none"})
	if _, err := s.Save(ctx, snap); err == nil {
		t.Error("a part without a value: expected an error")
	}
	r, err := s.OpenLatest(ctx)
	if err != nil || r.Step() != 1 {
		t.Fatalf("after failures: %v", err)
	}
	_ = r.Close()
}
