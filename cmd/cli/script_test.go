package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "rewrite what the scripts in testdata expect")

// TestScripts runs testdata/*.txt. A script has files and command lines with
// their expected output, in order:
//
//	-- file NAME          the lines up to the next "--" are the file's content
//	-- set NAME=VALUE     sets an environment variable
//	-- stdin NAME         makes a file the standard input of the command lines that follow
//	-- cut NAME BYTES     shortens a file; NAME may be a glob, all matches are cut
//	-- process ARGUMENTS  runs a command line as a process of its own, which a failpoint may kill; it prints
//	                      nothing, but "= killed" where it was
//	-- run ARGUMENTS      runs a command line; the lines that follow are
//	> line                of standard output
//	! line                of standard error
//	= code                exit code, where it is not 0
//
// "..." alone stands for any number of lines, within a line for any
// text. Measured values and numbers with a fraction differ between machines and are
// written as <num>, the working directory as $WORK.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { runScript(t, f) })
	}
}

type script struct {
	t    *testing.T
	work string
	out  []string // the script as it would be rewritten
	bad  []string
}

func runScript(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "GOESTIMATOR_") || name == "TF_CONFIG" {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	s := &script{t: t, work: t.TempDir()}
	t.Chdir(s.work)
	for _, b := range blocks(string(text)) {
		s.block(b)
	}
	if !*rewrite {
		for _, b := range s.bad {
			t.Error(b)
		}
		if len(s.bad) > 0 {
			t.Logf("where the new text is meant: go test -run %s ./cmd/cli -rewrite", t.Name())
		}
		return
	}
	if err := os.WriteFile(path, []byte(strings.Join(s.out, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// blocks splits a script before each line that begins with "-- ".
func blocks(text string) [][]string {
	out := [][]string{nil}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "-- ") {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], line)
	}
	return out
}

func (s *script) block(lines []string) {
	if len(lines) == 0 {
		return
	}
	fields := strings.Fields(lines[0])
	if len(fields) < 3 || fields[0] != "--" {
		s.out = append(s.out, lines...)
		return
	}
	switch fields[1] {
	case "file":
		s.check(os.MkdirAll(filepath.Dir(fields[2]), 0o755))
		s.check(os.WriteFile(fields[2], []byte(strings.Join(lines[1:], "\n")+"\n"), 0o644))
	case "set":
		name, value, _ := strings.Cut(strings.TrimPrefix(lines[0], "-- set "), "=")
		s.t.Setenv(name, value)
	case "stdin":
		in, err := os.Open(fields[2])
		s.check(err)
		s.t.Cleanup(func() { in.Close() })
		before := os.Stdin
		os.Stdin = in
		s.t.Cleanup(func() { os.Stdin = before })
	case "cut":
		n, err := strconv.ParseInt(fields[3], 10, 64)
		s.check(err)
		names, err := filepath.Glob(fields[2])
		s.check(err)
		if len(names) == 0 {
			s.t.Fatalf("cut: no file %s", fields[2])
		}
		for _, name := range names {
			s.check(os.Truncate(name, n))
		}
	case "process":
		s.process(fields[2:], lines)
		return
	case "run":
		s.run(fields[2:], lines)
		return
	default:
		s.t.Fatalf("unknown line %q", lines[0])
	}
	s.out = append(s.out, lines...)
}

func (s *script) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// process runs a command line in a process of this binary.
func (s *script) process(args, lines []string) {
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asBinary+"=1")
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &exit) && exit.ExitCode() < 0:
		s.compare(lines, []string{"= killed"})
	case errors.As(err, &exit):
		s.compare(lines, []string{fmt.Sprintf("= %d", exit.ExitCode())})
	default:
		s.check(err)
		s.compare(lines, nil)
	}
}

// run runs a command line and compares its output.
func (s *script) run(args, lines []string) {
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), args, &stdout, &stderr)
	got := append(s.prefixed("> ", stdout.String()), s.prefixed("! ", stderr.String())...)
	if code != 0 {
		got = append(got, fmt.Sprintf("= %d", code))
	}
	s.compare(lines, got)
}

// compare compares the lines that a block expects with the actual ones.
func (s *script) compare(lines, got []string) {
	want := slices.DeleteFunc(slices.Clone(lines[1:]), func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
	if matches(want, got) {
		s.out = append(s.out, lines...)
		return
	}
	s.bad = append(s.bad, fmt.Sprintf("%s (-want +got):\n%s", lines[0], cmp.Diff(want, got)))
	s.out = append(append(append(s.out, lines[0]), got...), "")
}

var (
	fraction = regexp.MustCompile(`-?\b\d+\.\d+(e[-+]\d+)?\b|-?\b\d+e[-+]\d+\b`)
	measured = regexp.MustCompile(`((?:examples/sec|data_wait|loss|accuracy)(?:=|":))-?[\d.]+(?:e[-+]?\d+)?`)
	unique   = regexp.MustCompile(`\.tmp-[-\d]+`)
)

// prefixed is the lines of an output as written in a script.
func (s *script) prefixed(prefix, text string) []string {
	text = strings.ReplaceAll(text, s.work, "$WORK")
	var out []string
	for line := range strings.Lines(text) {
		line = measured.ReplaceAllString(strings.TrimSuffix(line, "\n"), "$1<num>")
		line = unique.ReplaceAllString(fraction.ReplaceAllString(line, "<num>"), ".tmp-<num>")
		out = append(out, strings.TrimRight(prefix+line, " "))
	}
	return out
}

// matches reports whether the lines are those expected; "..." skips lines of the same kind.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if len(want[0]) == 5 && want[0][2:] == "..." {
		if matches(want[1:], got) {
			return true
		}
		return len(got) > 0 && got[0][0] == want[0][0] && matches(want, got[1:])
	}
	return len(got) > 0 && matchesLine(want[0], got[0]) && matches(want[1:], got[1:])
}

// matchesLine reports whether a line is the one expected; "..." stands for any text.
func matchesLine(want, got string) bool {
	parts := strings.Split(want, "...")
	if len(parts) == 1 {
		return got == want
	}
	got, ok := strings.CutPrefix(got, parts[0])
	for _, p := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(got, p)
		got, ok = rest, ok && found
	}
	return ok && strings.HasSuffix(got, parts[len(parts)-1])
}
