package config

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scanLines finds the places of a YAML text. A text that does not parse has none.
func scanLines(source []byte) *lineScan {
	s := &lineScan{lines: map[string]int{}, own: map[string]bool{}, numbers: map[string]string{}}
	var doc yaml.Node
	if yaml.Unmarshal(source, &doc) == nil && len(doc.Content) == 1 {
		s.visit("", doc.Content[0])
	}
	return s
}

// lineScan is what a YAML text has where. Keys are in lower case.
type lineScan struct {
	lines   map[string]int    // the line of each key and of each element of a list
	twice   []string          // keys that are given twice in different letters' case
	numbers map[string]string // whole numbers in lists, as they are written
	own     map[string]bool   // the keys that are written where they stand
	aliases int               // within how many it is
}

// maxLines bounds the keys that are found, as aliases within aliases multiply.
const maxLines = 1 << 16

// visit follows aliases: their keys have the lines where they were written.
func (s *lineScan) visit(path string, n *yaml.Node) {
	if len(s.lines) > maxLines {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		s.visitMap(path, n)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			key := path + "[" + strconv.Itoa(i) + "]"
			s.lines[key] = item.Line
			if item.ShortTag() == "!!int" {
				s.numbers[key] = item.Value
			}
			s.visit(key, item)
		}
	case yaml.AliasNode:
		s.visitShared(path, n.Alias)
	}
}

// visitMap visits what is merged (<<) first: keys of the map itself win.
func (s *lineScan) visitMap(path string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			s.visitMerged(path, n.Content[i+1])
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind != yaml.ScalarNode || n.Content[i].Tag == "!!merge" {
			continue
		}
		key := join(path, strings.ToLower(n.Content[i].Value))
		if s.aliases == 0 {
			if s.own[key] {
				s.twice = append(s.twice, key)
			}
			s.own[key] = true
		}
		s.lines[key] = n.Content[i].Line
		s.visit(key, n.Content[i+1])
	}
}

// visitMerged visits a map, or several; the first wins.
func (s *lineScan) visitMerged(path string, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		s.visitShared(path, n)
		return
	}
	for _, one := range slices.Backward(n.Content) {
		s.visitShared(path, one)
	}
}

// visitShared visits what has its lines elsewhere.
func (s *lineScan) visitShared(path string, n *yaml.Node) {
	const deepest = 10 // of an alias within itself
	if s.aliases == deepest {
		return
	}
	s.aliases++
	s.visit(path, n)
	s.aliases--
}
