package runconfig

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scanLines maps every key of a YAML text to its line, and lists the keys that
// are given twice in different letters' case. A text that does not parse gives none.
func scanLines(source []byte) (lines map[string]int, twice []string) {
	s := lineScan{lines: map[string]int{}}
	var doc yaml.Node
	if yaml.Unmarshal(source, &doc) == nil && len(doc.Content) == 1 {
		s.visit("", doc.Content[0])
	}
	return s.lines, s.twice
}

type lineScan struct {
	lines   map[string]int
	twice   []string
	aliases int // within how many it is
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
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Kind != yaml.ScalarNode || n.Content[i].Tag == "!!merge" {
				continue
			}
			key := join(path, strings.ToLower(n.Content[i].Value))
			if s.lines[key] > 0 && s.aliases == 0 {
				s.twice = append(s.twice, key)
			}
			s.lines[key] = n.Content[i].Line
			s.visit(key, n.Content[i+1])
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			key := path + "[" + strconv.Itoa(i) + "]"
			s.lines[key] = item.Line
			s.visit(key, item)
		}
	case yaml.AliasNode:
		const deepest = 10 // of an alias within itself
		if s.aliases == deepest {
			return
		}
		s.aliases++
		s.visit(path, n.Alias)
		s.aliases--
	}
}
