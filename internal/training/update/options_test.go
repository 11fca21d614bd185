package update

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// options returns all combinations of the settings that every rule has.
func options() []map[string]any {
	list := []map[string]any{{}}
	for _, o := range []struct {
		name   string
		values []any
	}{
		{"", []any{nil, "clip_norm", "clip_value", "global_clip_norm"}},
		{"accumulate_steps", []any{1, 2}},
		{"loss_scale", []any{"none", 8.0, "dynamic"}},
		{"slot_names", []any{"v1", "keras"}},
		{"weight_decay", []any{0.0, 0.125}},
	} {
		var next []map[string]any
		for _, p := range list {
			for _, v := range o.values {
				with := maps.Clone(p)
				if clip, ok := v.(string); ok && o.name == "" {
					with[clip] = 0.5
				} else if o.name != "" {
					with[o.name] = v
				}
				next = append(next, with)
			}
		}
		list = next
	}
	return list
}

// TestEveryOption trains every rule, with all its terms and every combination of the options that all rules have, dense and
// sparse: results on the host and on a device with its own memory must agree.
func TestEveryOption(t *testing.T) {
	testkit.NotConcurrent(t)
	in := tensorflow(t)
	all := combinations(t)
	for _, rule := range optimizers.Names() {
		last := slices.IndexFunc(all, func(c combination) bool { return c.Rule == rule })
		for last+1 < len(all) && all[last+1].Rule == rule {
			last++ // the rule's combination with all terms
		}
		for _, o := range options() {
			c := combination{rule, maps.Clone(all[last].Params)}
			maps.Copy(c.Params, o)
			for kind, g := range map[string]gradients{"dense": in.Dense, "sparse": in.Sparse} {
				want := c.trainScaled(t, device.NewHost(), tensor.Float64, g)
				back := rule == "lion" // its steps have a fixed length: two of them may lead back
				if slices.Equal(want, g.W) && !back || slices.ContainsFunc(want, func(x float64) bool { return math.IsNaN(x - x) }) {
					t.Errorf("%s %s: got %v, begun with %v", c, kind, want, g.W)
				}
				near(t, fmt.Sprintf("%s %s on the other device", c, kind), c.trainScaled(t, device.NewFake(), tensor.Float32, g), want, 1e-3)
			}
		}
	}
}

// trainScaled returns the variable of train, for a combination that may scale the loss.
func (c combination) trainScaled(t *testing.T, dev device.Device, d tensor.DType, in gradients) []float64 {
	t.Helper()
	v := &models.Variable{Name: "w", DType: d, Shape: in.Shape, Trainable: true}
	o := mustNew(t, c.Rule, c.Params)
	op := trainOp(o, v)
	if op.LossScale = o.LossScale; o.LossScale.GrowthSteps > 0 {
		dynamic(op, d, o.LossScale)
	}
	return c.run(t, dev, op, in).W
}
