package accept

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
)

// wholeVersions checks that every version in a base path is a complete model, and returns their number.
func wholeVersions(t *testing.T, base string) int {
	t.Helper()
	entries, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	versions := 0
	for _, e := range entries {
		if _, err := strconv.ParseInt(e.Name(), 10, 64); err != nil {
			continue
		}
		versions++
		if err := wholeModel(filepath.Join(base, e.Name())); err != nil {
			t.Errorf("version %s is there and not whole: %v", e.Name(), err)
		}
	}
	return versions
}

// wholeModel reads all parts of a version.
func wholeModel(dir string) error {
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		return err
	}
	g, err := m.MetaGraph("serve")
	if err != nil {
		return err
	}
	r, err := g.Variables()
	if err != nil {
		return err
	}
	defer r.Close()
	for _, v := range r.List() {
		if _, err := r.Tensor(v.Name); err != nil {
			return err
		}
	}
	_, err = os.Stat(filepath.Join(dir, "assets.extra", "tf_serving_warmup_requests"))
	return err
}

// killed reports whether a process ended by SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// exportJob returns the arguments of the job for the kill tests, with a warm-up request.
func exportJob(dir string) []string {
	return append(job(dir, "10"), "--set", "export.warm_up_requests=1")
}

// TestExportKills kills exports at random moments while a server watches their folder: no version is ever partial, and none fails in the server.
func TestExportKills(t *testing.T) {
	kills := 12
	if thorough(t) {
		kills = 60
	}
	dir, root := t.TempDir(), t.TempDir()
	args := exportJob(dir)
	train(t, args...)
	base := filepath.Join(root, "m")
	began := time.Now()
	exportTo(t, base, args...)
	takes := time.Since(began)
	s := serve(t, "--model", "m="+base)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; an export takes %v", seed, takes)
	r := rand.New(rand.NewPCG(seed, 0))
	ended := 0
	for range kills {
		cmd := command(t, append([]string{"export", "--to", base}, args...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(takes))))
		_ = cmd.Process.Kill() // it may have ended already
		if err := cmd.Wait(); !killed(err) {
			if err != nil {
				t.Errorf("an export that was not killed: %v", err)
			}
			ended++
		}
		wholeVersions(t, base)
	}
	last := exportTo(t, base, args...)
	n := wholeVersions(t, base)
	version, err := strconv.ParseInt(filepath.Base(last), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	c := s.dial()
	if !only(t, c, version) {
		t.Errorf("version %d is not served", version)
	}
	all, err := c.Status(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.Err != nil {
			t.Errorf("the server found version %d %s: %v", v.Version, v.State, v.Err)
		}
	}
	t.Logf("%d kills, %d exports had ended before; %d versions, all whole", kills-ended, ended, n)
}

// TestExportCrashPoints kills exports at every step of writing their variables.
func TestExportCrashPoints(t *testing.T) {
	thorough(t)
	dir, base := t.TempDir(), filepath.Join(t.TempDir(), "m")
	args := exportJob(dir)
	train(t, args...)
	for _, point := range failpoint.Names("bundle/") {
		cmd := command(t, append([]string{"export", "--to", base}, args...)...)
		cmd.Env = append(os.Environ(), "GOESTIMATOR_FAILPOINTS="+point+"=kill")
		if err := cmd.Run(); !killed(err) {
			t.Errorf("the export did not crash at %s: %v", point, err)
		}
		if n := wholeVersions(t, base); n != 0 {
			t.Errorf("after a crash at %s there are %d versions", point, n)
		}
		cmd = command(t, append([]string{"export", "--to", base}, args...)...)
		cmd.Env = append(os.Environ(), "GOESTIMATOR_FAILPOINTS="+point+"=error(the disk is full)")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the disk is full") {
			t.Errorf("an error at %s: %v: %s", point, err, out)
		}
		if left, _ := filepath.Glob(filepath.Join(base, fmt.Sprintf("*-%d-*", cmd.Process.Pid))); len(left) > 0 {
			t.Errorf("an error at %s leaves %v", point, left)
		}
	}
	exportTo(t, base, args...)
	if n := wholeVersions(t, base); n != 1 {
		t.Errorf("%d versions, expected 1", n)
	}
}
