package cli

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models/optimizers"
	"go.yaml.in/yaml/v3"
)

// optimizerKeys are the keys of the config's section that the optimizers know
// by another name.
var optimizerKeys = map[string]string{"weight_decay_exclude": "no_decay"}

// optimizerOf makes the optimizer of a config. Keys that were not given are
// left out, so that each rule's own defaults hold.
func optimizerOf(c config.Optimizer) (*optimizers.Optimizer, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("section: %w", err)
	}
	params := map[string]any{}
	if err := yaml.Unmarshal(text, &params); err != nil {
		return nil, fmt.Errorf("section: %w", err)
	}
	delete(params, "name")
	for key, name := range optimizerKeys {
		if v, ok := params[key]; ok {
			params[name] = v
			delete(params, key)
		}
	}
	return optimizers.New(c.Name, params)
}
