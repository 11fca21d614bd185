package launcher

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the files in testdata")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

var fashion = Job{
	Chiefs: 1, Workers: 2, PS: 2, Evaluators: 1, CoresPerTask: 4, Grace: 90 * time.Second, Restart: replica.ExitCode,
	Command: []string{"goestimator", "train", "--config", "it's here.yaml", "--set", "strategy.name=parameter_server"},
}

func manifest() Kubernetes {
	return Kubernetes{Job: fashion, Name: "fashion", Namespace: "ml", Image: "registry.example/train:1", VolumeClaim: "models", ModelDir: "/models/fashion", GPUs: 2, CleanPods: "Running", MaxRestarts: 20, Token: "0123abcd", EvaluatorWait: 5 * time.Minute}
}

func TestTFJobManifest(t *testing.T) {
	var b bytes.Buffer
	if err := WriteTFJob(&b, manifest()); err != nil {
		t.Fatal(err)
	}
	golden(t, "tfjob.yaml", b.Bytes())
}

func TestSmallTFJobManifest(t *testing.T) {
	var b bytes.Buffer
	k := Kubernetes{Job: Job{Workers: 1, Command: []string{"train", "yes", "1e3", "$(HOME)"}}, Name: "one", Image: "train", CleanPods: "None", MaxRestarts: -1, TokenSecret: "shared", EvaluatorWait: time.Minute}
	if err := WriteTFJob(&b, k); err != nil {
		t.Fatal(err)
	}
	golden(t, "tfjob_small.yaml", b.Bytes())
}

func TestJobSetManifest(t *testing.T) {
	small := Kubernetes{Job: Job{Workers: 1, Command: []string{"train"}, Restart: replica.Never}, Name: "one", Image: "train", MaxRestarts: -1, TokenSecret: "shared"}
	for name, k := range map[string]Kubernetes{"jobset.yaml": manifest(), "jobset_small.yaml": small} {
		var b bytes.Buffer
		if err := WriteJobSet(&b, k); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestJobSetErrors(t *testing.T) {
	for want, change := range map[string]func(*Kubernetes){
		"at most 43": func(k *Kubernetes) { k.Name = strings.Repeat("x", 44) },
		"image":      func(k *Kubernetes) { k.Image = "" },
		"Always":     func(k *Kubernetes) { k.Restart = replica.Always },
		"no tasks":   func(k *Kubernetes) { k.Chiefs, k.Workers = 0, 0 },
	} {
		k := manifest()
		change(&k)
		if err := WriteJobSet(&bytes.Buffer{}, k); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that tells of %q", err, want)
		}
	}
}

func TestTFJobErrors(t *testing.T) {
	for want, change := range map[string]func(*Kubernetes){
		"name":             func(k *Kubernetes) { k.Name = "Fashion_1" },
		"at most 51":       func(k *Kubernetes) { k.Name = strings.Repeat("x", 52) },
		"token secret":     func(k *Kubernetes) { k.TokenSecret = "A_b" },
		"namespace":        func(k *Kubernetes) { k.Namespace = "My_NS" },
		"volume claim":     func(k *Kubernetes) { k.VolumeClaim, k.ModelDir = "my claim", "/models" },
		"gpus":             func(k *Kubernetes) { k.GPUs = -1 },
		"evaluator":        func(k *Kubernetes) { k.EvaluatorWait = -1 },
		"image":            func(k *Kubernetes) { k.Image = "" },
		"absolute path":    func(k *Kubernetes) { k.ModelDir = "runs" },
		"clean pod policy": func(k *Kubernetes) { k.CleanPods = "Some" },
		"no command":       func(k *Kubernetes) { k.Command = nil },
	} {
		k := manifest()
		change(&k)
		if err := WriteTFJob(&bytes.Buffer{}, k); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that tells of %q", err, want)
		}
	}
}

func TestSbatch(t *testing.T) {
	for name, s := range map[string]Slurm{
		"sbatch.sh":       {Job: fashion, Name: "fashion", LogDir: "logs of mine", ModelDir: "/scratch/fashion", MaxRestarts: 5},
		"sbatch_small.sh": {Job: Job{Workers: 1, Command: []string{"train"}, Grace: time.Second, Restart: replica.Never}, Name: "one", MaxRestarts: 5},
	} {
		var b bytes.Buffer
		if err := WriteSbatch(&b, s); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
		if bash, err := exec.LookPath("bash"); err == nil {
			check := exec.Command(bash, "-n")
			check.Stdin = &b
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}
	}
}

func TestSbatchErrors(t *testing.T) {
	for want, s := range map[string]Slurm{
		"name":           {Job: fashion, Name: "a\nb"},
		"log folder":     {Job: fashion, Name: "a", LogDir: "a\nb"},
		"restart policy": {Job: Job{Workers: 1, Command: []string{"x"}, Restart: replica.Always}, Name: "a"},
		"no tasks":       {Name: "a"},
	} {
		if err := WriteSbatch(&bytes.Buffer{}, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that tells of %q", err, want)
		}
	}
}

// A shell reads a quoted word back unchanged.
func TestQuote(t *testing.T) {
	for _, word := range []string{"", "plain", "a b", "it's", `"$HOME"`, "`x`", "a\\b", "*", "~", "#", "a\nb", "ä", "a=b", "{x,y}"} {
		out, err := exec.Command("sh", "-c", "printf %s "+quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q: got %q, %v", word, out, err)
		}
	}
}
