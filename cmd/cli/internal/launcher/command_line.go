package launcher

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// commandLine is a command in a manifest. Words with several lines are quoted: the YAML library would write them as blocks, which it
// cannot read back if a line begins with a space or a tab.
type commandLine []string

// MarshalYAML returns a list of words.
func (c commandLine) MarshalYAML() (any, error) {
	words := make([]any, len(c))
	for i, word := range c {
		words[i] = word
		quoted := &yaml.Node{}
		if quoted.SetString(word); strings.ContainsAny(word, "\n\t") && quoted.Tag == "!!str" {
			quoted.Style = yaml.DoubleQuotedStyle
			words[i] = quoted
		}
	}
	return words, nil
}
