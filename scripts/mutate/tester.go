package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// tester runs tests on mutants.
type tester struct {
	module   *module
	timeout  time.Duration
	parallel int
	ownOnly  bool // do not test importers
}

// compiles reports whether the package of a mutant still compiles.
func (t tester) compiles(ctx context.Context, m mutant) (bool, error) {
	overlay, remove, err := overlayOf(m)
	if err != nil {
		return false, err
	}
	defer remove()
	err = exec.CommandContext(ctx, "go", "build", "-overlay", overlay, m.Package).Run()
	if _, failed := errors.AsType[*exec.ExitError](err); failed && ctx.Err() == nil {
		return false, nil
	}
	return true, err
}

// test runs the tests of the mutant's package, then of the packages that
// import it, until one fails.
func (t tester) test(ctx context.Context, m mutant) (result, error) {
	overlay, remove, err := overlayOf(m)
	if err != nil {
		return result{}, err
	}
	defer remove()
	start := time.Now()
	r := result{Mutant: m}
	groups := [][]string{nil, nil}
	if t.module.packages[m.Package].hasTests() {
		groups[0] = []string{m.Package}
	}
	for _, p := range t.module.importers[m.Package] {
		if t.ownOnly {
			break
		}
		groups[1] = append(groups[1], p.ImportPath)
	}
	for _, group := range groups {
		if len(group) == 0 || r.Killed {
			continue
		}
		if r.Killed, r.By, r.How, err = t.fails(ctx, overlay, group); err != nil {
			return r, err
		}
	}
	r.Secs = time.Since(start).Seconds()
	return r, nil
}

// failures finds the names of packages and tests in the output of `go test`.
var failures = regexp.MustCompile(`(?m)^(?:FAIL[ \t]+(\S+)[ \t].*|\s*--- FAIL: (\S+).*|panic: (.*))$`)

// fails reports whether and which test of the packages fails.
func (t tester) fails(ctx context.Context, overlay string, packages []string) (failed bool, by, how string, err error) {
	args := []string{"test", "-overlay", overlay, "-vet=off", "-failfast",
		"-timeout", t.timeout.String(), "-p", fmt.Sprint(t.parallel)}
	out, err := exec.CommandContext(ctx, "go", append(args, packages...)...).CombinedOutput()
	if ctx.Err() != nil {
		return false, "", "", ctx.Err()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		return false, "", "", err
	}
	var tests []string
	for _, match := range failures.FindAllStringSubmatch(string(out), -1) {
		if match[1] != "" && by == "" {
			by = match[1]
		}
		if name := match[2] + match[3]; name != "" && len(tests) < 3 {
			tests = append(tests, name)
		}
	}
	if by == "" {
		by, tests = packages[0], []string{oneLine(string(out))}
	}
	return true, by, strings.Join(tests, ", "), nil
}

// overlayOf writes a mutant's file and an overlay that replaces the original with it.
func overlayOf(m mutant) (path string, remove func(), err error) {
	src, err := m.mutated()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	original, err := filepath.Abs(m.File)
	changed := filepath.Join(dir, filepath.Base(m.File))
	overlay, err2 := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	path = filepath.Join(dir, "overlay.json")
	err = errors.Join(err, err2, os.WriteFile(changed, src, 0o666), os.WriteFile(path, overlay, 0o666))
	if err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}
