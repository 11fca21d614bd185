package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// pkg is the output of `go list` for a package.
type pkg struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestGoFiles  []string
	XTestGoFiles []string
	TestImports  []string
	XTestImports []string
}

func (p pkg) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// module is the packages of the module that this program runs in.
type module struct {
	drawn     []pkg            // the packages that mutants are drawn from
	importers map[string][]pkg // the packages with tests that import a package, by its path
	packages  map[string]pkg
}

// loadModule lists all packages. Patterns choose the packages to draw from;
// packages only for tests, named ...test, are left out.
func loadModule(ctx context.Context, patterns []string) (*module, error) {
	all, err := list(ctx, "./...")
	if err != nil {
		return nil, err
	}
	drawn, err := list(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	m := &module{importers: map[string][]pkg{}, packages: map[string]pkg{}}
	for _, p := range drawn {
		if !strings.HasSuffix(p.ImportPath, "test") {
			m.drawn = append(m.drawn, p)
		}
	}
	for _, p := range all {
		m.packages[p.ImportPath] = p
		if !p.hasTests() {
			continue
		}
		imports := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		slices.Sort(imports)
		for _, imported := range slices.Compact(imports) {
			if imported != p.ImportPath {
				m.importers[imported] = append(m.importers[imported], p)
			}
		}
	}
	return m, nil
}

func list(ctx context.Context, patterns ...string) ([]pkg, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"list", "-json"}, patterns...)...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
}
