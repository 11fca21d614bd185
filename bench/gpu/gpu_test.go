package main

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// emulated opens the emulated GPU.
func emulated(t *testing.T) *gpu {
	t.Helper()
	g, err := openGPU(t.Context(), true)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, dylib.ErrNoLoader) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// withTorch returns a Python that has PyTorch.
func withTorch(t *testing.T) string {
	t.Helper()
	python := filepath.Join(testkit.Root(), ".venv", "bin", "python")
	if err := exec.CommandContext(t.Context(), python, "-c", "import importlib.util as u; assert u.find_spec('torch')").Run(); err != nil {
		t.Skipf("skipped: no PyTorch in .venv (make peers): %v", err)
	}
	return python
}

func TestChecks(t *testing.T) {
	g := emulated(t)
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv("GOESTIMATOR_ACCEPT") != "1" && c.name != "train_mlp" && c.name != "move" && c.name != "memory" {
				t.Skip("skipped: takes seconds: set GOESTIMATOR_ACCEPT=1")
			}
			seen, err := c.run(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(seen)
		})
	}
}

// TestBench measures a small case against PyTorch; all cases with GOESTIMATOR_ACCEPT=1.
func TestBench(t *testing.T) {
	emulated(t)
	s := settings{emulated: true, names: "mlp_128", rounds: 2, block: time.Millisecond, limit: 3 * time.Minute, python: withTorch(t), out: t.TempDir()}
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		s.names = ""
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := writeTables(s.out, "nowhere"); err == nil || !strings.Contains(err.Error(), "emulated") {
		t.Errorf("expected the emulated GPU's results to be refused, got %v", err)
	}
}

// TestBenchWithoutPyTorch measures only ours, and reports that.
func TestBenchWithoutPyTorch(t *testing.T) {
	g := emulated(t)
	k := cases[0].tiny()
	s := settings{emulated: true, rounds: 2, block: time.Millisecond, python: filepath.Join(t.TempDir(), "no-python")}
	b := &bench{settings: s, g: g, r: &report{}, dir: t.TempDir(), until: time.Now().Add(time.Minute)}
	if err := b.measure(t.Context(), &k); err != nil {
		t.Fatal(err)
	}
	if len(b.r.Rows) != 1 || len(b.r.Missing) == 0 {
		t.Errorf("expected one row and what is missing, got %+v", b.r)
	}
	b.until = time.Now()
	if err := b.measure(t.Context(), &k); !errors.Is(err, errTime) {
		t.Errorf("expected no time left, got %v", err)
	}
}

// TestPeerThatDies: if a mode of the peer ends the process, the other modes run in a new one.
func TestPeerThatDies(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: starts PyTorch twice: set GOESTIMATOR_ACCEPT=1")
	}
	g := emulated(t)
	dir := t.TempDir()
	if err := writePeer(dir); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "torch_gpu.py"))
	if err != nil {
		t.Fatal(err)
	}
	dying := strings.Replace(string(script), "def prepare(kind):\n", "def prepare(kind):\n    if kind == 'dies':\n        sys.exit(7)\n", 1)
	if err := os.WriteFile(filepath.Join(dir, "torch_gpu.py"), []byte(dying), 0o644); err != nil {
		t.Fatal(err)
	}
	k := cases[0].tiny()
	k.Kinds = []string{"eager", "dies"}
	s := settings{emulated: true, rounds: 1, block: time.Millisecond, python: withTorch(t)}
	b := &bench{settings: s, g: g, r: &report{}, dir: dir, until: time.Now().Add(3 * time.Minute)}
	if err := b.measure(t.Context(), &k); err != nil {
		t.Fatal(err)
	}
	if len(b.r.Rows) != 2 || len(b.r.Missing) != 1 || !strings.Contains(b.r.Missing[0], "dies") {
		t.Errorf("expected two rows and one way missing, got %+v", b.r)
	}
}

// TestPeerThatHangs: nothing waits for ever for a peer.
func TestPeerThatHangs(t *testing.T) {
	dir := t.TempDir()
	script := "import time\nprint('{\"version\": \"0\"}', flush=True)\ntime.sleep(1000)\n"
	if err := os.WriteFile(filepath.Join(dir, "torch_gpu.py"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	p, err := startPeer(t.Context(), python, dir, &training{k: &cases[0]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ask(10*time.Millisecond, "reference"); !errors.Is(err, errEnded) {
		t.Errorf("expected the peer to be ended, got %v", err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// TestPeerThatEnds: the peer's last error output is reported, whichever pipe it closes first.
func TestPeerThatEnds(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	ready, end := "print('{\"version\": \"0\"}', flush=True)\n", "time.sleep(0.2)\nprint('out of luck', file=sys.stderr)\nsys.exit(3)\n"
	for name, script := range map[string]string{"before it is ready": "os.close(1)\n", "output": ready + "os.close(1)\n", "input": "os.close(0)\n" + ready} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "torch_gpu.py"), []byte("import os, sys, time\n"+script+end), 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := startPeer(t.Context(), python, dir, &training{k: &cases[0]})
			for range 2 {
				if p != nil {
					_, err = p.ask(time.Minute, "reference")
				}
				if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "out of luck") {
					t.Errorf("got %v, expected its end and its words", err)
				}
			}
			if p != nil && p.stop() != nil {
				t.Error("it has not been ended")
			}
		})
	}
}

// TestResNets counts the weights of the full networks, and compares with the paper and torchvision.
func TestResNets(t *testing.T) {
	for _, c := range []struct {
		name string
		want int
	}{{"resnet50_256", 25557032}, {"mlp_128", 784*512 + 512 + 512*256 + 256 + 256*10 + 10}} {
		ks, err := chosen(c.name)
		if err != nil {
			t.Fatal(err)
		}
		k := ks[0]
		k.Batch = 1
		tr, err := newTraining(&k, true)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, v := range tr.initials {
			if !strings.Contains(v.Name, "moving_") {
				got += tensor.NumElements(v.Shape)
			}
		}
		if got != c.want {
			t.Errorf("%s: expected %d weights, got %d", c.name, c.want, got)
		}
		flops, _ := tr.cost()
		if c.name == "resnet50_256" && (flops < 22e9 || flops > 26e9) { // 4.1e9 multiplications, three times except in the first layer
			t.Errorf("%s: expected about 24.5e9 operations in a step, got %d", c.name, flops)
		}
	}
}

func TestUniform(t *testing.T) {
	x := make([]float32, 1<<16)
	uniform(x, 5, 2)
	mean, square := 0.0, 0.0
	for _, v := range x {
		if v < -2 || v >= 2 {
			t.Fatalf("expected a number in [-2, 2), got %g", v)
		}
		mean, square = mean+float64(v)/float64(len(x)), square+float64(v)*float64(v)/float64(len(x))
	}
	if math.Abs(mean) > 0.02 || math.Abs(square-4.0/3) > 0.02 {
		t.Errorf("expected mean 0 and square %g, got %g and %g", 4.0/3, mean, square)
	}
}

func TestReport(t *testing.T) {
	r := &report{GPU: "a GPU", PyTorch: "2.5", Time: "2026-01-01T00:00:00Z", Ceilings: []ceiling{{"tf32", 400}, {"memory", 4000}}}
	r.Rows = []row{{Case: "mlp_128", Precision: "tf32", Contender: ours, Examples: 300, TFLOPS: 100, GBs: 1000, HostSteps: []string{"X: y"}},
		{Case: "mlp_128", Precision: "tf32", Contender: "graph", Examples: 200}, {Case: "mlp_128", Contender: "eager", Examples: 100}}
	r.miss("resnet50_256", errTime)
	dir := t.TempDir()
	document := filepath.Join(dir, "doc.md")
	if err := os.WriteFile(document, []byte("before\n"+tablesBegin+"old\n"+tablesEnd+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeTables(dir, document); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("expected nothing to be recorded, got %v", err)
	}
	if err := errors.Join(r.write(dir), writeTables(dir, document)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"before\n", "| 1.50 |", "| 25 % | 25 % |", "400.0 TFLOP/s", "1 ops ran on the host: X: y", "Left out: resnet50_256: no time was left", "\nafter\n"} {
		if !strings.Contains(string(text), s) {
			t.Errorf("expected %q in:\n%s", s, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old tables are still there")
	}
}

func TestNear(t *testing.T) {
	if err := near([]float64{2, 1}, []float64{2.01, 1}, 0.01); err != nil {
		t.Error(err)
	}
	for _, got := range [][]float64{{2.1, 1}, {2, math.NaN()}} {
		if near([]float64{2, 1}, got, 0.01) == nil || alike([]float64{2, 1}, got, 0.01) == nil {
			t.Errorf("expected %v to be refused", got)
		}
	}
	if finite([]float64{1, math.Inf(1)}) == nil {
		t.Error("expected an infinite loss to be refused")
	}
}

func TestCommand(t *testing.T) {
	for _, args := range [][]string{nil, {"run"}, {"bench", "-cases", "x", "-emulate"}, {"test", "-emulate", "-checks", "x"}, {"test", "-wrong"}} {
		var out strings.Builder
		if err := command(t.Context(), args, &out); err == nil {
			t.Errorf("%q: expected an error, got %q", args, out.String())
		}
	}
}

// TestScripts builds what a machine with a GPU needs and runs it here; without a GPU it must say so.
func TestScripts(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: builds several programs: set GOESTIMATOR_ACCEPT=1")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	folder := filepath.Join(t.TempDir(), "gpu")
	if out, err := exec.CommandContext(ctx, filepath.Join(testkit.Root(), "scripts", "gpu-build"), folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if openable(t) {
		t.Skip("skipped: this machine has a GPU: run make gpu-test")
	}
	for _, name := range []string{"gpu-test", "gpu-bench"} {
		out, err := exec.CommandContext(ctx, filepath.Join(folder, name)).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitNoGPU || !strings.Contains(string(out), "no GPU") {
			t.Errorf("%s: expected exit code %d and no GPU, got %v\n%s", name, exitNoGPU, err, out)
		}
	}
}

// TestArgumentsOfGPUTest: a mistyped seed is an error at the start, not in a check.
func TestArgumentsOfGPUTest(t *testing.T) {
	for _, c := range []struct {
		seed string // of the environment
		args []string
	}{{"", []string{"-seed"}}, {"", []string{"-seed", "x"}}, {"", []string{"-seed", "5", "6"}}, {"", []string{"7"}}, {"x", nil}} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), "scripts", "gpu-test"), c.args...)
		cmd.Env = append(os.Environ(), testkit.SeedVariable+"="+c.seed)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			t.Skipf("skipped: %v", err)
		}
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "expected nothing, or -seed and a number") {
			t.Errorf("%q: expected exit code 2 and what is expected, got %d: %s", c.args, code, out)
		}
	}
}

func openable(t *testing.T) bool {
	g, err := openGPU(t.Context(), false)
	if err != nil {
		return false
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	return true
}
