package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/runconfig"
)

// validSets holds, by key, values that are valid for all values of the others.
var validSets = map[string][]string{
	"model_dir":                              {"runs/a", "/tmp/b c", "1e5", "yes", "null"},
	"data_dir":                               {"", "data", "/data"},
	"seed":                                   {"0", "7", "-1", "9007199254740993", "1e6"},
	"model.name":                             {"mlp", "cnn"},
	"model.params":                           {"{a: 1.0, B: [1, 2.5, x]}", "{c.d: true}", "{}"},
	"model.params.classes":                   {"10", "1.5", "text", "[a, {K: 1}]", "'007'"},
	"model.warm_start.renames":               {"[{name: a/b, previous: c/d}]"},
	"optimizer.learning_rate":                {"0.1", "1", "{schedule: cosine, decay_steps: 10}", "{schedule: piecewise_constant, boundaries: [1], values: [1, 0.5]}"},
	"optimizer.weight_decay":                 {"0", "0.1"},
	"optimizer.beta1":                        {"0", "0.5"},
	"optimizer.global_clip_norm":             {"0", "1.5"},
	"train.max_steps":                        {"0", "5", "1e3"},
	"train.max_secs":                         {"0", "1.5"},
	"train.fail_on_nan_loss":                 {"true", "false"},
	"train.early_stopping":                   {"{metric: loss, threshold: 0}", "{metric: a, max_steps_without_improvement: 3}"},
	"train.input.files":                      {"a.csv", "[a, b]", "[]"},
	"train.input.columns":                    {"[{name: capital.gain, default: 0}, {name: B, vocabulary: [x, y], role: label}]", "[]"},
	"train.input.delimiter":                  {";", "\t", "é"},
	"train.input.repeat":                     {"true", "false"},
	"train.input.mean":                       {"[0.5, 1]", "0.5"},
	"train.input.transforms":                 {"[]", "[{kind: window, size: 3, labels: last}, {kind: pad, column: a, length: 3, value: -1.5}, {kind: resample, column: b, target: [1, 0.5]}]"},
	"train.input.split":                      {"{folds: 5, held_out: 1, part: eval}"},
	"export.serving_input":                   {"raw", "auto"},
	"eval.exporters":                         {"[{name: b, kind: best}, {name: l, kind: latest, exports_to_keep: -1}]", "[]"},
	"eval.name":                              {"", "test set"},
	"predict.keys":                           {"logits", "[a, b]"},
	"run.save_checkpoints_steps":             {"0", "10"},
	"run.keep_checkpoint_max":                {"0", "3"},
	"run.soft_placement":                     {"true", "false"},
	"run.precision":                          {"float64", "tf32"},
	"run.device_filters":                     {"[]"},
	"run.protocol":                           {"", "grpc"},
	"run.experimental_max_worker_delay_secs": {"-1", "0", "5"},
	"strategy.name":                          {"default", "mirrored"},
	"rpc.peer_timeout_secs":                  {"1.5", "60"},
	"run.max_restarts":                       {"0", "3"},
}

// TestResolvedConfigLoadsAgain: load(marshal(cfg)) == cfg, and writing is stable.
func TestResolvedConfigLoadsAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := []string{"eval.input={format: glyphs, count: 5}"} // early stopping and exporters need one
		for _, key := range slices.Sorted(maps.Keys(validSets)) {
			if rapid.Bool().Draw(t, "use "+key) {
				sets = append(sets, key+"="+rapid.SampledFrom(validSets[key]).Draw(t, key))
			}
		}
		cfg, err := loadText("", nil, sets)
		if err != nil {
			t.Fatal(err)
		}
		text, err := cfg.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := loadText(string(text), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(cfg, again, sameConfig); d != "" {
			t.Fatalf("(-first +again):\n%s\n%s", d, text)
		}
		text2, _ := again.Marshal()
		if d := cmp.Diff(string(text), string(text2)); d != "" {
			t.Fatalf("(-first +again):\n%s", d)
		}
	})
}

// TestEveryLeafFromTheEnvironment sets each key by its variable and finds the
// value at its place, and nowhere else.
func TestEveryLeafFromTheEnvironment(t *testing.T) {
	names := map[string]string{}
	schema().walk(func(n *node) {
		if n.kind == kindObject {
			return
		}
		if other := names[runconfig.EnvName(n.path)]; other != "" {
			t.Errorf("%s and %s share the variable %s", other, n.path, runconfig.EnvName(n.path))
		}
		names[runconfig.EnvName(n.path)] = n.path
		text := sampleText(n)
		vs := &problems{meant: map[string]string{}}
		l := envLayer(vs, []string{runconfig.EnvName(n.path) + "=" + text})
		cfg, origin, err := merge([]*layer{l})
		if err = errors.Join(err, vs.Err()); err != nil {
			t.Errorf("%s=%s: %v", n.path, text, err)
			return
		}
		if d := cmp.Diff(Default(), *cfg, sameConfig); strings.Count(d, "\n-")+strings.Count(d, "\n+") == 0 {
			t.Errorf("%s=%s changes nothing", n.path, text)
		}
		if want := "environment variable " + runconfig.EnvName(n.path); n.kind != kindFree && origin(n.path) != want {
			t.Errorf("origin of %s: got %q, want %q", n.path, origin(n.path), want)
		}
	})
	if len(names) < 100 {
		t.Errorf("only %d leaves", len(names))
	}
}

// sampleText is a value that differs from the default.
func sampleText(n *node) string {
	switch n.kind {
	case kindInt:
		return "3"
	case kindFloat:
		return "0.25"
	case kindBool:
		value := reflect.ValueOf(Default())
		for name := range strings.SplitSeq(n.path, ".") {
			value = field(value, name)
		}
		return fmt.Sprint(!value.Bool())
	case kindFree:
		return "{k: 3}"
	case kindList:
		if n.elem.kind == kindObject {
			return "[{" + n.elem.children[0].name + ": x}]"
		}
		return "[" + sampleText(n.elem) + "]"
	}
	return "x"
}

func field(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); key == name {
			return v.Field(i)
		}
	}
	panic("no field " + name)
}
