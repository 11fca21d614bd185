package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// asProgram makes the test binary run the example.
const asProgram = "GOESTIMATOR_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// start starts the example as the task of a TF_CONFIG, or as all tasks.
func start(t *testing.T, ctx context.Context, tfConfig string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	out := &bytes.Buffer{}
	cmd.Env = append(os.Environ(), asProgram+"=1", "TF_CONFIG="+tfConfig, "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// check checks the chief's output. Workers race, so a few predictions may be wrong.
func check(t *testing.T, out string) {
	t.Helper()
	for _, want := range []string{
		`embedding/embeddings/part_0 \[5 20\] on /job:ps/task:0\nembedding/embeddings/part_1 \[4 20\] on /job:ps/task:1\n`,
		`epoch 0, 5 steps: accuracy [01]\.\d+\n`,
		`final loss \d+\.\d+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("printed\n%s\nexpected %s", out, want)
		}
	}
	accuracy(t, out, `epoch 19, 5 steps: accuracy ([01]\.\d+)\n`)
	direct := accuracy(t, out, `evaluation on the chief: accuracy ([01]\.\d+) of 16 examples\n`)
	accuracy(t, out, `evaluation by functions: accuracy ([01]\.\d+)\n`)
	if all := accuracy(t, out, `evaluation on all workers: accuracy ([01]\.\d+) of 16 examples\n`); all != direct {
		t.Errorf("accuracy %s on all workers, %s on the chief: expected the same", all, direct)
	}
}

// accuracy returns the only group of a pattern, an accuracy that an untrained model would not reach.
func accuracy(t *testing.T, out, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if m == nil {
		t.Errorf("printed\n%s\nexpected %s", out, pattern)
		return ""
	}
	if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < 0.8 {
		t.Errorf("%s: expected an accuracy of 0.8 at least", m[0])
	}
	return m[1]
}

// TestOneProcess: without TF_CONFIG all tasks are in one process.
func TestOneProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd, out := start(t, ctx, "", "-epochs", "20")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check(t, out.String())
	checkEvaluator(t, out.String())
}

// TestCluster: with TF_CONFIG each task is a process, and ends with exit code 0.
func TestCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tasks := []replica.Task{{Type: replica.Chief}, {Type: replica.Worker}, {Type: replica.Worker, Index: 1}, {Type: replica.Worker, Index: 2},
		{Type: replica.PS}, {Type: replica.PS, Index: 1}, {Type: replica.Evaluator}}
	ports, err := freeport.Reserve(len(tasks))
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	cluster := map[string][]string{}
	for i, task := range tasks[:len(tasks)-1] { // the evaluator has no address
		cluster[task.Type] = append(cluster[task.Type], ports.Address(i))
	}
	dir := t.TempDir()
	running, outputs := make([]*exec.Cmd, len(tasks)), make([]*bytes.Buffer, len(tasks))
	for i, task := range tasks {
		running[i], outputs[i] = start(t, ctx, replica.TFConfig(cluster, task), "-model-dir", dir, "-epochs", "20")
	}
	for i, task := range tasks {
		if err := running[i].Wait(); err != nil {
			t.Errorf("%v: %v\n%s", task, err, outputs[i])
		}
		if task.Type != replica.Chief && strings.Contains(outputs[i].String(), "epoch") {
			t.Errorf("%v printed what the chief does:\n%s", task, outputs[i])
		}
	}
	check(t, outputs[0].String())
	checkEvaluator(t, outputs[len(tasks)-1].String())
}

// checkEvaluator checks what the evaluator prints about the last checkpoint.
func checkEvaluator(t *testing.T, out string) {
	t.Helper()
	accuracy(t, out, `evaluator, step 1\d\d: accuracy ([01]\.\d+) of 16 examples\n`)
}

// TestWrongFlags: flags that cannot be used give exit code 2.
func TestWrongFlags(t *testing.T) {
	for want, args := range map[string][]string{"0 epochs": {"-epochs", "0"}, `unexpected argument "4"`: {"4", "-epochs", "2"}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd, out := start(t, ctx, "", args...)
		err := cmd.Wait()
		cancel()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %v\n%s\nexpected exit code 2 and %q", args, err, out, want)
		}
	}
}

// TestAgain: a finished job continues training if it gets more epochs, and does not print an evaluation that did not run.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	for i, epochs := range []string{"1", "1", "2"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd, out := start(t, ctx, "", "-model-dir", dir, "-epochs", epochs)
		err := cmd.Wait()
		cancel()
		if err != nil || strings.Contains(out.String(), "of 0 examples") || strings.Contains(out.String(), "epoch ") != (i != 1) {
			t.Errorf("run %d: %v\n%s", i, err, out)
		}
	}
}
