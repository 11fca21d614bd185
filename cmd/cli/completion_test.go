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
)

// asBinary makes the test binary the command line itself, for shells that call it.
const asBinary = "CLI_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		os.Unsetenv(asBinary)
		Main()
	}
	os.Exit(m.Run())
}

// What a shell is offered for the last of the words, and cobra's directive: 0 files,
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
		{"inspect ", []string{"checkpoint", "data", "events", "model", "savedmodel", "tf-config"}, "", ":4"},
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
		{"server --job-name ", []string{"ps"}, "worker", ":4"},
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
	for shell, script := range map[string]string{
		"bash": "source " + bashOwn + `; source <(goestimator completion bash)
COMP_WORDS=(goestimator train --set train.max_st); COMP_CWORD=3; COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
__start_goestimator; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh":  `compdef() { :; }; source <(goestimator completion zsh); typeset -f _goestimator > /dev/null && goestimator __complete train --set train.max_st`,
		"fish": `goestimator completion fish | source; complete -C "goestimator train --set train.max_st"`,
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip("skipped: not installed")
			}
			if _, err := os.Stat(bashOwn); shell == "bash" && err != nil {
				t.Skip("skipped: the package bash-completion is not installed")
			}
			cmd := exec.Command(shell, "-c", script)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "train.max_steps=") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
