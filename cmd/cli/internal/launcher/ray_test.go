package launcher

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// The driver has the job, and Python can read it.
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
