package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// badYAML returns the error, in one line, of a config file that the parser refuses as err says.
func badYAML(path string, source []byte, err error) error {
	var doc yaml.Node
	var types *yaml.TypeError
	text := ""
	switch parsed := yaml.Unmarshal(source, &doc); {
	case parsed == nil && len(doc.Content) == 1 && doc.Content[0].Kind != yaml.MappingNode:
		text = "expected keys with values, such as model_dir: runs/first"
	case errors.As(err, &types):
		text = strings.Join(types.Errors, "; ")
	default:
		_, text, _ = strings.Cut(err.Error(), "yaml: ")
		if at := tabbed(source); at > 0 {
			text += fmt.Sprintf(" (line %d begins with a tab, expected spaces)", at)
		}
	}
	return fmt.Errorf("config file %s: %s", path, text)
}

// tabbed is the first line that is indented by a tab, from 1; 0: none is.
func tabbed(source []byte) int {
	for i, line := range bytes.Split(source, []byte("\n")) {
		if rest := bytes.TrimLeft(line, " \t"); bytes.IndexByte(line[:len(line)-len(rest)], '\t') >= 0 {
			return i + 1
		}
	}
	return 0
}
