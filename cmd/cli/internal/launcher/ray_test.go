package launcher

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// The driver contains the job, and Python can parse it.
func TestRayDriver(t *testing.T) {
	r := Ray{Job: fashion, Name: `a "job"`, ModelDir: "/m", GPUs: 1, MaxRestarts: 3, FinishTimeout: 5e9}
	r.Command = []string{"goestimator", "train", `""" \ ''' é`}
	var b bytes.Buffer
	if err := WriteRay(&b, r); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(b.String(), `JOB = json.loads(r"""`)
	text, _, ok := strings.Cut(rest, `""")`)
	var j rayJob
	if err := json.Unmarshal([]byte(text), &j); err != nil || !ok {
		t.Fatalf("%v: %s", err, text)
	}
	if len(j.Tasks) != len(r.Tasks()) || j.Restarts != 3 || j.Finish != 5 || j.Env["GOESTIMATOR_MODEL_DIR"] != "/m" || j.Command[2] != r.Command[2] || j.Name != r.Name {
		t.Errorf("got %+v", j)
	}
	for i, task := range r.Tasks() {
		if gpu := j.Bundles[i]["GPU"] == 1; gpu != (task.Type != replica.PS) || j.Bundles[i]["CPU"] < 1 || j.Tasks[i][0] != task.Type {
			t.Errorf("%v: %v of %v", task, j.Bundles[i], j.Tasks[i])
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: no Python")
	}
	path := filepath.Join(t.TempDir(), "driver.py")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, "-m", "py_compile", path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// fullRay simulates a Ray cluster that never has room. Like Ray, it handles SIGTERM itself.
const fullRay = `
import signal, sys, time
class exceptions:
    class RayError(Exception): pass
class util:
    pass
def remote(**_): return lambda c: c
def init(**_): signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))
def get(_): time.sleep(3600)
def wait(refs, timeout, **_):
    print("waiting", flush=True)
    time.sleep(0.01)
    return [], refs
`

// A job that never gets room ends by a signal.
func TestRayDriverWaitsForRoom(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: no Python")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ray/__init__.py": fullRay, "ray/util/__init__.py": "",
		"ray/util/placement_group.py":       "import types\nplacement_group = lambda *_, **__: types.SimpleNamespace(ready=lambda: 0)\nremove_placement_group = print\n",
		"ray/util/scheduling_strategies.py": "PlacementGroupSchedulingStrategy = None\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := WriteRay(&b, Ray{Job: fashion, Name: "a", MaxRestarts: 3}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", b.String())
	cmd.Env, cmd.Stderr = append(os.Environ(), "PYTHONPATH="+dir), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "waiting" {
		t.Errorf("got %q, expected that it waits", lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("got %v, expected exit code 143", cmd.ProcessState)
	}
}

func TestRayMistakes(t *testing.T) {
	for want, change := range map[string]func(*Ray){
		"name":               func(r *Ray) { r.Name = "" },
		"gpus":               func(r *Ray) { r.GPUs = -1 },
		"restart policy":     func(r *Ray) { r.Restart = replica.Always },
		"no tasks that trai": func(r *Ray) { r.Chiefs, r.Workers = 0, 0 },
	} {
		r := Ray{Job: fashion, Name: "a"}
		change(&r)
		if err := WriteRay(&bytes.Buffer{}, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
