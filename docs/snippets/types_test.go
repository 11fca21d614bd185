package snippets

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imported are the packages that snippets may use, by name. The public packages of the module are added.
var imported = map[string]string{"context": "context", "errors": "errors", "fmt": "fmt", "io": "io", "log": "log", "time": "time", "sql": "database/sql", "iter": "iter", "http": "net/http",
	"gorgonia": "gorgonia.org/gorgonia", "G": "gorgonia.org/gorgonia"}

// TestGo checks the types in the Go snippets on the pages. Names that a page does not declare, such as
// ctx, may have any type.
func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks the go command for all packages")
	}
	c := newChecker(t)
	checked := 0
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		blocks, err := Blocks(string(text))
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		for _, b := range blocks {
			if b.Language != "go" || b.Skip != "" || strings.HasPrefix(b.Text, "package ") {
				continue // whole programs are built
			}
			for _, mistake := range c.check(b.Text) {
				t.Errorf("%s, the block at line %d: %s", name, b.Line, mistake)
			}
			checked++
		}
		return nil
	})
	if err != nil || checked < 20 {
		t.Errorf("%d blocks, %v", checked, err)
	}
	for text, want := range map[string]string{
		"ds, err := inputs.FromNothing(rows)":                                              "undefined: inputs.FromNothing",
		"est, err := estimator.New(heads.MultiClass(\"ten\"))":                             "cannot use \"ten\"",
		"ds = inputs.Pipe(ds, inputs.Shuffel(3, seed))":                                    "undefined: inputs.Shuffel",
		"func f() int {\n\treturn inputs.Batch\n}":                                         "cannot use inputs.Batch",
		"spec := estimator.TrainSpec{Inputs: input}":                                       "unknown field Inputs",
		"for {\n\tx := inputs.Unknown\n":                                                   "undefined: inputs.Unknown",
		"if ok := 1; ok {":                                                                 "non-boolean condition",
		"x := inputs.Batch(1, false))":                                                     "expected",
		"s, err := distribute.New(rc)\nres, err := s.Nothing(ctx)\n...\nfor {\n\t...\n}\n": "s.Nothing undefined",
	} {
		if got := strings.Join(c.check(text), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q: got %q, expected %q", text, got, want)
		}
	}
}

// checker checks the types in snippets.
type checker struct {
	names    map[string]string // paths of packages by name
	fset     *token.FileSet
	importer types.Importer
	text     string // the current snippet
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Export}}", "./..."}
	for _, path := range imported {
		args = append(args, path)
	}
	list := exec.CommandContext(t.Context(), "go", args...)
	list.Dir = root
	var errs bytes.Buffer
	list.Stderr = &errs
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	c := &checker{names: map[string]string{}, fset: token.NewFileSet()}
	exports := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		if exports[f[0]] = f[2]; public(f[0]) && (c.names[f[1]] == "" || strings.Contains(f[0], "/distribute/")) {
			c.names[f[1]] = f[0]
		}
	}
	for name, path := range imported {
		c.names[name] = path
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// public reports whether a package is meant for users.
func public(path string) bool {
	below, own := strings.CutPrefix(path, "github.com/goestimator/goestimator/")
	return own && !strings.Contains(path, "/internal/") && !strings.HasPrefix(below, "internal/") &&
		!slices.Contains([]string{"accept", "bench", "docs", "examples", "interop", "scripts", "tools"}, strings.Split(below, "/")[0])
}

// check returns the errors in a snippet.
func (c *checker) check(text string) []string {
	c.text = text
	source, err := c.program(text)
	if err != nil {
		return []string{err.Error()}
	}
	file, err := parser.ParseFile(c.fset, "block.go", source, 0)
	if err != nil {
		return []string{fmt.Sprintf("%v in\n%s", err, source)}
	}
	var mistakes []string
	conf := types.Config{Importer: c.importer, Error: func(err error) {
		if m := err.(types.Error).Msg; !c.mayBe(m) {
			mistakes = append(mistakes, m)
		}
	}}
	_, _ = conf.Check("block", c.fset, []*ast.File{file}, nil) // Error collects all errors
	return mistakes
}

// mayBe reports whether a message is about something that a snippet may leave out.
func (c *checker) mayBe(message string) bool {
	if name, ok := strings.CutPrefix(message, "undefined: "); ok {
		return !strings.Contains(name, ".") && (c.names[name] == "" || !strings.Contains(c.text, name+"."))
	}
	return slices.ContainsFunc([]string{"declared and not used", "no new variables on left side", "imported and not used", "return values", "missing return", "cannot infer", "is not used"},
		func(part string) bool { return strings.Contains(message, part) })
}

// program makes a file from a snippet: declarations at the top level, statements in a function. It drops ... and closes open blocks.
func (c *checker) program(text string) (string, error) {
	var declared, stated strings.Builder
	open, within := 0, false // braces; a declaration
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "..." {
			continue
		}
		line = strings.ReplaceAll(line, "{ ... }", "{}")
		if open == 0 {
			within = strings.HasPrefix(line, "func ") || strings.HasPrefix(line, "type ")
		}
		if open += strings.Count(line, "{") - strings.Count(line, "}"); within {
			declared.WriteString(line)
		} else {
			stated.WriteString(line)
		}
	}
	if open < 0 {
		return "", fmt.Errorf("it has %d braces too many", -open)
	}
	if end := strings.Repeat("}\n", open); within {
		declared.WriteString(end)
	} else {
		stated.WriteString(end)
	}
	var imports strings.Builder
	for name, path := range c.names {
		if strings.Contains(text, name+".") {
			fmt.Fprintf(&imports, "import %s %q\n", name, path)
		}
	}
	return fmt.Sprintf("package block\n%s%s\nfunc _() {\n%s}\n", imports.String(), declared.String(), stated.String()), nil
}
