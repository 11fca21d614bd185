package main

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// readImports returns the packages of the module at root, each with the module's packages that it imports. It ignores tests.
func readImports(root string) (map[string][]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := moduleLine.FindSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%s/go.mod names no module", root)
	}
	files, err := sources(root, token.NewFileSet())
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, s := range files {
		if s.test {
			continue
		}
		list := out[s.dir()]
		for _, i := range s.syntax.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return nil, err
			}
			if dir, ok := strings.CutPrefix(path, string(m[1])+"/"); ok && !slices.Contains(list, dir) {
				list = append(list, dir)
			}
		}
		out[s.dir()] = list
	}
	return out, nil
}
