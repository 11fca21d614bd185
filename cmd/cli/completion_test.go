package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// asBinary makes the test binary act as the command line, for shells that call it.
const asBinary = "CLI_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		Main()
	}
	code := m.Run()
	testkit.RemoveProgram()
	os.Exit(code)
}

// TestCompletions: what a shell offers for the last word, and cobra's directive: 0 files,
// 2 no space, 4 no files, 8 files by extension, 16 folders.
func TestCompletions(t *testing.T) {
	for _, c := range []struct {
		words     string // an empty last word ends in a blank
		want      []string
		without   string
		directive string
	}{
		{"tra", []string{"train"}, "serve", ":4"},
		{"", []string{"train", "serve", "version", "completion", "help"}, "", ":4"},
		{"inspect ", []string{"checkpoint", "data", "events", "model", "savedmodel", "shards", "tf-config"}, "", ":4"},
		{"help inspect ", []string{"checkpoint"}, "", ":4"},
		{"completion ", []string{"bash", "zsh", "fish"}, "", ":4"},
		{"train --pro", []string{"--profile"}, "", ":4"},
		{"train --config ", []string{"yaml", "yml"}, "", ":8"},
		{"train --set train.max_", []string{"train.max_steps=", "train.max_secs="}, "run.max_restarts=", ":6"},
		{"evaluate --set model.par", []string{"model.params."}, "", ":6"},
		{"server --set rpc.", []string{"rpc.ca_file="}, "", ":6"},
		{"train --set data_dir=", nil, "data_dir=", ":0"},
		{"train --set seed=", nil, "seed=", ":4"},
		{"train ", nil, "train", ":4"},
		{"inspect data --section ", []string{"train", "eval", "predict"}, "", ":4"},
		{"inspect model --mode ", []string{"train", "eval", "infer"}, "", ":4"},
		{"inspect checkpoint ", nil, "", ":0"},
		{"export --to ", nil, "", ":16"},
		{"export --format ", []string{"savedmodel", "onnx"}, "", ":4"},
		{"export --modes ", []string{"infer,eval"}, "", ":4"},
		{"report --model-dir ", nil, "", ":16"},
		{"report --out ", []string{"html"}, "", ":8"},
		{"predict --input ", []string{"csv", "tfrecord"}, "", ":8"},
		{"predict --output ", []string{"parquet"}, "", ":8"},
		{"server --job-name ", []string{"ps", "worker", "chief"}, "server", ":4"},
		{"launch --on ", []string{"local", "kubernetes", "jobset", "slurm"}, "", ":4"},
		{"launch --restart ", []string{"exit-code"}, "", ":4"},
		{"launch --clean-pod-policy ", []string{"Running"}, "", ":4"},
		{"launch --log-dir ", nil, "", ":16"},
		{"launch --model-dir ", nil, "", ":16"},
		{"serve --model_root ", nil, "", ":16"},
		{"serve --model-base-path ", nil, "", ":16"},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"__complete"}, strings.Split(c.words, " ")...)
		if code := Run(context.Background(), args, &stdout, &stderr); code != 0 {
			t.Errorf("%q: exit code %d: %s", c.words, code, stderr.String())
		}
		var got []string
		for line := range strings.Lines(stdout.String()) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		for _, want := range append(c.want, c.directive) {
			if !slices.Contains(got, want) {
				t.Errorf("%q: no %s in %q", c.words, want, got)
			}
		}
		if c.without != "" && slices.Contains(got, c.without) {
			t.Errorf("%q: %s in %q", c.words, c.without, got)
		}
	}
}

// The scripts work in the shells that they are for.
func TestCompletionScripts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	shim := "#!/bin/sh\n" + asBinary + "=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "goestimator"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	const bashOwn = "/usr/share/bash-completion/bash_completion"
	const ask = `ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=(); __start_goestimator; printf '%s\n' "${COMPREPLY[@]}"; }
`
	for _, c := range []struct{ name, shell, script, want string }{
		{"bash with its package", "bash", "source " + bashOwn + "; source <(goestimator completion bash); " + ask + "ask goestimator train --set train.max_st", "train.max_steps="},
		{"bash", "bash", "source <(goestimator completion bash); " + ask + "ask goestimator train --set train.max_st", "train.max_steps="},
		{"bash, an empty word", "bash", "source <(goestimator completion bash); " + ask + "ask goestimator inspect ''", "checkpoint"},
		{"bash, in the midst of a line", "bash", "source <(goestimator completion bash); " + ask + "COMP_POINT=14; COMP_LINE='goestimator tr --json' __start_goestimator; echo $COMPREPLY", "train"},
		{"bash, files", "bash", "touch a.yaml a.txt; mkdir ab; source <(goestimator completion bash); " + ask + "ask goestimator train --config=a", "a.yaml\nab"},
		{"bash, folders", "bash", "touch a.yaml; mkdir ab; source <(goestimator completion bash); " + ask + "ask goestimator report --model-dir a", "ab"},
		{"zsh", "zsh", "source <(goestimator completion zsh) && [[ $_comps[goestimator] == _goestimator ]] && goestimator __complete train --set train.max_st", "train.max_steps="},
		{"fish", "fish", `goestimator completion fish | source; complete -C "goestimator train --set train.max_st"`, "train.max_steps="},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.shell); err != nil {
				t.Skip("skipped: not installed")
			}
			if _, err := os.Stat(bashOwn); strings.Contains(c.script, bashOwn) && err != nil {
				t.Skip("skipped: the package bash-completion is not installed")
			}
			cmd := exec.Command(c.shell, "-c", c.script)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "not found") {
				t.Errorf("%v: got %s, expected %s", err, out, c.want)
			}
		})
	}
}
