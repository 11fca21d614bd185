package update

import (
	"fmt"
	"github.com/goestimator/goestimator/models/optimizers"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
)

// TestSlotNames checks the names of optimizer state in TensorFlow's checkpoints.
func TestSlotNames(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]any
		want   string // name or name=initial value
	}{
		{"sgd", nil, ""},
		{"momentum", nil, "w/Momentum"},
		{"adam", nil, "w/Adam w/Adam_1 beta1_power=0.9 beta2_power=0.999"},
		{"adamw", nil, "w/AdamW w/AdamW_1 beta1_power=0.9 beta2_power=0.999"},
		{"adagrad", nil, "w/Adagrad=0.1"},
		{"rmsprop", nil, "w/RMSProp=1 w/RMSProp_1"},
		{"rmsprop", map[string]any{"centered": true}, "w/RMSProp=1 w/RMSProp_1 w/RMSProp_2"},
		{"ftrl", nil, "w/Ftrl=0.1 w/Ftrl_1"},
		{"adam", map[string]any{"accumulate_steps": 2}, "w/Adam w/Adam_1 beta1_power=0.9 beta2_power=0.999 w/gradient_accumulator"},
		{"keras_sgd", keras(nil), "training/SGD/iter"},
		{"keras_sgd", keras(map[string]any{"momentum": 0.9}), "training/SGD/w/momentum training/SGD/iter"},
		{"keras_adam", keras(nil), "training/Adam/w/m training/Adam/w/v training/Adam/iter"},
		{"keras_adamw", keras(nil), "training/AdamW/w/m training/AdamW/w/v training/AdamW/iter"},
		{"keras_adagrad", keras(nil), "training/Adagrad/w/accumulator=0.1 training/Adagrad/iter"},
		{"keras_rmsprop", keras(nil), "training/RMSprop/w/rms training/RMSprop/iter"},
		{"keras_rmsprop", keras(map[string]any{"momentum": 0.5, "centered": true}), "training/RMSprop/w/rms training/RMSprop/w/momentum training/RMSprop/w/mg training/RMSprop/iter"},
		{"keras_ftrl", keras(nil), "training/Ftrl/w/accumulator=0.1 training/Ftrl/w/linear training/Ftrl/iter"},
		{"keras_adam", nil, "w/Adam w/Adam_1 training/Adam/iter"},
	} {
		if d := cmp.Diff(c.want, describe(t, trainOp(mustNew(t, c.name, c.params), variable("w", 2)))); d != "" {
			t.Errorf("%s %v (-want +got):\n%s", c.name, c.params, d)
		}
	}
}

func keras(p map[string]any) map[string]any {
	out := map[string]any{"slot_names": "keras"}
	for k, v := range p {
		out[k] = v
	}
	return out
}

func describe(t *testing.T, op *optimizers.TrainOp) string {
	t.Helper()
	var out []string
	for _, s := range Slots(op) {
		x := tensor.New(s.Type.DType, s.Type.Shape.At(0)...)
		if err := s.Init.Init(x, 0); err != nil {
			t.Fatal(err)
		}
		name := s.Name
		if v := x.Float(0); v != 0 {
			name += fmt.Sprintf("=%g", v)
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// TestSlotNamesOfGroups checks that groups whose state would have the same names get different ones.
func TestSlotNamesOfGroups(t *testing.T) {
	op := trainOp(mustNew(t, "adam", nil), variable("a", 1))
	op.Groups = append(op.Groups, trainOp(mustNew(t, "ftrl", nil), variable("b", 1)).Groups[0], trainOp(mustNew(t, "adamw", nil), variable("c", 1)).Groups[0])
	want := "a/Adam a/Adam_1 beta1_power=0.9 beta2_power=0.999 b/Ftrl=0.1 b/Ftrl_1 c/AdamW c/AdamW_1 beta1_power_1=0.9 beta2_power_1=0.999"
	if d := cmp.Diff(want, describe(t, op)); d != "" {
		t.Error(d)
	}
	tr := start(t, op, map[string]*tensor.Tensor{"a": vector(1), "b": vector(1), "c": vector(1)}, nil)
	tr.run(vector(1), vector(1), vector(1))
	near(t, "beta1_power_1", tr.get("beta1_power_1"), []float64{0.81}, 1e-15)
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]any
		want   string
	}{
		{"adm", nil, `unknown optimizer "adm": expected one of adadelta, adagrad, adam, adamax, adamw, amsgrad, ftrl, keras_adagrad`},
		{"sgd", map[string]any{"momentum": 0.9}, "optimizer sgd: unknown parameter momentum: known are accumulate_steps, averaging, clip_norm, clip_value, global_clip_norm, learning_rate, loss_scale, no_decay, skip_nonfinite, slot_names, weight_decay"},
		{"adam", map[string]any{"beta1": 1.0}, "beta1: got 1, expected >= 0 and < 1"},
		{"adam", map[string]any{"beta1": "high"}, "optimizer adam: beta1: expected a number, got high (string)"},
		{"adam", map[string]any{"epsilon": -1}, "epsilon: got -1, expected >= 0"},
		{"momentum", map[string]any{"momentum": 1.5}, "momentum: got 1.5, expected >= 0 and <= 1"},
		{"rmsprop", map[string]any{"rho": 1}, "rho: got 1, expected >= 0 and < 1"},
		{"sgd", map[string]any{"weight_decay": -1}, "weight_decay: got -1, expected >= 0"},
		{"momentum", map[string]any{"nesterov": 1}, "nesterov: expected true or false, got 1 (int)"},
		{"ftrl", map[string]any{"learning_rate_power": 0.5}, "learning_rate_power: got 0.5, expected <= 0"},
		{"sgd", map[string]any{"clip_norm": 1, "clip_value": 1}, "at most one of"},
		{"sgd", map[string]any{"clip_norm": -1}, "clip_norm: got -1, expected > 0"},
		{"sgd", map[string]any{"accumulate_steps": 0}, "accumulate_steps: expected an integer >= 1, got 0"},
		{"sgd", map[string]any{"slot_names": "v3"}, `slot_names: got "v3", expected one of v1, keras`},
		{"sgd", map[string]any{"no_decay": "("}, "no_decay: error parsing regexp"},
		{"sgd", map[string]any{"learning_rate": map[string]any{"schedule": "x"}}, `unknown schedule "x"`},
	} {
		if _, err := optimizers.New(c.name, c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%s, %v): got %v, want %q", c.name, c.params, err, c.want)
		}
	}
	for _, name := range optimizers.Names() {
		if o, err := optimizers.New(name, nil); err != nil || o.Rule.Name() != name {
			t.Errorf("New(%s): got %v, %v", name, o, err)
		}
	}
}
