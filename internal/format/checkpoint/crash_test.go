package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
	"github.com/goestimator/goestimator/tensor"
)

const (
	childEnv  = "CHECKPOINT_TEST_CHILD" // the directory in which a child process saves
	childLast = 3                       // the child's last step
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := childRun(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childRun resumes and saves up to childLast, like a training process. It saves the
// last step twice, the second time with other values.
func childRun(dir string) error {
	s, err := NewSaver(dir, Options{MaxToKeep: 2})
	if err != nil {
		return err
	}
	step := int64(-1)
	switch r, err := s.OpenLatest(ctx); {
	case err == nil:
		step = r.Step()
		_ = r.Close()
	case !errors.Is(err, ErrNone):
		return err
	}
	for step++; step <= childLast; step++ {
		if _, err := s.Save(ctx, snapshot(step)); err != nil {
			return err
		}
	}
	other := snapshot(childLast)
	other.Tensors["final"] = tensor.Scalar(true)
	_, err = s.Save(ctx, other)
	return err
}

// crashPoints returns all points that a save passes.
func crashPoints() []string {
	return append(failpoint.Names("bundle/"), failpoint.Names("checkpoint/")...)
}

// unreached are points that childRun does not pass; other tests do.
var unreached = map[string]bool{"checkpoint/broken-renamed": true, "checkpoint/unusable-removed": true}

// A process that dies at the first, third or fifth passage of any point
// leaves a loadable checkpoint. After a restart it finishes as if nothing had happened.
func TestProcessDiesAtEveryPoint(t *testing.T) {
	clean := t.TempDir()
	runChild(t, clean, "")
	for _, point := range crashPoints() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			if died := diesAt(t, clean, point); !died && !unreached[point] {
				t.Error("the point is never passed")
			}
		})
	}
}

// diesAt reports whether the child reached the point.
func diesAt(t *testing.T, clean, point string) (died bool) {
	for i, passage := range []int{1, 3, 5} {
		action := []string{"kill", "exit(9)", "kill"}[i]
		dir := t.TempDir()
		state := runChild(t, dir, fmt.Sprintf("%s=%s@%d", point, action, passage))
		if state.Success() {
			continue
		}
		died = true
		if ws := state.Sys().(syscall.WaitStatus); !ws.Signaled() && ws.ExitStatus() != 9 {
			t.Fatalf("passage %d: %v", passage, state)
		}
		r, err := OpenLatest(ctx, dir)
		if err == nil {
			_ = r.Close()
		}
		if err != nil && (passage > 1 || !errors.Is(err, ErrNone)) {
			t.Fatalf("passage %d: %v", passage, err)
		}
		if !runChild(t, dir, "").Success() {
			t.Fatalf("passage %d: the second run failed", passage)
		}
		sameTensors(t, clean, dir)
	}
	return died
}

func runChild(t *testing.T, dir, points string) *os.ProcessState {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir, failpoint.EnvVar+"="+points)
	_ = cmd.Run()
	return cmd.ProcessState
}

// sameTensors fails unless both directories have the same checkpoints and no
// leftovers. Only the number of data files may differ, depending on how they were made.
func sameTensors(t *testing.T, a, b string) {
	t.Helper()
	var got [2]map[string]Snapshot
	for i, dir := range []string{a, b} {
		got[i] = map[string]Snapshot{}
		all, err := All(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			r, err := Open(e.Prefix)
			if err != nil {
				t.Fatal(err)
			}
			if got[i][fmt.Sprint(e.Step)], err = r.Snapshot(); err != nil {
				t.Fatal(err)
			}
			_ = r.Close()
		}
		names, _ := os.ReadDir(dir)
		for _, n := range names {
			if atomicfile.IsTemp(n.Name()) {
				t.Fatalf("left over %s", n.Name())
			}
		}
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Fatal(d)
	}
}

// An error at any point leaves the Saver usable and the directory loadable.
func TestErrorAtEveryPoint(t *testing.T) {
	for _, point := range crashPoints() {
		m := atomicfile.NewMem()
		s := newSaver(t, "/d", Options{FS: m, MaxToKeep: 2})
		mustSave(t, s, 1, 2)
		disable, err := failpoint.Enable(point, "error(no luck)")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Save(ctx, snapshot(3))
		disable()
		if err == nil && !unreached[point] {
			t.Fatalf("%s: no error", point)
		}
		if err != nil && !strings.Contains(err.Error(), "model.ckpt-3: failpoint "+point) {
			t.Fatalf("%s: %v", point, err)
		}
		if got := latest(t, s); got < 2 {
			t.Fatalf("%s: latest step %d", point, got)
		}
		mustSave(t, s, 3, 4)
		if got := latest(t, s); got != 4 {
			t.Fatalf("%s: latest step %d", point, got)
		}
		for _, n := range names(t, m) {
			if atomicfile.IsTemp(n) {
				t.Fatalf("%s: left over %s", point, n)
			}
		}
	}
}

var errPower = errors.New("power cut")

// powerCut lets only the first n changes of the file system happen.
func powerCut(m *atomicfile.Mem, n int) {
	m.SetFault(func(atomicfile.Op, string) error {
		if n--; n < 0 {
			return errPower
		}
		return nil
	})
}

// A power cut before any change of the disk, whatever subset of the unsynced
// changes survives it, leaves a loadable checkpoint, and after Save the new one.
func TestPowerLossAtEveryOperation(t *testing.T) {
	replaced := snapshot(3)
	replaced.Tensors["w"] = tensor.Scalar(true)
	for _, c := range []struct {
		name   string
		before []int64
		save   Snapshot
	}{
		{"first", nil, snapshot(3)},
		{"second", []int64{1}, snapshot(3)},
		{"with deletion", []int64{1, 2}, snapshot(3)},
		{"same again", []int64{1, 3}, snapshot(3)},
		{"only one replaced", []int64{3}, replaced},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := false
			for n := 0; !done; n++ {
				m := atomicfile.NewMem()
				s := newSaver(t, "/d", Options{FS: m, MaxToKeep: 2})
				mustSave(t, s, c.before...)
				powerCut(m, n)
				_, err := s.Save(ctx, c.save)
				done = err == nil
				for lost := range m.PowerLosses(64) {
					survivor(t, lost, n, len(c.before) > 0, done)
				}
			}
		})
	}
}

// survivor restarts after a power cut and continues.
func survivor(t *testing.T, m *atomicfile.Mem, cut int, must, saved bool) {
	t.Helper()
	// A reader may look before the chief is back.
	log, _ := bufferLogger()
	r, _, err := directory{fs: m, path: "/d", log: log}.openLatest(ctx)
	if err == nil {
		_ = r.Close()
	}
	if err != nil && (must || saved || !errors.Is(err, ErrNone)) {
		t.Fatalf("cut before change %d: reader: %v", cut, err)
	}
	s := newSaver(t, "/d", Options{FS: m, MaxToKeep: 2})
	r, err = s.OpenLatest(ctx)
	if err != nil && (must || saved || !errors.Is(err, ErrNone)) {
		t.Fatalf("cut before change %d: %v, files %v", cut, err, names(t, m))
	}
	if err == nil {
		defer r.Close()
		if saved && r.Step() != 3 {
			t.Fatalf("cut before change %d: step %d after Save returned", cut, r.Step())
		}
	}
	mustSave(t, s, 4)
	if got := latest(t, s); got != 4 {
		t.Fatalf("cut before change %d: step %d after a new save", cut, got)
	}
}

// TestNothingIsPendingAfterSave: once Save has returned, no power cut changes
// the content of any file, including the list, or removes one. Deleted
// files may come back.
func TestNothingIsPendingAfterSave(t *testing.T) {
	m := atomicfile.NewMem()
	s := newSaver(t, "/d", Options{FS: m, MaxToKeep: 2})
	for step := range int64(4) {
		mustSave(t, s, step)
		want := contents(t, m)
		if len(want) < 3 || len(want[StateFile]) == 0 {
			t.Fatalf("step %d: files %v", step, names(t, m))
		}
		for lost := range m.PowerLosses(64) {
			got := contents(t, lost)
			maps.DeleteFunc(got, func(name, _ string) bool { _, was := want[name]; return !was })
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("step %d: a power cut changes the files: %s", step, d)
			}
		}
	}
}

// contents returns the contents of the directory's files.
func contents(t *testing.T, m *atomicfile.Mem) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, n := range names(t, m) {
		b, err := atomicfile.ReadFile(m, "/d/"+n)
		if err != nil {
			t.Fatal(err)
		}
		all[n] = string(b)
	}
	return all
}

func TestDiskFullAndReadOnly(t *testing.T) {
	for errno, hint := range map[syscall.Errno]string{
		syscall.ENOSPC: "free some space", syscall.EROFS: "choose a model_dir that can be written to",
	} {
		m := atomicfile.NewMem()
		s := newSaver(t, "/d", Options{FS: m, MaxToKeep: 1})
		mustSave(t, s, 1)
		for n := 0; ; n++ { // the disk is full before its n-th change
			left := n
			m.SetFault(func(op atomicfile.Op, path string) error {
				if left--; left < 0 && op != atomicfile.OpRemove {
					return &os.PathError{Op: string(op), Path: path, Err: errno}
				}
				return nil
			})
			_, err := s.Save(ctx, snapshot(2))
			m.SetFault(nil)
			if err == nil {
				break
			}
			if !errors.Is(err, errno) || !strings.Contains(err.Error(), hint) || !strings.Contains(err.Error(), "/d/") {
				t.Fatalf("change %d: %v", n, err)
			}
			if got := latest(t, s); got < 1 {
				t.Fatalf("change %d: latest step %d", n, got)
			}
		}
		if d := cmp.Diff([]int64{2}, steps(t, s)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestUnwritableDirectory(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSaver(file, Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Fatalf("a file as model_dir: %v", err)
	}
	if os.Geteuid() == 0 {
		t.Skip("skipped: permissions do not bind the super-user")
	}
	s := newSaver(t, dir, Options{})
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if _, err := s.Save(context.Background(), snapshot(1)); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("got %v", err)
	}
}
