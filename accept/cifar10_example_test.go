package accept

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestCIFAR10Example trains examples/cifar10_resnet on CIFAR-10's images: the loss falls clearly in 100 steps, also with
// two tasks in a cluster.
func TestCIFAR10Example(t *testing.T) {
	whole(t)
	data := testkit.Shared(t, "data/cifar-10")
	bin := filepath.Join(t.TempDir(), "cifar10_resnet")
	build := exec.Command("go", "build", "-o", bin, "./examples/cifar10_resnet")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	flags := func(strategy string) []string {
		return append([]string{bin, "--data_dir", data, "--model_dir", t.TempDir(), "--resnet_size", "8", "--train_steps", "100"}, strings.Fields(strategy)...)
	}
	alone := flags("--strategy mirrored --replicas 2")
	for name, cmd := range map[string]*exec.Cmd{
		"mirrored": exec.Command(alone[0], alone[1:]...),
		"cluster":  command(t, append(strings.Fields("launch --chief 1 --workers 1 --evaluator 1 --"), flags("--strategy multi_worker_mirrored")...)...),
	} {
		t.Run(name, func(t *testing.T) {
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, tail(string(out)))
			}
			loss := regexp.MustCompile(`loss ([0-9.]+) at first, ([0-9.]+) at step 100`).FindSubmatch(out)
			accuracy := regexp.MustCompile(`accuracy ([0-9.]+)`).FindSubmatch(out)
			if loss == nil || accuracy == nil {
				t.Fatalf("expected losses and an accuracy, got\n%s", tail(string(out)))
			}
			first, last, share := number(t, loss[1]), number(t, loss[2]), number(t, accuracy[1])
			t.Logf("loss %v at first, %v at step 100, accuracy %v", first, last, share)
			if last > first*0.75 || share < 0.3 {
				t.Errorf("loss %v at first, %v at step 100, accuracy %v: expected a loss below three quarters and an accuracy above 0.3", first, last, share)
			}
		})
	}
}

func number(t *testing.T, text []byte) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
