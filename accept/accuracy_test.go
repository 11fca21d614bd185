package accept

import (
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestAccuracy trains the presets and checks the metrics that they promise.
func TestAccuracy(t *testing.T) {
	whole := long(t)
	cases := []struct {
		config, data string
		accuracy     float64
		short        bool // part of the short form
	}{
		{"glyphs", "", 0.97, true},
		{"iris", "iris", 0.93, true},
		{"fashion_mnist_mlp", "fashion-mnist", 0.885, false},
		{"fashion_mnist", "fashion-mnist", 0.91, false},
		{"cifar10_resnet", "cifar-10", 0.55, false},
	}
	for _, c := range cases {
		t.Run(c.config, func(t *testing.T) {
			if !whole && !c.short {
				t.Skip("skipped: takes minutes; set GOESTIMATOR_ACCEPT=1")
			}
			args := []string{"--config", "configs/" + c.config + ".yaml", "--set", "model_dir=" + t.TempDir()}
			if c.data != "" {
				args = append(args, "--set", "data_dir="+testkit.Shared(t, "data/"+c.data))
			}
			o := train(t, args...)
			t.Logf("%s: step %d, accuracy %.4f", c.config, o.GlobalStep, o.Metrics["accuracy"])
			if o.Metrics["accuracy"] < c.accuracy {
				t.Errorf("accuracy %.4f, expected >= %.3f", o.Metrics["accuracy"], c.accuracy)
			}
		})
	}
}
