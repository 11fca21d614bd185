package networks_test

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// sizeOf builds a network on an image and returns the number of trained parameters.
func sizeOf(net networks.Network) (int, error) {
	b, err := models.Build(models.Options{Batch: 2, Mode: models.Train}, func(b *models.Builder) error {
		net(b, models.NewFeatures(b, feature(b, "x", tensor.Uint8, 28, 28)), 10)
		return nil
	})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, v := range b.TrainableVariables() {
		n += tensor.NumElements(v.Shape)
	}
	return n, nil
}

// TestConstructors: a constructor is equivalent to New with the same parameters.
func TestConstructors(t *testing.T) {
	for _, c := range []struct {
		net    networks.Network
		name   string
		params map[string]any
	}{
		{networks.Linear(networks.WithL2(1e-3)), "linear", map[string]any{"l2": 1e-3}},
		{networks.MLP(), "mlp", nil},
		{networks.MLP(16, 8), "mlp", map[string]any{"hidden_units": []int{16, 8}}},
		{networks.MLPWith([]int{4}, networks.WithDropout(0.5), networks.WithActivation("tanh")), "mlp", map[string]any{"hidden_units": 4, "dropout": 0.5, "activation": "tanh"}},
		{networks.CNN(), "cnn", nil},
		{networks.CNN(networks.WithFilters(4), networks.WithDenseUnits(8), networks.WithBatchNorm(), networks.WithPixels([]float64{0.5}, []float64{0.25})), "cnn",
			map[string]any{"filters": 4, "dense_units": 8, "batch_norm": true, "mean": 0.5, "std": 0.25}},
		{networks.ResNet20(networks.WithAugmentation(2, true)), "resnet20", map[string]any{"crop_padding": 2, "flip": true}},
	} {
		named, err := networks.New(c.name, c.params)
		if err != nil {
			t.Fatal(err)
		}
		want, err1 := sizeOf(named)
		got, err2 := sizeOf(c.net)
		if err1 != nil || err2 != nil || got != want {
			t.Errorf("%s %v: %d numbers, expected %d: %v %v", c.name, c.params, got, want, err1, err2)
		}
	}
}

// TestConstructorErrors: what New refuses fails the model.
func TestConstructorErrors(t *testing.T) {
	for want, net := range map[string]networks.Network{
		"unknown parameter batch_norm": networks.MLPWith([]int{4}, networks.WithBatchNorm()),
		"integers >= 1":                networks.MLP(0),
		"dropout":                      networks.CNN(networks.WithDropout(1)),
	} {
		if _, err := sizeOf(net); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
	var _ func(models.Context, models.Features, int) *G.Node = networks.MLP(4)
}
