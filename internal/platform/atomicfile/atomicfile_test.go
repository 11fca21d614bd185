package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contract is the behaviour that each file system must have.
func contract(t *testing.T, fsys FS, dir string) {
	path := filepath.Join(dir, "sub", "a")
	if _, err := ReadFile(fsys, path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing file: %v", err)
	}
	if err := WriteFile(fsys, path, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing directory: %v", err)
	}
	if err := MkdirAll(fsys, filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "", "third, longer"} {
		if err := WriteFile(fsys, path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(fsys, path)
		if err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	p, err := Create(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := fsys.ReadDir(filepath.Dir(path))
	if len(names) != 2 || !IsTemp(names[1]) || IsTemp(names[0]) {
		t.Fatalf("names %v", names)
	}
	p.Discard()
	p.Discard()
	names, _ = fsys.ReadDir(filepath.Dir(path))
	if d := cmp.Diff([]string{"a"}, names); d != "" {
		t.Fatal(d)
	}
	if err := fsys.Rename(path+"x", path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("rename of nothing: %v", err)
	}
	if err := fsys.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("second removal: %v", err)
	}
}

func TestContract(t *testing.T) {
	t.Run("os", func(t *testing.T) { contract(t, OS{}, t.TempDir()) })
	t.Run("mem", func(t *testing.T) { contract(t, NewMem("/d"), "/d") })
}

var errPower = errors.New("power cut")

// Either the old content or the new one survives a power cut before any
// operation.
func TestWriteFileSurvivesPowerLoss(t *testing.T) {
	cuts := 0
	for done := false; !done; cuts++ {
		m := NewMem("/d")
		if err := WriteFile(m, "/d/a", []byte("old content")); err != nil {
			t.Fatal(err)
		}
		ops := 0
		m.SetFault(func(Op, string) error {
			if ops++; ops > cuts {
				return errPower
			}
			return nil
		})
		done = WriteFile(m, "/d/a", []byte("new content!")) == nil
		states := 0
		for s := range m.PowerLosses(100) {
			states++
			got, err := ReadFile(s, "/d/a")
			if err != nil || (string(got) != "old content" && string(got) != "new content!") {
				t.Fatalf("cut %d: %q, %v", cuts, got, err)
			}
			if done && string(got) != "new content!" {
				t.Fatalf("WriteFile returned, yet %q survives", got)
			}
		}
		if states == 0 {
			t.Fatal("no state")
		}
	}
	if cuts != 6 { // create, write, sync, rename, syncdir, and none
		t.Fatalf("%d cuts", cuts)
	}
}

// The model is not vacuous: leaving out a step loses data in some state.
func TestPowerLossFindsMissingSync(t *testing.T) {
	for _, skip := range []string{"sync", "syncdir"} {
		m := NewMem("/d")
		_ = WriteFile(m, "/d/a", []byte("old"))
		p, _ := Create(m, "/d/a")
		_, _ = p.Write([]byte("new content"))
		if skip != "sync" {
			_ = p.Sync()
		}
		_ = p.Commit()
		if skip != "syncdir" {
			_ = SyncDir(m, "/d")
		}
		got := map[string]bool{}
		for s := range m.PowerLosses(100) {
			b, _ := ReadFile(s, "/d/a")
			got[string(b)] = true
		}
		want := map[string]bool{"": true, "new c": true, "new content": true}
		if skip == "syncdir" {
			want = map[string]bool{"old": true, "new content": true}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("without %s: %s", skip, d)
		}
	}
}

func TestErrorsKeepPathAndErrno(t *testing.T) {
	m := NewMem("/d")
	m.SetFault(func(op Op, path string) error {
		if op == OpWrite {
			return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return nil
	})
	err := WriteFile(m, "/d/a", []byte("x"))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/d/a") {
		t.Fatalf("got %v", err)
	}
	if names, _ := m.ReadDir("/d"); len(names) != 0 {
		t.Fatalf("left over: %v", names)
	}
	err = WriteFile(OS{}, filepath.Join(t.TempDir(), "no", "a"), nil)
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Err != syscall.ENOENT {
		t.Fatalf("got %v", err)
	}
}

func TestPowerLossesLimit(t *testing.T) {
	m := NewMem("/d")
	for i := range 12 {
		f, _ := m.OpenFile(fmt.Sprintf("/d/%d", i), os.O_CREATE, 0)
		_, _ = f.Write([]byte("x"))
	}
	n := 0
	for range m.PowerLosses(50) {
		n++
	}
	if n < 2 || n > 52 {
		t.Fatalf("%d states", n)
	}
}

func ExampleWriteFile() {
	m := NewMem("/models")
	if err := WriteFile(m, "/models/state.json", []byte("{}")); err != nil {
		fmt.Println(err)
		return
	}
	b, err := ReadFile(m, "/models/state.json")
	fmt.Println(string(b), err)
	// Output: {} <nil>
}
