package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// dependency is a package as go list prints it.
type dependency struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *struct {
		Path string
		Main bool
	}
}

// heavy are modules that a program should get only if it asks for them, and what they are for.
var heavy = []struct{ module, what string }{
	{"gorgonia.org/gorgonia", "Gorgonia"}, {"gorgonia.org/cu", "CUDA"}, {"github.com/spf13/cobra", "command line"},
}

// readDependencies returns all packages that the module is built from, by import path.
// It asks for one platform without cgo, so that the answer is the same everywhere.
func readDependencies(root string) (map[string]*dependency, error) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Standard,Module", "./...")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	all := map[string]*dependency{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p dependency
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all[p.ImportPath] = &p
	}
}

// needs is what importing a package pulls in.
type needs struct {
	own, foreign int // packages
	modules      []string
}

// needsOf follows the imports of a package. It does not count the standard library.
func needsOf(all map[string]*dependency, path string) needs {
	var n needs
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		p := all[path]
		if seen[path] || p == nil || p.Standard {
			return
		}
		seen[path] = true
		switch {
		case p.Module == nil || p.Module.Main:
			n.own++
		default:
			n.foreign++
			if !slices.Contains(n.modules, p.Module.Path) {
				n.modules = append(n.modules, p.Module.Path)
			}
		}
		for _, i := range p.Imports {
			visit(i)
		}
	}
	visit(path)
	n.own-- // do not count path itself
	return n
}

// dependencyTable returns the content of docs/dependencies.md.
func dependencyTable(all map[string]*dependency) string {
	var b strings.Builder
	b.WriteString("# What each public package pulls in\n\nWritten by scripts/house; `go generate ./scripts/house` renews it. Packages of the standard library do not count.\n" +
		"The SDKs of S3, Google Cloud Storage and Azure are not in the table: the commands alone import them, through gocloud.dev/blob. Their signatures, credentials of pods and machines, retries and " +
		"regions are what an own client would never have whole; [ADR 36](adr/0036-models-in-buckets.md) has the reasons. Plain builds have S3; [build tags](build.md) add the others, or leave it out.\n\n")
	b.WriteString("| package | our packages | foreign packages | foreign modules | of these |\n|---|---:|---:|---:|---|\n")
	for _, path := range publicPaths(all) {
		n := needsOf(all, path)
		var heavies []string
		for _, h := range heavy {
			if slices.Contains(n.modules, h.module) {
				heavies = append(heavies, h.what)
			}
		}
		_, dir, _ := strings.Cut(strings.TrimPrefix(path, all[path].Module.Path), "/")
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %s |\n", dir, n.own, n.foreign, len(n.modules), strings.Join(heavies, ", "))
	}
	return b.String()
}

// publicPaths lists the sorted import paths of the module's public packages.
func publicPaths(all map[string]*dependency) []string {
	var out []string
	for path, p := range all {
		if p.Module == nil || !p.Module.Main {
			continue
		}
		if dir, ok := strings.CutPrefix(path, p.Module.Path+"/"); ok && isPublic(dir) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func dependencyFile(root string) string { return filepath.Join(root, "docs", "dependencies.md") }

// writeDependencies writes docs/dependencies.md.
func writeDependencies(root string) error {
	all, err := readDependencies(root)
	if err != nil {
		return err
	}
	return os.WriteFile(dependencyFile(root), []byte(dependencyTable(all)), 0o644)
}
