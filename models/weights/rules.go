package weights

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// Rule says which tensor of a file gives some variables their initial values.
type Rule struct {
	// Regular expression that matches the whole name of each such variable of this model.
	Name string `yaml:"name"`
	// Name of the tensor in the file. $1, ${1} and ${name} stand for the groups of name. Empty: the variable's name.
	Previous string `yaml:"previous,omitempty"`
	// Order of the elements in the file: torch, torch_conv_transpose, torch_lstm or torch_gru (see docs/weights.md). Empty: the order used here, which is also Keras'.
	Layout string `yaml:"layout,omitempty"`
	// layout torch: for the kernel of a Linear after a flatten, the shape that was flattened: channels, rows and columns, such as 16, 7, 7 after convolutions. Here channels come last, so the elements have another order.
	Flattened []int `yaml:"flattened,omitempty"`
	// Permutation of the tensor's dimensions that gives the variable's, as in NumPy's transpose. Not together with layout.
	Transpose []int `yaml:"transpose,omitempty"`
	// Leave the variables at their initial values, for example in a new output layer.
	Skip bool `yaml:"skip,omitempty"`
}

// RuleError says which key of a rule is wrong.
type RuleError struct {
	Key      string
	Value    any
	Expected string // and why, if that is not obvious
}

// Error describes the mistake.
func (e *RuleError) Error() string {
	if text, ok := e.Value.(string); ok {
		return fmt.Sprintf("%s: got %q, %s", e.Key, text, e.Expected)
	}
	return fmt.Sprintf("%s: got %v, %s", e.Key, e.Value, e.Expected)
}

// Check reports what is wrong with a rule, as a *RuleError.
func (r Rule) Check() error {
	_, err := r.compile()
	return err
}

func (r Rule) compile() (*regexp.Regexp, error) {
	match, err := regexp.Compile("^(?:" + r.Name + ")$")
	switch {
	case r.Name == "":
		return nil, &RuleError{"name", r.Name, "expected a regular expression of names of variables"}
	case err != nil:
		return nil, &RuleError{"name", r.Name, "expected a regular expression: " + err.Error()}
	case r.Skip && (r.Previous != "" || r.Layout != "" || len(r.Transpose) > 0 || len(r.Flattened) > 0):
		return nil, &RuleError{"skip", r.Skip, "expected no previous, layout, flattened or transpose besides it"}
	case r.Layout != "" && !slices.Contains(Layouts(), r.Layout):
		return nil, &RuleError{"layout", r.Layout, "expected one of " + strings.Join(Layouts(), ", ")}
	case r.Layout != "" && len(r.Transpose) > 0:
		return nil, &RuleError{"transpose", r.Transpose, "expected a layout or transpose, not both"}
	case len(r.Flattened) > 0 && r.Layout != torch:
		return nil, &RuleError{"flattened", r.Flattened, "expected layout torch besides it"}
	case len(r.Flattened) == 1 || slices.ContainsFunc(r.Flattened, func(n int) bool { return n <= 0 }):
		return nil, &RuleError{"flattened", r.Flattened, "expected the channels and the sizes behind them, such as [16, 7, 7]"}
	}
	if err := tensorfile.CheckPermutation(r.Transpose, len(r.Transpose)); err != nil {
		return nil, &RuleError{"transpose", r.Transpose, fmt.Sprintf("expected each of 0 to %d once", len(r.Transpose)-1)}
	}
	return match, nil
}

// Mapping is a list of rules. The first that matches a variable applies to it.
type Mapping struct {
	rules   []Rule
	matches []*regexp.Regexp
}

// NewMapping checks rules.
func NewMapping(rules []Rule) (*Mapping, error) {
	m := &Mapping{rules: slices.Clone(rules)}
	for i, r := range rules {
		match, err := r.compile()
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i, err)
		}
		m.matches = append(m.matches, match)
	}
	return m, nil
}

// Source says where the initial value of a variable comes from.
type Source struct {
	Name      string // of the tensor in the file
	Layout    string
	Flattened []int
	Transpose []int
	Skip      bool // keep its initial value
	Rule      int  // the index of the rule; -1: none matched, and the names are the same
}

// Source returns where the initial value of a variable comes from.
func (m *Mapping) Source(variable string) Source {
	for i, match := range m.matches {
		at := match.FindStringSubmatchIndex(variable)
		if at == nil {
			continue
		}
		r := m.rules[i]
		s := Source{Name: variable, Layout: r.Layout, Flattened: r.Flattened, Transpose: r.Transpose, Skip: r.Skip, Rule: i}
		if r.Previous != "" {
			s.Name = string(match.ExpandString(nil, r.Previous, variable, at))
		}
		return s
	}
	return Source{Name: variable, Rule: -1}
}
