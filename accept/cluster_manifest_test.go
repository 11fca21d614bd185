package accept

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/internal/testkit/tfjob"
	"go.yaml.in/yaml/v3"
)

// manifest is the part of a TFJob, and of the Secret before it, that the test reads.
type manifest struct {
	Kind       string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		RunPolicy struct {
			CleanPodPolicy tfjob.CleanPodPolicy `yaml:"cleanPodPolicy"`
			BackoffLimit   *int                 `yaml:"backoffLimit"`
		} `yaml:"runPolicy"`
		Replicas map[string]struct {
			Replicas int
			Restart  replica.RestartPolicy `yaml:"restartPolicy"`
			Template struct {
				Spec struct {
					Containers []struct {
						Command []string
						Env     []struct {
							Name, Value string
							From        struct {
								Secret struct{ Key string } `yaml:"secretKeyRef"`
							} `yaml:"valueFrom"`
						}
					}
				}
			}
		} `yaml:"tfReplicaSpecs"`
	}
}

// launchTFJob prints the manifest of a job and gives it to the operator, like kubectl.
func launchTFJob(t *testing.T, out *output, args ...string) *tfjob.Operator {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"launch", "--on", "kubernetes", "--image", "any"}, args...)...)
	cmd.Stderr = out
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("launch: %v: %s", err, out)
	}
	job, secrets := tfjob.Job{Replicas: map[string]tfjob.Replicas{}, Output: out, Env: []string{"GOMAXPROCS=1"}}, map[string]string{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if m.Kind == "Secret" {
			secrets = m.StringData
			continue
		}
		job.CleanPods, job.BackoffLimit = m.Spec.RunPolicy.CleanPodPolicy, m.Spec.RunPolicy.BackoffLimit
		for typ, r := range m.Spec.Replicas {
			c := r.Template.Spec.Containers[0]
			x := tfjob.Replicas{Count: r.Replicas, Restart: r.Restart, Command: c.Command}
			for _, e := range c.Env {
				if key := e.From.Secret.Key; key != "" {
					e.Value = secrets[key]
				}
				x.Env = append(x.Env, e.Name+"="+e.Value)
			}
			job.Replicas[strings.ToLower(typ)] = x
		}
	}
	o, err := tfjob.Start(job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// TestClusterTFJobManifest runs the manifest of launch: pods that still run when the chief has
// ended are deleted, but the chief does not end before the evaluator's last evaluation.
func TestClusterTFJobManifest(t *testing.T) {
	whole(t)
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	dir, out := filepath.Join(t.TempDir(), "model"), &output{}
	j := &tfJob{t: t, dir: dir, out: out}
	j.Operator = launchTFJob(t, out, append([]string{"--name", "m", "--chief", "1", "--workers", "1", "--ps", "1", "--evaluator", "1", "--", path, "train", "--config",
		filepath.Join(testkit.Root(), "accept/testdata/cluster.yaml"), "--set", "model_dir=" + dir, "--set", "train.max_steps=300"}, asynchronous...)...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last lines of the job:\n%s", tail(out.String()))
		}
	})
	j.awaitStep(1)
	if err := j.Signal("evaluator", 0, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	trained := func() bool {
		s, err := checkpoint.LoadRunState(atomicfile.OS{}, dir)
		return err == nil && s.Finished != nil
	}
	for until := time.Now().Add(patience); !trained(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("training does not end")
		}
	}
	j.wait("the end of the worker and the parameter server", func(s tfjob.Status) bool {
		w, _ := s.Pod("worker", 0)
		ps, _ := s.Pod("ps", 0)
		return w.PID == 0 && ps.PID == 0 || s.Finished()
	})
	if s := j.Status(); s.Finished() {
		t.Fatalf("the chief did not wait for the evaluator: %+v", s.Pods)
	}
	if err := j.Signal("evaluator", 0, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s := j.wait("the end of all pods", func(s tfjob.Status) bool {
		chief, _ := s.Pod("chief", 0)
		e, _ := s.Pod("evaluator", 0)
		return s.Finished() && chief.PID == 0 && e.PID == 0
	})
	if !s.Is(tfjob.Succeeded) || !strings.Contains(out.String(), "eval step=30") {
		t.Errorf("%s; expected success and an evaluation of the last step", s.Message(tfjob.Failed))
	}
}
