package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDependencies compares docs/dependencies.md with the imports, and checks that the
// independent packages do not import training code or the command line.
func TestDependencies(t *testing.T) {
	all, err := readDependencies("../..")
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(dependencyFile("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(dependencyTable(all), string(is)); d != "" {
		t.Errorf("docs/dependencies.md is stale: run go generate ./scripts/house (-want +got):\n%s", d)
	}
	for path, d := range all { // ADR 53
		const kernels = "github.com/apache/arrow/go/v15/parquet/pqarrow"
		if slices.Contains(d.Imports, kernels) && d.Module.Main && !strings.HasSuffix(path, "/bench") {
			t.Errorf("%s imports %s, which keeps 11 MB of Arrow's compute kernels: use internal/format/parquet", path, kernels)
		}
	}
	light := []string{"inputs", "serving/client", "runconfig", "tensor"}
	for _, path := range publicPaths(all) {
		dir := strings.TrimPrefix(path, all[path].Module.Path+"/")
		if !slices.Contains(light, dir) {
			continue
		}
		light = slices.DeleteFunc(light, func(l string) bool { return l == dir })
		for _, h := range heavy {
			if slices.Contains(needsOf(all, path).modules, h.module) {
				t.Errorf("%s pulls in %s (%s)", dir, h.what, h.module)
			}
		}
	}
	if len(light) > 0 {
		t.Errorf("no public packages: %v", light)
	}
}

func TestNeedsOf(t *testing.T) {
	module := func(path string, main bool) *struct {
		Path string
		Main bool
	} {
		return &struct {
			Path string
			Main bool
		}{path, main}
	}
	all := map[string]*dependency{
		"m/a":   {ImportPath: "m/a", Imports: []string{"m/b", "fmt", "x/one"}, Module: module("m", true)},
		"m/b":   {ImportPath: "m/b", Imports: []string{"x/one", "x/two"}, Module: module("m", true)},
		"x/one": {ImportPath: "x/one", Module: module("x", false)},
		"x/two": {ImportPath: "x/two", Imports: []string{"y"}, Module: module("x", false)},
		"y":     {ImportPath: "y", Module: module("y", false)},
		"fmt":   {ImportPath: "fmt", Standard: true},
	}
	want := needs{own: 1, foreign: 3, modules: []string{"x", "y"}}
	if d := cmp.Diff(want, needsOf(all, "m/a"), cmp.AllowUnexported(needs{})); d != "" {
		t.Error(d)
	}
}
