package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLayers fails for imports that go up, and for packages without a layer.
func TestLayers(t *testing.T) {
	layers, err := parseLayers(layersText)
	if err != nil {
		t.Fatal(err)
	}
	imports, err := readImports("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range upward(layers, imports) {
		t.Error(wrong)
	}
	for _, l := range layers {
		for _, f := range l.folders {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(imports)), func(dir string) bool { return dir == f || strings.HasPrefix(dir, f+"/") }) {
				t.Errorf("layers.txt: no package is in %s", f)
			}
		}
	}
}

// TestMap compares docs/architecture.md with the imports.
func TestMap(t *testing.T) {
	is, want, err := drawMap("../..")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, is); d != "" {
		t.Errorf("the map in docs/architecture.md is stale: run go generate ./scripts/house (-want +got):\n%s", d)
	}
}

// TestUpward violates the order in each way.
func TestUpward(t *testing.T) {
	layers, err := parseLayers("# comment\n\ntop: a b\nlow: c a/low\n")
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{"a": {"b", "c"}, "a/x": {"a/low"}, "b": {"a"}, "c": {"a/low"}, "a/low": {"a/x"}, "d": {"a"}, "c/y": {"b", "other"}}
	want := []string{
		"a/low (layer low) imports a/x (layer top above it)",
		"c/y (layer low) imports b (layer top above it)",
		"d is in no layer: add it to scripts/house/layers.txt",
	}
	if d := cmp.Diff(want, upward(layers, imports)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, bad := range []string{"top", "top:", "top: a\nlow: a", "top: a\ntop: b"} {
		if _, err := parseLayers(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestDraw writes a small map into a document.
func TestDraw(t *testing.T) {
	layers, err := parseLayers("top: a\nmiddle: b c\nlow: d b/low\n")
	if err != nil {
		t.Fatal(err)
	}
	drawn := houseMap(layers, map[string][]string{"a": {"b/x", "d"}, "b": {"b/low"}, "b/x": {"c"}, "b/xtest": {"d"}, "b/low": nil, "c": nil, "d": nil})
	want := `| layer | folder | packages below it | layers that it imports |
|---|---|---|---|
| top | ` + "`a`" + ` |  | middle, low |
| middle | ` + "`b`" + ` | x | low |
|  | ` + "`c`" + ` |  |  |
| low | ` + "`d`" + ` |  |  |
|  | ` + "`b/low`" + ` |  |  |
`
	if d := cmp.Diff(want, drawn); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	document := "before\n" + mapBegin + "old\n" + mapEnd + "after\n"
	got, err := withMap(document, drawn)
	if err != nil || got != "before\n"+mapBegin+"\n"+drawn+"\n"+mapEnd+"after\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := withMap("before\n"+mapBegin, drawn); err == nil {
		t.Error("a document without the map's end: no error")
	}
}

// upward returns the errors in the imports: packages without a layer, and imports of a higher layer.
func upward(layers []layer, imports map[string][]string) (wrong []string) {
	for dir, list := range imports {
		from, _ := find(layers, dir)
		if from < 0 {
			wrong = append(wrong, dir+" is in no layer: add it to scripts/house/layers.txt")
			continue
		}
		for _, to := range list {
			if i, _ := find(layers, to); i >= 0 && i < from {
				wrong = append(wrong, fmt.Sprintf("%s (layer %s) imports %s (layer %s above it)", dir, layers[from].name, to, layers[i].name))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}
