package snippets

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/testkit"
)

// root is the folder of the repository.
var root = func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}()

// run are the pages whose blocks run, with environment variables that keep the runs short.
var run = []struct {
	page string
	env  []string
	repo bool // its commands need a clone
}{
	{page: "README.md", env: []string{"GOESTIMATOR_TRAIN_MAX_STEPS=20", "GOESTIMATOR_EVAL_INPUT_COUNT=500"}, repo: true},
	{page: "docs/start.md"},
	{page: "docs/tasks/tabular.md"},
	{page: "docs/tasks/images.md"},
	{page: "docs/tasks/text.md"},
	{page: "docs/tasks/recommendation.md"},
	{page: "docs/tasks/time-series.md"},
	{page: "docs/migrate-keras.md"},
	{page: "docs/migrate-lightning.md"},
}

// mostSkipped is the maximum number of blocks in these pages that do not run.
const mostSkipped = 8

// TestPages builds the program and runs the blocks of the pages in order.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	bin := t.TempDir()
	program, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	defer testkit.RemoveProgram()
	if err := os.Symlink(program, filepath.Join(bin, "goestimator")); err != nil {
		t.Fatal(err)
	}
	skipped := 0
	for _, r := range run {
		text, err := os.ReadFile(filepath.Join(root, r.page))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := Blocks(string(text))
		if err != nil {
			t.Fatalf("%s: %v", r.page, err)
		}
		for _, b := range blocks {
			if b.Skip != "" {
				t.Logf("%s:%d is not run: %s", r.page, b.Line, b.Skip)
				skipped++
			}
		}
		t.Run(r.page, func(t *testing.T) {
			p := page{t: t, name: r.page, dir: t.TempDir(), env: append(environment(bin), r.env...)}
			if r.repo {
				p.link("configs", "cmd", "examples")
			}
			p.run(blocks)
		})
	}
	if skipped > mostSkipped {
		t.Errorf("%d blocks are not run, expected at most %d", skipped, mostSkipped)
	}
}

// environment returns this process's environment without variables that change configs, with the folder bin first in PATH.
func environment(bin string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOESTIMATOR_") || strings.HasPrefix(v, "TF_CONFIG=") || strings.HasPrefix(v, "PATH=")
	})
	return append(env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
}

// page is a page whose blocks run.
type page struct {
	t         *testing.T
	name, dir string
	env       []string
	printed   string // by the latest block
}

// link links folders of the repository into the page's folder.
func (p *page) link(names ...string) {
	for _, name := range names {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(p.dir, name)); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *page) run(blocks []Block) {
	for _, b := range blocks {
		at := fmt.Sprintf("%s:%d", p.name, b.Line)
		switch {
		case b.Skip != "":
		case b.File != "":
			if err := os.WriteFile(filepath.Join(p.dir, filepath.FromSlash(b.File)), []byte(b.Text), 0o644); err != nil {
				p.t.Fatalf("%s: %v", at, err)
			}
			if b.Language == "go" && strings.Contains(b.Text, `"github.com/goestimator/`) {
				p.program(at, b.File)
			}
		case b.Output:
			if want, got := lines(b.Text), lines(p.printed); !matches(want, got) {
				p.t.Errorf("%s: got\n%s\nexpected\n%s", at, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		case b.Language == "sh":
			var err error
			if p.printed, err = p.shell(b.Text); err != nil {
				p.t.Fatalf("%s: %v", at, err)
			}
		}
	}
}

// program builds a program from a page with this module, and runs it.
func (p *page) program(at, file string) {
	made := filepath.Join(p.dir, strings.TrimSuffix(file, ".go"))
	build := exec.CommandContext(p.t.Context(), "go", "build", "-o", made, filepath.Join(p.dir, file))
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", at, err, out)
	}
	var err error
	if p.printed, err = p.shell("./" + filepath.Base(made)); err != nil {
		p.t.Fatalf("%s: %v", at, err)
	}
}

// shell runs commands and returns their standard output.
func (p *page) shell(script string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, 10*time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", errors.Join(err, fmt.Errorf("%s\n%s%s", script, stdout.String(), stderr.String()))
	}
	return stdout.String(), nil
}

var measured = regexp.MustCompile(`-?\d+\.\d+(e[-+]?\d+)?`)

// lines returns the lines of a text, with marks in place of numbers with a fraction.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, measured.ReplaceAllString(strings.TrimRight(line, " \r\n"), "<num>"))
	}
	return out
}

// matches reports whether lines equal the wanted ones; "..." stands for any number of lines.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "..." {
		return matches(want[1:], got) || len(got) > 0 && matches(want, got[1:])
	}
	return len(got) > 0 && want[0] == got[0] && matches(want[1:], got[1:])
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{{"a 0.5\n", "a 0.75\n", true}, {"a 5\n", "a 6\n", false}, {"a\n...\nz\n", "a\nb\nc\nz\n", true}, {"a\n...\n", "a\n", true}, {"a\n", "a\nb\n", false}, {"", "a\n", false}} {
		if ok := matches(lines(c.want), lines(c.got)); ok != c.ok {
			t.Errorf("%q, %q: got %v", c.want, c.got, ok)
		}
	}
}

// TestFirstProgram checks that the README's program is that of examples/first, which a test of the examples runs.
func TestFirstProgram(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(root, "examples", "first", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := Blocks(string(page))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(blocks, func(b Block) bool { return b.Language == "go" })
	if i < 0 || !strings.HasSuffix(string(program), blocks[i].Text) {
		t.Error("expected the README to show the end of examples/first/main.go")
	}
}
