package networks

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Option changes the default of a network's parameter. A parameter that the network
// does not take, or a value out of range, fails the model that is built with it.
type Option func(parameters map[string]any)

// Linear is one dense layer on all features.
func Linear(opts ...Option) Network { return named("linear", opts) }

// MLP is dense layers of the given sizes (512 and 256 if none) on all features, with ReLU.
func MLP(hiddenUnits ...int) Network { return MLPWith(hiddenUnits) }

// MLPWith is MLP with options: WithActivation, WithDropout, WithL2.
func MLPWith(hiddenUnits []int, opts ...Option) Network {
	return named("mlp", append([]Option{units("hidden_units", hiddenUnits)}, opts...))
}

// CNN is, for each of its filters (32, 64), a 3x3 convolution and a 2x2 max
// pool, then dense layers (128), on one image [batch, height, width, channels].
func CNN(opts ...Option) Network { return named("cnn", opts) }

// ResNet20 is the residual network for CIFAR of He et al. 2015 (section 4.2),
// on one image [batch, height, width, channels].
func ResNet20(opts ...Option) Network { return named("resnet20", opts) }

// SoundCNN is a CNN with filters (16, 32, 64) over the log-mel spectrogram of one sound [batch,
// samples, channels] with sampleRate samples per second, then a mean over time and dense layers (64).
func SoundCNN(sampleRate int, opts ...Option) Network {
	return named("sound_cnn", append([]Option{set("sample_rate", sampleRate)}, opts...))
}

// WithActivation sets the activation by its name: relu, tanh, ... (MLP, CNN).
func WithActivation(name string) Option { return set("activation", name) }

// WithDropout sets the fraction of units that training drops, in [0, 1) (MLP, CNN).
func WithDropout(rate float64) Option { return set("dropout", rate) }

// WithL2 sets the scale of the penalty on kernels.
func WithL2(scale float64) Option { return set("l2", scale) }

// WithFilters sets the numbers of filters, one for each convolution (CNN).
func WithFilters(filters ...int) Option { return units("filters", filters) }

// WithDenseUnits sets the sizes of the dense layers after the convolutions (CNN).
func WithDenseUnits(sizes ...int) Option { return units("dense_units", sizes) }

// WithBatchNorm adds batch normalization after each convolution (CNN; ResNet20 always has it).
func WithBatchNorm() Option { return set("batch_norm", true) }

// WithPixels sets the mean and the standard deviation of pixels, after bytes are
// scaled to 0..1: one number for all channels, or one for each (CNN, ResNet20).
func WithPixels(mean, std []float64) Option {
	return func(p map[string]any) { p["mean"], p["std"] = mean, std }
}

// WithAugmentation augments images in training: random crops of the image padded by
// padding pixels and, if flip is set, mirror images (CNN, ResNet20).
func WithAugmentation(padding int, flip bool) Option {
	return func(p map[string]any) { p["crop_padding"], p["flip"] = padding, flip }
}

func set(name string, value any) Option { return func(p map[string]any) { p[name] = value } }

// units sets a list; none leaves the default.
func units(name string, sizes []int) Option {
	return func(p map[string]any) {
		if len(sizes) > 0 {
			p[name] = sizes
		}
	}
}

// named is New; an error fails the model.
func named(name string, opts []Option) Network {
	p := map[string]any{}
	for _, o := range opts {
		if o != nil {
			o(p)
		}
	}
	n, err := New(name, p)
	if err != nil {
		return func(c models.Context, _ models.Features, _ int) *G.Node {
			c.Core().Fail(err)
			return nil
		}
	}
	return n
}
