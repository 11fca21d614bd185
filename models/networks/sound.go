package networks

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// spectrogram says how sounds become images over time and pitch.
type spectrogram struct {
	rate, window, mels int
}

// quietest is added to the power of each band, so that silence has a logarithm.
const quietest = 1e-6

// soundCNN applies to the log-mel spectrogram of a sound a 3x3 convolution and a 2x2 max pool for each entry of filters, then the mean over
// time and dense layers. The spectrogram is scaled to mean 0 and standard deviation 1, so that loudness does not matter. Parameters: sample_rate (16000),
// window (512: samples of a frame; frames overlap by half), mels (40: bands), filters (16, 32, 64), dense_units (64), dropout (0).
func soundCNN(p *Params) Network {
	s := spectrogram{rate: p.Int("sample_rate", 16000, 1), window: p.Int("window", 512, 4), mels: p.Int("mels", 40, 1)}
	if s.window%2 != 0 {
		p.Refuse("window", fmt.Errorf("expected an even number, got %d", s.window))
	}
	filters, units, rate := p.Ints("filters", 1, 16, 32, 64), p.Ints("dense_units", 1, 64), p.Rate("dropout", 0)
	relu := p.Activation("activation", "relu")
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x := s.of(c, f)
		if c.Core().Failed() {
			return nil
		}
		x = ops.ExpandDims(c, standardized(c, x), -1)
		for _, n := range filters {
			x = convBlock(c, x, n, layers.Weights{Activation: relu})
			x = layers.MaxPool2D(c, x, layers.SquareWindow(2, 2, ops.Same))
		}
		x = layers.Flatten(c, ops.Mean(c, x, ops.Axes(1)))
		for _, n := range units {
			x = layers.Dense(c, x, n, layers.Weights{Activation: relu})
		}
		return logits(c, layers.Dropout(c, x, rate), outputs, layers.Weights{})
	}
}

// of returns the spectrogram of the only feature, [batch, samples, channels], averaged over channels, as [batch, frames, mels].
func (s spectrogram) of(c models.Context, f models.Features) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	if f.Len() != 1 || f.All()[0].Dense == nil || len(f.All()[0].Dense.Shape()) != 3 {
		c.Core().Failf("the network takes one sound [batch, samples, channels]: the input has the features %v", f.Names())
		return nil
	}
	x := ops.Mean(c, numeric(c, f.All()[0]), ops.Axes(2))
	if c.Core().Failed() {
		return nil
	}
	batch, hop := x.Shape()[0], s.window/2
	pieces := x.Shape()[1] / hop
	if pieces < 2 {
		c.Core().Failf("a sound has %d samples: expected at least the window's %d", x.Shape()[1], s.window)
		return nil
	}
	x = ops.Reshape(c, ops.Slice(c, x, []int{0, 0}, []int{-1, pieces * hop}), batch, pieces, hop)
	frames := pieces - 1
	x = ops.Concat(c, 2, ops.Slice(c, x, []int{0, 0, 0}, []int{-1, frames, -1}), ops.Slice(c, x, []int{0, 1, 0}, []int{-1, frames, -1}))
	x = ops.Reshape(c, x, batch*frames, s.window)
	real, imaginary := s.fourier()
	power := ops.Add(c, ops.Square(c, s.times(c, x, real)), ops.Square(c, s.times(c, x, imaginary)))
	bands := ops.Log(c, ops.Add(c, s.times(c, power, s.bands()), ops.Scalar(c, c.Core().DType(), quietest)))
	return ops.Reshape(c, bands, batch, frames, s.mels)
}

// times returns x times a constant matrix.
func (s spectrogram) times(c models.Context, x *G.Node, m *tensor.Tensor) *G.Node {
	return ops.MatMul(c, x, ops.Cast(c, ops.Constant(c, m), c.Core().DType()))
}

// fourier returns the cosines and sines of a frame's frequencies, times a periodic Hann window, as in tf.signal.stft.
func (s spectrogram) fourier() (real, imaginary *tensor.Tensor) {
	bins := s.window/2 + 1
	real, imaginary = tensor.New(tensor.Float32, s.window, bins), tensor.New(tensor.Float32, s.window, bins)
	re, im := tensor.Values[float32](real), tensor.Values[float32](imaginary)
	for i := range s.window {
		hann := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(s.window))
		for k := range bins {
			sin, cos := math.Sincos(2 * math.Pi * float64(i*k%s.window) / float64(s.window))
			re[i*bins+k], im[i*bins+k] = float32(hann*cos), float32(-hann*sin)
		}
	}
	return real, imaginary
}

// bands returns triangles of equal width on the mel scale, from 0 to half the sample rate. A triangle that is narrower than the distance
// between two frequencies takes the nearest one.
func (s spectrogram) bands() *tensor.Tensor {
	bins := s.window/2 + 1
	out := tensor.New(tensor.Float32, bins, s.mels)
	v := tensor.Values[float32](out)
	step := mel(float64(s.rate)/2) / float64(s.mels+1)
	for band := range s.mels {
		center, some := float64(band+1)*step, false
		for k := range bins {
			if w := 1 - math.Abs(mel(s.frequency(k))-center)/step; w > 0 {
				v[k*s.mels+band], some = float32(w), true
			}
		}
		if !some {
			hertz := 700 * (math.Pow(10, center/2595) - 1)
			v[int(hertz*float64(s.window)/float64(s.rate)+0.5)*s.mels+band] = 1
		}
	}
	return out
}

// frequency returns the frequency of a bin, in hertz.
func (s spectrogram) frequency(bin int) float64 {
	return float64(bin) * float64(s.rate) / float64(s.window)
}

// mel returns the pitch, in mels, of a frequency in hertz.
func mel(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }

// standardized scales each example of [batch, n, m] to mean 0 and, unless it is constant, standard deviation 1.
func standardized(c models.Context, x *G.Node) *G.Node {
	x = ops.Sub(c, x, ops.Mean(c, x, ops.KeepAxes(1, 2)))
	variance := ops.Mean(c, ops.Square(c, x), ops.KeepAxes(1, 2))
	return ops.Div(c, x, ops.Sqrt(c, ops.Add(c, variance, ops.Scalar(c, c.Core().DType(), 1e-3))))
}
