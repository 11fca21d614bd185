// Package examples builds and runs every example and checks its output.
package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestExamples(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want []string // parts of standard output
	}{
		{"first", nil, []string{"step 500 accuracy 0.9"}},
		{"custom_model", nil, []string{"accuracy above 0.9: true"}},
		{"gorgonia_model", nil, []string{"auc above 0.99: true"}},
		{"csv", nil, []string{"rmse below 0.05: true"}},
		{"hooks", nil, []string{"state survived: true, evaluated at step 200"}},
		{"custom_loop", []string{"-model-dir", filepath.Join(t.TempDir(), "loop")}, []string{"default, 1 replicas in sync: accuracy above 0.9: true"}},
		{"cifar10_resnet", strings.Fields("-resnet_size 8 -batch_size 32 -train_steps 24 -strategy mirrored -replicas 2 -model_dir " + filepath.Join(t.TempDir(), "resnet")),
			[]string{"resnet-8, mirrored: accuracy ", "above 0.5: true"}},
		{"gpt", strings.Fields("-packages sort -steps 60 -below 3.1 -write 20 -model_dir " + filepath.Join(t.TempDir(), "gpt") + " -export " + filepath.Join(t.TempDir(), "export")),
			[]string{"loss below 3.1: true", "func ", "exported to "}},
		{"networks", strings.Fields("-network text_cnn -export " + t.TempDir()), []string{"accuracy above 0.97: true", "exported to "}},
		{"networks", strings.Fields("-network lstm_classifier"), []string{"accuracy above 0.95: true"}},
		{"networks", strings.Fields("-network resnet50"), []string{"accuracy above 0.9: true"}},
		{"networks", strings.Fields("-network unet"), []string{"dice above 0.9: true"}},
		{"networks", strings.Fields("-network autoencoder"), []string{"mean_squared_error below 0.02: true"}},
		{"networks", strings.Fields("-network vae"), []string{"mean_squared_error below 0.03: true"}},
		{"networks", strings.Fields("-network two_tower"), []string{"precision_at_10 above 0.95: true"}},
		{"networks", strings.Fields("-network dcn"), []string{"accuracy above 0.96: true"}},
		{"transformer_classifier", nil, []string{"accuracy above 0.9: true"}},
		{"own_server", nil, []string{"rent between 1040 and 1100: true"}},
		{"own_binary", []string{"train", "--config", "own_binary/xor.yaml"}, []string{"accuracy=1\n", "stop_reason=max_steps"}},
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./...", "../cmd/goestimator").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, c := range cases {
		t.Run(strings.Join(append([]string{c.name}, c.args[:min(len(c.args), 2)]...), " "), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			args := c.args
			if len(args) > 0 && args[0] == "train" {
				args = append(args, "--set", "model_dir="+filepath.Join(bin, "model"))
			}
			cmd := exec.CommandContext(ctx, filepath.Join(bin, c.name), args...)
			cmd.Env = append(os.Environ(), "TMPDIR="+bin)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			for _, w := range c.want {
				if !strings.Contains(stdout.String(), w) {
					t.Errorf("printed %q, expected %q in it", stdout.String(), w)
				}
			}
		})
	}
	for _, c := range []struct{ name, launch, strategy string }{
		{"parameter_server", "--chief 1 --workers 1 --ps 2 --evaluator 1", "default"},
		{"multi_worker_mirrored", "--chief 1 --workers 1 --evaluator 1", "multi_worker_mirrored"},
	} {
		t.Run("cluster/"+c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			args := append([]string{"launch"}, strings.Fields(c.launch)...)
			args = append(args, "--", filepath.Join(bin, "cluster"), "-model-dir", filepath.Join(t.TempDir(), c.name), "-strategy", c.strategy)
			out, err := exec.CommandContext(ctx, filepath.Join(bin, "goestimator"), args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "evaluator: accuracy above 0.9: true") {
				t.Errorf("%v\n%s\nexpected the evaluator's accuracy above 0.9", err, out)
			}
		})
	}
	testCustomLoop(t, bin)
	testGenerated(t, bin)
	testServable(t, bin)
}

// testServable exports each network that has its own outputs, and runs the server's check on it.
func testServable(t *testing.T, bin string) {
	for _, network := range []string{"unet", "two_tower"} {
		dir := t.TempDir()
		if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "networks"), "-network", network, "-export", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "goestimator"), "serve", "--check", dir).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "serving_default: answers a dry run") {
			t.Errorf("%s: %v\n%s", network, err, out)
		}
	}
}

// testGenerated requests the text from a server that the example generated before it exported its model.
func testGenerated(t *testing.T, bin string) {
	dir := t.TempDir()
	gpt := filepath.Join(bin, "gpt")
	out, err := exec.CommandContext(t.Context(), gpt, strings.Fields("-packages sort -steps 30 -below 9 -context 64 -write 50 -export "+dir)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.CommandContext(t.Context(), filepath.Join(bin, "goestimator"), "serve", "--json", "--host", "127.0.0.1", "--port", "0", "--model", "gpt="+filepath.Join(dir, "gpt"))
	stdout, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	}()
	var at struct{ GRPC string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err)
	}
	streamed, err := exec.CommandContext(t.Context(), gpt, "-ask", at.GRPC, "-write", "50").Output()
	if err != nil || len(streamed) != len("func ")+50+1 || !strings.Contains(string(out), string(streamed)) {
		t.Errorf("%v: the server wrote %q, the example\n%s", err, streamed, out)
	}
}

// testCustomLoop runs the custom loop under every strategy, in one process and in clusters.
func testCustomLoop(t *testing.T, bin string) {
	loop := filepath.Join(bin, "custom_loop")
	for _, c := range []struct{ launch, args, want string }{
		{"", "-strategy one_device", "one_device, 1 replicas in sync: accuracy above 0.9: true"},
		{"", "-strategy mirrored -replicas 2", "mirrored, 2 replicas in sync: accuracy above 0.9: true"},
		{"", "-strategy central_storage -replicas 2", "central_storage, 2 replicas in sync: accuracy above 0.9: true"},
		{"--chief 1 --workers 1", "-strategy multi_worker_mirrored", "multi_worker_mirrored, 2 replicas in sync: accuracy above 0.9: true"},
		{"--chief 1 --workers 1 --ps 2", "", "parameter_server, 1 replicas in sync: accuracy above 0.9: true"},
	} {
		t.Run("custom_loop/"+strings.TrimSpace(c.launch+" "+c.args), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			program := append([]string{loop, "-model-dir", t.TempDir()}, strings.Fields(c.args)...)
			if c.launch != "" {
				program = slices.Concat([]string{filepath.Join(bin, "goestimator"), "launch"}, strings.Fields(c.launch), []string{"--"}, program)
			}
			out, err := exec.CommandContext(ctx, program[0], program[1:]...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v\n%s\nexpected %q", err, out, c.want)
			}
		})
	}
}
