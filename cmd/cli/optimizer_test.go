package cli

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models/optimizers"
)

// TestConfigKnowsTheOptimizers: the config accepts every rule, and for each rule exactly its hyper-parameters, by
// either of their names. Whatever the config accepts makes an optimizer.
func TestConfigKnowsTheOptimizers(t *testing.T) {
	keys := map[string]string{} // values by key
	typ := reflect.TypeFor[optimizers.Spec]()
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
			cfg, err := config.Load(config.LoadOptions{Env: []string{}, Sets: []string{fmt.Sprintf("optimizer={name: %s, %s: %s}", rule, key, value)}})
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
			if _, err := cfg.Optimizer.Optimizer(); err != nil {
				t.Errorf("%s, %s: %v", rule, key, err)
			}
		}
	}
}

// TestEveryRuleTrainsEmbeddings: row gradients, of embeddings and of linear columns, work with every rule and all of its
// terms, also if replicas share the variables.
func TestEveryRuleTrainsEmbeddings(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{"trades.csv": "baker,0\nnurse,1\nbaker,1\nsmith,0\n", "trades.yaml": `
feature_columns:
  - {name: trade, type: vocabulary, key: trade, vocabulary: [baker, nurse, smith, miner]}
  - {name: vector, type: embedding, of: trade, dimension: 2}
model: {name: dnn_linear_combined_classifier, params: {linear_feature_columns: [trade], dnn_feature_columns: [vector], dnn_hidden_units: [3]}}
train:
  input:
    format: csv
    files: trades.csv
    columns: [{name: trade, dtype: string}, {name: label, role: label, dtype: int64}]
    batch_size: 4
    repeat: true
  max_steps: 3
run: {log_step_count_steps: 0, save_summary_steps: 0}
`}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	terms := map[string]string{"momentum": `"nesterov": true`, "keras_sgd": `"momentum": 0.5, "nesterov": true`, "rmsprop": `"momentum": 0.5, "centered": true`,
		"keras_rmsprop": `"momentum": 0.5, "centered": true, "slot_names": "v1"`,
		"ftrl":          `"l1": 0.01, "l2": 0.01, "l2_shrinkage": 0.01, "beta": 0.1, "lr_power": -0.4`, "keras_ftrl": `"l1": 0.01, "l2_shrinkage": 0.01`}
	for _, rule := range optimizers.Names() {
		optimizer := `{"name": "` + rule + `", "weight_decay": 0.01`
		if more := terms[rule]; more != "" {
			optimizer += ", " + more
		}
		for _, strategy := range []string{"default", "mirrored"} {
			var stdout, stderr bytes.Buffer
			code := Run(t.Context(), []string{"train", "--quiet", "--config", "trades.yaml", "--set", "model_dir=" + rule + strategy, "--set", "strategy.name=" + strategy,
				"--set", "strategy.replicas=" + map[string]string{"default": "0", "mirrored": "2"}[strategy],
				"--set", "model.params.dnn_optimizer=" + optimizer + "}", "--set", "model.params.linear_optimizer=" + optimizer + "}"}, &stdout, &stderr)
			if code != exitDone || stderr.Len() > 0 {
				t.Errorf("%s, %s: exit code %d\n%s", rule, strategy, code, stderr.String())
			}
		}
	}
}
