package cli

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// TestConfigKnowsTheOptimizers: the config takes the rules that there are, and of each the hyper-parameters that it has, by
// either of their names; what it takes makes an optimizer.
func TestConfigKnowsTheOptimizers(t *testing.T) {
	keys := map[string]string{} // values by key
	typ := reflect.TypeFor[runconfig.Optimizer]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Type == reflect.TypeFor[*float64]():
			keys[key] = "0.25"
		case f.Type.Kind() == reflect.Bool:
			keys[key] = "true"
		}
	}
	keys["lr_power"] = "-0.25"
	for _, rule := range optimizers.Names() {
		for key, value := range keys {
			cfg, err := runconfig.Load(runconfig.LoadOptions{Env: []string{}, Sets: []string{fmt.Sprintf("optimizer={name: %s, %s: %s}", rule, key, value)}})
			number := any(true)
			if value != "true" {
				number = map[string]any{"0.25": 0.25, "-0.25": -0.25}[value]
			}
			_, known := optimizers.New(rule, map[string]any{key: number})
			if (err == nil) != (known == nil) {
				t.Errorf("%s, %s: the config says %v, package optimizers %v", rule, key, err, known)
			}
			if err != nil {
				continue
			}
			if _, err := optimizerOf(cfg.Optimizer); err != nil {
				t.Errorf("%s, %s: %v", rule, key, err)
			}
		}
	}
}
