package update

import (
	"fmt"
	"github.com/goestimator/goestimator/models/optimizers"
	"maps"
	"slices"
	"strings"
	"testing"
)

// tried has values for each parameter of the rules. They are sums of few powers of two, since TensorFlow keeps some in single precision.
var tried = map[string][]any{
	"momentum":                  {0.0, 0.625},
	"nesterov":                  {false, true},
	"beta1":                     {0.75, 0.875},
	"beta2":                     {0.75, 0.984375},
	"rho":                       {0.75, 0.9375},
	"epsilon":                   {0.0009765625, 0.125},
	"centered":                  {false, true},
	"initial_accumulator_value": {0.125, 1.5},
	"learning_rate_power":       {-0.5, -0.3125, 0.0},
	"l1":                        {0.0, 0.03125},
	"l2":                        {0.0, 0.0625},
	"l2_shrinkage":              {0.0, 0.125},
	"beta":                      {0.0, 0.25},
	"weight_decay":              {0.0, 0.125}, // for every rule
}

// combination is a rule with all its parameters.
type combination struct {
	Rule   string         `json:"rule"`
	Params map[string]any `json:"params"`
}

func (c combination) String() string { return fmt.Sprint(c.Rule, c.Params) }

// combinations returns all rules of the registry, with all combinations of their parameters.
func combinations(t *testing.T) []combination {
	t.Helper()
	var out []combination
	for _, rule := range optimizers.Names() {
		list := []map[string]any{{"learning_rate": 0.0625}}
		for _, name := range parametersOf(rule) {
			values := tried[name]
			if len(values) == 0 {
				t.Fatalf("rule %s has a parameter %s: give values to try", rule, name)
			}
			var next []map[string]any
			for _, p := range list {
				for _, v := range values {
					with := maps.Clone(p)
					with[name] = v
					next = append(next, with)
				}
			}
			list = next
		}
		for _, p := range list {
			out = append(out, combination{rule, p})
		}
	}
	return out
}

// parametersOf returns the names of a rule's own parameters, and weight_decay.
func parametersOf(rule string) []string {
	all := known("sgd") // has no parameters of its own
	names := []string{"weight_decay"}
	for _, name := range known(rule) {
		if !slices.Contains(all, name) && name != "lr_power" && !strings.HasSuffix(name, "_regularization_strength") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// known returns the parameters that New accepts, as listed in its error.
func known(rule string) []string {
	_, err := optimizers.New(rule, map[string]any{"?": 1})
	_, list, _ := strings.Cut(err.Error(), "known are ")
	return strings.Split(list, ", ")
}

// TestParametersOf tests the lists that the combinations use.
func TestParametersOf(t *testing.T) {
	for rule, want := range map[string]string{
		"sgd":           "weight_decay",
		"keras_sgd":     "momentum nesterov weight_decay",
		"rmsprop":       "centered epsilon momentum rho weight_decay",
		"keras_rmsprop": "centered epsilon momentum rho weight_decay",
		"ftrl":          "beta initial_accumulator_value l1 l2 l2_shrinkage learning_rate_power weight_decay",
	} {
		if got := strings.Join(parametersOf(rule), " "); got != want {
			t.Errorf("%s: got %s, expected %s", rule, got, want)
		}
	}
}
