package cli

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/search"
	"go.yaml.in/yaml/v3"
)

// ownValues are the values that a config has for the keys of a sweep. A key that it leaves out, or that is a map there, is left out: the first trial
// then has it as it is.
func ownValues(cfg *config.Config, s search.Spec) (map[string]any, error) {
	text, err := cfg.Marshal()
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("the config's own values: %w", err)
	}
	own := map[string]any{}
	for _, p := range s.Parameters {
		if v, ok := plainValue(valueAt(all, strings.Split(p.Key, "."))); ok {
			own[p.Key] = v
		}
	}
	return own, nil
}

// valueAt is what lies at a path of keys, whose case does not count; nil where there is nothing.
func valueAt(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	m, _ := v.(map[string]any)
	for key, below := range m {
		if strings.EqualFold(key, path[0]) {
			return valueAt(below, path[1:])
		}
	}
	return nil
}

// plainValue is a number, a text, a bool or a list of them as a trial has it.
func plainValue(v any) (any, bool) {
	switch x := v.(type) {
	case int:
		return int64(x), true
	case string, bool, float64:
		return x, true
	case []any:
		for _, e := range x {
			if _, ok := plainValue(e); !ok {
				return nil, false
			}
		}
		return x, true
	}
	return nil, false
}
