package cli

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/search"
	"go.yaml.in/yaml/v3"
)

// ownValues are the config's own values for the keys of a sweep. It leaves out keys that the config does not set, or that are maps in it: the
// first trial keeps these unchanged.
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

// valueAt is the value at a path of keys, ignoring case; nil if there is none.
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

// plainValue converts a number, text, bool or list of these to the form in trials.
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
