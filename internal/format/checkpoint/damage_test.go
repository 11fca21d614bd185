package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/testkit"
)

// twoCheckpoints returns the files of a directory with steps 1 and 2.
func twoCheckpoints(t testing.TB) map[string][]byte {
	t.Helper()
	m := atomicfile.NewMem()
	mustSave(t, newSaver(t, "/d", Options{FS: m}), 1, 2)
	files := map[string][]byte{}
	for _, n := range names(t, m) {
		b, err := atomicfile.ReadFile(m, "/d/"+n)
		if err != nil {
			t.Fatal(err)
		}
		files[n] = b
	}
	return files
}

// with returns a file system with files, one of them replaced.
func with(t testing.TB, files map[string][]byte, name string, content []byte) *atomicfile.Mem {
	t.Helper()
	m := atomicfile.NewMem("/d")
	for n, b := range files {
		if n == name {
			b = content
		}
		if err := atomicfile.WriteFile(m, "/d/"+n, b); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Flipping or cutting any byte of the newest checkpoint falls back to the previous
// one, with a warning; the Saver quarantines the damaged one.
func TestEveryDamageFallsBack(t *testing.T) {
	files := twoCheckpoints(t)
	tried := 0
	for _, name := range []string{"model.ckpt-2.index", "model.ckpt-2.data-00000-of-00001"} {
		good := files[name]
		for i := range good {
			flipped := bytes.Clone(good)
			flipped[i] ^= 1 << (i % 8)
			for _, bad := range [][]byte{flipped, good[:i]} {
				fallsBack(t, with(t, files, name, bad), fmt.Sprintf("%s at %d", name, i))
				tried++
			}
		}
	}
	if tried < 300 {
		t.Fatalf("only %d damages", tried)
	}
}

func fallsBack(t *testing.T, m *atomicfile.Mem, what string) {
	t.Helper()
	log, text := bufferLogger()
	before := names(t, m)
	r, failed, err := directory{fs: m, path: "/d", log: log}.openLatest(ctx)
	if err != nil || r.Step() != 1 || len(failed) != 1 {
		t.Fatalf("%s: reader: %v, %v", what, failed, err)
	}
	_ = r.Close()
	if d := cmp.Diff(before, names(t, m)); d != "" {
		t.Fatalf("%s: the reader changed the directory: %s", what, d)
	}
	s := newSaver(t, "/d", Options{FS: m, Log: log})
	if got := latest(t, s); got != 1 {
		t.Fatalf("%s: step %d", what, got)
	}
	if !strings.Contains(text.String(), "level=WARN") || !strings.Contains(text.String(), "model.ckpt-2") {
		t.Fatalf("%s: no warning: %s", what, text)
	}
	want := []string{"checkpoint", "model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index",
		"model.ckpt-2.data-00000-of-00001.broken", "model.ckpt-2.index.broken"}
	if d := cmp.Diff(want, names(t, m)); d != "" {
		t.Fatalf("%s: %s", what, d)
	}
	state, _ := atomicfile.ReadFile(m, "/d/checkpoint")
	if !strings.HasPrefix(string(state), "model_checkpoint_path: \"model.ckpt-1\"\n") {
		t.Fatalf("%s: list\n%s", what, state)
	}
}

// Whatever happens to the list, some checkpoint loads.
func TestEveryDamageOfTheList(t *testing.T) {
	files := twoCheckpoints(t)
	good := files[StateFile]
	for i := range good {
		flipped := bytes.Clone(good)
		flipped[i] ^= 1 << (i % 7)
		for _, bad := range [][]byte{flipped, good[:i]} {
			latest(t, newSaver(t, "/d", Options{FS: with(t, files, StateFile, bad)}))
		}
	}
}

func TestNoneLoads(t *testing.T) {
	files := twoCheckpoints(t)
	files["model.ckpt-1.index"] = []byte("short")
	m := with(t, files, "model.ckpt-2.index", nil)
	before := names(t, m)
	s := newSaver(t, "/d", Options{FS: m})
	_, err := s.OpenLatest(ctx)
	var ue *UnloadableError
	var ce *CorruptError
	if !errors.As(err, &ue) || len(ue.Tried) != 2 || !errors.As(err, &ce) || !strings.Contains(err.Error(), "choose another model_dir") {
		t.Fatalf("got %v", err)
	}
	if d := cmp.Diff(before, names(t, m)); d != "" {
		t.Fatalf("files changed: %s", d)
	}
	// Saving the step of a damaged checkpoint replaces it.
	mustSave(t, s, 2)
	if got := latest(t, s); got != 2 {
		t.Fatalf("step %d", got)
	}
}

func TestLeftoversAreRemoved(t *testing.T) {
	files := twoCheckpoints(t)
	for _, n := range []string{"model.ckpt-3.data-00000-of-00001.tmp-7-1", "checkpoint.tmp-7-2", "state.json.tmp-7-3",
		"model.ckpt-3.data-00000-of-00001", "model.ckpt-2.data-00000-of-00002", "model.ckpt-4.index",
		"notes.txt", "other.tmp-7-4", "model.ckpt-5.index.broken"} {
		files[n] = []byte("x")
	}
	m := with(t, files, "", nil)
	newSaver(t, "/d", Options{FS: m})
	want := []string{"checkpoint", "model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index", "model.ckpt-2.data-00000-of-00001",
		"model.ckpt-2.index", "model.ckpt-5.index.broken", "notes.txt", "other.tmp-7-4"}
	if d := cmp.Diff(want, names(t, m)); d != "" {
		t.Fatal(d)
	}
}

// Readers keep loading while the chief saves and deletes.
func TestReadersBesideTheChief(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	s := newSaver(t, dir, Options{MaxToKeep: 1})
	mustSave(t, s, 0)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for step := int64(0); ; {
				r, err := OpenLatest(context.Background(), dir)
				if err != nil {
					t.Error(err)
					return
				}
				checkValues(t, r)
				if r.Step() < step {
					t.Errorf("step %d after %d", r.Step(), step)
				}
				step = r.Step()
				_ = r.Close()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for step := range int64(25) {
		mustSave(t, s, step)
	}
	close(done)
	readers.Wait()
}

func TestReadsTensorFlow(t *testing.T) {
	prefix := filepath.Join(testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_2_versions/00000123"), "variables/variables")
	r, err := Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Verify(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, r.Names()); d != "" || r.Step() != 0 {
		t.Fatal(r.Step(), d)
	}
}

func TestPackageFunctions(t *testing.T) {
	dir := t.TempDir()
	if _, err := LatestPrefix(dir); !errors.Is(err, ErrNone) {
		t.Fatalf("empty: %v", err)
	}
	if _, err := LatestPrefix(dir + "/no"); !errors.Is(err, ErrNone) {
		t.Fatalf("missing: %v", err)
	}
	s := newSaver(t, dir, Options{Log: slog.Default()})
	mustSave(t, s, 5, 10)
	if p, err := LatestPrefix(dir); err != nil || p != filepath.Join(dir, "model.ckpt-10") {
		t.Fatalf("got %s, %v", p, err)
	}
	all, err := All(dir)
	if err != nil || len(all) != 2 || all[0].Step != 5 || all[1].Time.IsZero() {
		t.Fatalf("got %v, %v", all, err)
	}
	for prefix, want := range map[string]int64{"a/model.ckpt-12": 12, "x": -1, "x-y": -1, "x--3": 3} {
		if got, ok := StepOf(prefix); ok != (want >= 0) || (ok && got != want) {
			t.Errorf("%s: %d, %v", prefix, got, ok)
		}
	}
}

func TestRunState(t *testing.T) {
	m := atomicfile.NewMem("/d")
	want := RunState{TrainSeconds: 12.5}
	if got, err := LoadRunState(m, "/d"); err != nil || got != (RunState{}) {
		t.Fatalf("got %v, %v", got, err)
	}
	if err := UpdateRunState(m, "/d", func(s *RunState) { *s = want }); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadRunState(m, "/d"); err != nil || got != want {
		t.Fatalf("got %v, %v", got, err)
	}
	if err := atomicfile.WriteFile(m, "/d/state.json", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadRunState(m, "/d"); err != nil || got != (RunState{}) {
		t.Fatalf("damaged: %v, %v", got, err)
	}
}

// TestReadErrors: a checkpoint whose medium cannot be read is damaged, one on a file system that is away is not: nothing falls back and
// nothing is renamed.
func TestReadErrors(t *testing.T) {
	for _, suffix := range []string{".index", ".data-00000-of-00001"} {
		m := with(t, twoCheckpoints(t), "", nil)
		before := names(t, m)
		log, _ := bufferLogger()
		away := unreadable{m, "model.ckpt-2" + suffix, syscall.ESTALE}
		_, err := newSaver(t, "/d", Options{FS: away, Log: log}).OpenLatest(ctx)
		if !errors.Is(err, syscall.ESTALE) || !strings.Contains(err.Error(), "model.ckpt-2") {
			t.Errorf("%s: %v", suffix, err)
		}
		if d := cmp.Diff(before, names(t, m)); d != "" {
			t.Errorf("%s: the directory was changed: %s", suffix, d)
		}
		r, failed, err := directory{fs: unreadable{m, away.name, syscall.EIO}, path: "/d", log: log}.openLatest(ctx)
		if err != nil || r.Step() != 1 || len(failed) != 1 || !errors.Is(failed[0].Err, syscall.EIO) {
			t.Errorf("%s: a medium that cannot be read: %v, %v", suffix, failed, err)
			continue
		}
		_ = r.Close()
	}
}

// unreadable is a file system where one file opens, but cannot be read.
type unreadable struct {
	atomicfile.FS
	name string
	err  error
}

func (u unreadable) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err == nil && strings.HasSuffix(name, u.name) {
		f = unreadableFile{f, u.err}
	}
	return f, err
}

type unreadableFile struct {
	atomicfile.File
	err error
}

func (f unreadableFile) ReadAt([]byte, int64) (int, error) { return 0, f.err }
