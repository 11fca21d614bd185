package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The lines of docs/architecture.md before and after the map.
const (
	mapBegin = "<!-- The house map: written by scripts/house; go generate ./scripts/house renews it. -->\n"
	mapEnd   = "<!-- End of the house map. -->\n"
)

// block holds the packages of one folder of layers.txt.
type block struct {
	folder   string
	packages []string
	imports  map[int]bool // indices of layers
}

// houseMap writes the packages in their layers as Markdown.
func houseMap(layers []layer, imports map[string][]string) string {
	blocks := map[string]*block{}
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		own, folder := find(layers, dir)
		b := blocks[folder]
		if b == nil {
			b = &block{folder: folder, imports: map[int]bool{}}
			blocks[folder] = b
		}
		b.packages = append(b.packages, dir)
		for _, to := range imports[dir] {
			if i, _ := find(layers, to); i != own {
				b.imports[i] = true
			}
		}
	}
	var out strings.Builder
	out.WriteString("| layer | folder | packages below it | layers that it imports |\n|---|---|---|---|\n")
	for _, l := range layers {
		name := l.name
		for _, f := range l.folders {
			if b := blocks[f]; b != nil {
				fmt.Fprintf(&out, "| %s | `%s` | %s | %s |\n", name, f, b.below(), b.layers(layers))
				name = ""
			}
		}
	}
	return out.String()
}

// below lists the packages, without those that only tests use.
func (b *block) below() string {
	var out []string
	for _, dir := range b.packages {
		if name := strings.TrimPrefix(dir, b.folder+"/"); dir != b.folder && !testsOnly(dir) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// layers lists the layers that the packages import.
func (b *block) layers(all []layer) string {
	var out []string
	for _, i := range slices.Sorted(maps.Keys(b.imports)) {
		if i >= 0 {
			out = append(out, all[i].name)
		}
	}
	return strings.Join(out, ", ")
}

// withMap returns a document with its map replaced.
func withMap(document, drawn string) (string, error) {
	before, rest, ok := strings.Cut(document, mapBegin)
	_, after, ok2 := strings.Cut(rest, mapEnd)
	if !ok || !ok2 {
		return "", fmt.Errorf("expected the lines %q and %q", strings.TrimSpace(mapBegin), strings.TrimSpace(mapEnd))
	}
	return before + mapBegin + "\n" + drawn + "\n" + mapEnd + after, nil
}

// drawMap returns the current and the expected docs/architecture.md of the module at root.
func drawMap(root string) (is, want string, err error) {
	layers, err := parseLayers(layersText)
	if err != nil {
		return "", "", fmt.Errorf("layers.txt: %w", err)
	}
	imports, err := readImports(root)
	if err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(mapFile(root))
	if err != nil {
		return "", "", err
	}
	want, err = withMap(string(text), houseMap(layers, imports))
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", mapFile(root), err)
	}
	return string(text), want, nil
}

func mapFile(root string) string { return filepath.Join(root, "docs", "architecture.md") }

// writeMap writes the map into docs/architecture.md.
func writeMap(root string) error {
	_, want, err := drawMap(root)
	if err != nil {
		return err
	}
	return os.WriteFile(mapFile(root), []byte(want), 0o644)
}
