package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed layers.txt
var layersText string

// layer is a set of packages at the same height.
type layer struct {
	name    string
	folders []string
}

// parseLayers reads the order of layers, the highest first.
func parseLayers(text string) ([]layer, error) {
	var out []layer
	seen := map[string]bool{}
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, folders, ok := strings.Cut(line, ":")
		l := layer{name, strings.Fields(folders)}
		if !ok || len(l.folders) == 0 {
			return nil, fmt.Errorf("line %d: got %q, expected \"name: folder folder ...\"", n+1, line)
		}
		for _, f := range append([]string{name + ":"}, l.folders...) {
			if seen[f] {
				return nil, fmt.Errorf("line %d: %s is there twice", n+1, f)
			}
			seen[f] = true
		}
		out = append(out, l)
	}
	return out, nil
}

// find returns the index of a package's layer and the folder in it that matches, or -1.
func find(layers []layer, dir string) (index int, folder string) {
	index = -1
	for i, l := range layers {
		for _, f := range l.folders {
			if (dir == f || strings.HasPrefix(dir, f+"/")) && len(f) > len(folder) {
				index, folder = i, f
			}
		}
	}
	return index, folder
}
