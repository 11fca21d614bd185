package compat

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goestimator/goestimator/cmd/cli"
)

var rewrite = flag.Bool("rewrite", false, "record testdata anew: for ./remake, at the commit that testdata is of")

// testdata is the absolute path of the folder, which stays valid after t.Chdir.
var testdata = func() string {
	path, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	return path
}()

// jobs are the names of the training jobs.
var jobs = []string{"columns", "dense", "recurrent", "trees"}

// atEachLevel runs test at the SIMD levels that have recorded numbers and that this machine supports.
func atEachLevel(t *testing.T, test func(t *testing.T, level string)) {
	if runtime.GOARCH != "amd64" {
		t.Skip("skipped: recorded on amd64; Go fuses x*y+z elsewhere")
	}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			restore, ok := setLevel(level)
			if !ok {
				t.Skipf("skipped: this machine has no %s", level)
			}
			t.Cleanup(restore)
			test(t, level)
		})
	}
}

// clearEnv unsets the environment variables that would change a config.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "GOESTIMATOR_") || name == "TF_CONFIG" {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
}

// copied copies a folder of testdata to a new working directory for the test.
func copied(t *testing.T, folder ...string) {
	t.Helper()
	clearEnv(t)
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS(filepath.Join(append([]string{testdata}, folder...)...))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
}

// command runs a command line and returns its standard output.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := cli.Run(context.Background(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("goestimator %s: exit code %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String()
}

// compared compares a text with a file of testdata, or writes the file if -rewrite is set.
func compared(t *testing.T, got string, path ...string) {
	t.Helper()
	file := filepath.Join(append([]string{testdata}, path...)...)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	if !utf8.ValidString(got) || !utf8.Valid(want) {
		t.Fatalf("%s: other bytes, %d of them, want %d", file, len(got), len(want))
	}
	wants, gots := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(wants), len(gots)) {
		w, g := line(wants, i), line(gots, i)
		if w != g {
			t.Fatalf("%s: line %d is\n%s\nwant\n%s", file, i+1, g, w)
		}
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}
