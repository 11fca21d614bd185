package savedmodel_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// whole returns a model with every kind of file.
func whole() savedmodel.Writing {
	return savedmodel.Writing{
		MetaGraphs: small().MetaGraphs,
		Variables:  func(w *bundle.Writer) error { return w.Add("w", tensor.Scalar(float32(2))) },
		Assets:     map[string][]byte{"words.txt": []byte("a\nb\n")},
		Extra:      map[string][]byte{savedmodel.WarmUpFile: {1}, "notes/readme.md": []byte("hello")},
	}
}

func TestWrite(t *testing.T) {
	for _, text := range []bool{false, true} {
		base := filepath.Join(t.TempDir(), "models", "m")
		w := whole()
		w.Text = text
		dir, err := savedmodel.Write(atomicfile.OS{}, base, 1700000000, w)
		if err != nil || dir != filepath.Join(base, "1700000000") {
			t.Fatalf("got %s, %v", dir, err)
		}
		g, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		r, err := g.Variables()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if v, err := r.Tensor("w"); err != nil || v.Float(0) != 2 {
			t.Errorf("w is %v, %v", v, err)
		}
		for name, want := range map[string]string{"assets/words.txt": "a\nb\n", "assets.extra/notes/readme.md": "hello"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != want {
				t.Errorf("%s holds %q, %v", name, b, err)
			}
		}
		_, err = savedmodel.Write(atomicfile.OS{}, base, 1700000000, whole())
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("a version that is there: got %v", err)
		}
	}
}

func TestWrongWritings(t *testing.T) {
	for want, change := range map[string]func(w *savedmodel.Writing) int64{
		"a version that is not negative": func(w *savedmodel.Writing) int64 { return -1 },
		"1 of 0 graphs":                  func(w *savedmodel.Writing) int64 { w.MetaGraphs = nil; return 1 },
		`"../x": expected a name below`:  func(w *savedmodel.Writing) int64 { w.Extra = map[string][]byte{"../x": nil}; return 1 },
		`"/x": expected a name below`:    func(w *savedmodel.Writing) int64 { w.Assets = map[string][]byte{"/x": nil}; return 1 },
		"not today": func(w *savedmodel.Writing) int64 {
			w.Variables = func(*bundle.Writer) error { return errors.New("not today") }
			return 1
		},
	} {
		base, w := t.TempDir(), whole()
		version := change(&w)
		if _, err := savedmodel.Write(atomicfile.OS{}, base, version, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
		if names := left(t, base); len(names) > 0 {
			t.Errorf("%s: left over: %v", want, names)
		}
	}
}

func left(t *testing.T, base string) []string {
	t.Helper()
	names, err := (atomicfile.OS{}).ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// faulty fails at its nth change.
type faulty struct {
	atomicfile.OS
	n *int
}

var errDisk = errors.New("the disk is gone")

func (f faulty) fails() bool {
	*f.n--
	return *f.n == 0
}

func (f faulty) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	if f.fails() {
		return nil, errDisk
	}
	return f.OS.OpenFile(name, flag, perm)
}

func (f faulty) Rename(from, to string) error {
	if f.fails() {
		return errDisk
	}
	return f.OS.Rename(from, to)
}

func (f faulty) Mkdir(name string) error {
	if f.fails() {
		return errDisk
	}
	return f.OS.Mkdir(name)
}

// Wherever writing fails, nothing of the model is left, under any name; it may stay
// only once its directory has its final name.
func TestFailures(t *testing.T) {
	for n := 1; ; n++ {
		base, count := t.TempDir(), n
		dir, err := savedmodel.Write(faulty{n: &count}, base, 5, whole())
		if err == nil {
			if n < 20 {
				t.Errorf("%d changes: expected more", n)
			}
			return
		}
		names := left(t, base)
		if !errors.Is(err, errDisk) || dir != "" || len(names) > 0 && !slices.Equal(names, []string{"5"}) {
			t.Errorf("change %d: %q, %v, left over %v", n, dir, err, names)
		}
		if len(names) > 0 {
			if _, err := open(filepath.Join(base, "5")); err != nil {
				t.Errorf("change %d: what is there cannot be read: %v", n, err)
			}
		}
	}
}

// observed records which directories become durable.
type observed struct {
	atomicfile.OS
	base string
	seen *[]string
}

func (o observed) note(what, path string) {
	if rel, err := filepath.Rel(o.base, path); err == nil && !strings.Contains(rel, savedmodel.TempPrefix) {
		*o.seen = append(*o.seen, what+" "+rel)
	}
}

func (o observed) Mkdir(name string) error {
	err := o.OS.Mkdir(name)
	if err == nil {
		o.note("made", name)
	}
	return err
}

func (o observed) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	f, err := o.OS.OpenFile(name, flag, perm)
	return observedFile{f, o, name}, err
}

type observedFile struct {
	atomicfile.File
	o    observed
	name string
}

func (f observedFile) Sync() error {
	f.o.note("synced", f.name)
	return f.File.Sync()
}

// A new base is durable, including all new directories above it.
func TestNewBaseIsDurable(t *testing.T) {
	root := t.TempDir()
	var seen []string
	if _, err := savedmodel.Write(observed{base: root, seen: &seen}, filepath.Join(root, "models", "m"), 5, whole()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"made models", "synced .", "made models/m", "synced models", "synced models/m"}; !slices.Equal(seen, want) {
		t.Errorf("%q, expected %q", seen, want)
	}
}
