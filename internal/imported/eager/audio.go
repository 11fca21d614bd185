package eager

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/fourier"
	"github.com/goestimator/goestimator/tensor"
)

// audioOps compute features of sound, and read and write sound files.
var audioOps = map[*ops.Def]maker{
	ops.AudioSpectrogram: spectrogram,
	ops.Mfcc:             mfcc,
	ops.DecodeWav:        decodeWav,
	ops.EncodeWav:        plain(encodeWav),
}

// spectrogram returns the energies of frequencies in windows of samples [length, channels]: [channels, windows, frequencies].
func spectrogram(s *site) (kernel, error) {
	window, stride, squared := s.node.Int("window_size", 0), s.node.Int("stride", 0), s.boolean("magnitude_squared", false)
	return func(c call) error {
		t := c.t(0)
		switch {
		case t.DType != tensor.Float32 || len(t.Shape) != 2:
			return fmt.Errorf("input must be 2-dimensional of float32, got %v of shape %s", t.DType, shapeText(t.Shape))
		case window < 2 || stride < 1:
			return fmt.Errorf("Spectrogram initialization failed for window size %d and stride %d", window, stride)
		}
		samples, channels := t.Shape[0], t.Shape[1]
		count := 0
		if samples >= window {
			count = 1 + (samples-window)/stride
		}
		if bits.Len(uint(window)) > 40 {
			return fmt.Errorf("window of %d samples: %w", window, ErrLimit)
		}
		n := 1 << bits.Len(uint(window-1))
		dst, err := outputOf[float32](c, 0, channels, count, n/2+1)
		if err != nil || len(dst) == 0 {
			return err
		}
		if err := c.room(fourier.Bytes(n)+24*n, 1); err != nil {
			return err
		}
		f := framer{worker: fourier.NewPlan(n).Worker(), weights: hann(window), line: make([]complex128, n), squared: squared}
		src := tensor.Values[float32](t)
		for ch := range channels {
			for k := range count {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				f.frame(dst[(ch*count+k)*(n/2+1):][:n/2+1], src[k*stride*channels+ch:], channels)
			}
		}
		return nil
	}, nil
}

// hann is the periodic Hann window.
func hann(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(n))
	}
	return w
}

// framer transforms windows of samples.
type framer struct {
	worker  *fourier.Worker
	weights []float64
	line    []complex128
	squared bool
}

// frame writes the energies of the window that begins with src, whose samples are step apart.
func (f framer) frame(dst, src []float32, step int) {
	clear(f.line)
	for i, w := range f.weights {
		f.line[i] = complex(w*float64(src[i*step]), 0)
	}
	f.worker.Forward(f.line)
	for i := range dst {
		v := f.line[i]
		if dst[i] = float32(real(v)*real(v) + imag(v)*imag(v)); !f.squared {
			dst[i] = float32(math.Sqrt(float64(dst[i])))
		}
	}
}

// mel is D. O'Shaughnessy's mel scale of pitch.
func mel(hz float64) float64 { return 1127 * math.Log1p(hz/700) }

// melBank sums the energies of a spectrum in triangles of equal width on the mel scale.
type melBank struct {
	first, last int
	weights     []float64 // of each frequency, in the triangle on whose falling side it is
	band        []int     // that triangle; the next one gets the remaining weight
	channels    int
}

// maxChannels bounds the channels of a filter bank.
const maxChannels = 1 << 20

// newMelBank returns the bank for spectra of n frequencies up to rate/2.
func newMelBank(n int, rate, low, high float64, channels int) (melBank, error) {
	if n < 2 || !(rate > 0) || channels < 1 || !(low >= 0) || !(high > low) {
		return melBank{}, fmt.Errorf("Mfcc initialization failed for %d frequencies, sample rate %v, limits %v and %v, %d channels", n, rate, low, high, channels)
	}
	centers := make([]float64, channels+1)
	from, to := mel(low), mel(high)
	for i := range centers {
		centers[i] = from + (to-from)/float64(channels+1)*float64(i+1)
	}
	step := 0.5 * rate / float64(n-1)
	b := melBank{first: int(min(1.5+low/step, float64(n))), last: int(min(high/step, float64(n-1))), weights: make([]float64, n), band: make([]int, n), channels: channels}
	channel := 0
	for i := b.first; i <= b.last; i++ {
		m := mel(float64(i) * step)
		for channel < channels && centers[channel] < m {
			channel++
		}
		b.band[i] = channel - 1
		left := from
		if channel > 0 {
			left = centers[channel-1]
		}
		b.weights[i] = (centers[channel] - m) / (centers[channel] - left)
	}
	return b, nil
}

// sum fills out with the magnitudes in each triangle.
func (b melBank) sum(out []float64, energies []float32) {
	clear(out)
	for i := b.first; i <= b.last; i++ {
		v := math.Sqrt(float64(energies[i]))
		falling := v * b.weights[i]
		if b.band[i] >= 0 {
			out[b.band[i]] += falling
		}
		if b.band[i]+1 < b.channels {
			out[b.band[i]+1] += v - falling
		}
	}
}

// mfcc returns the cepstral coefficients of an energy spectrogram [channels, windows, frequencies].
func mfcc(s *site) (kernel, error) {
	high, low := float64(s.node.Float("upper_frequency_limit", 4000)), float64(s.node.Float("lower_frequency_limit", 20))
	channels, count := s.node.Int("filterbank_channel_count", 40), s.node.Int("dct_coefficient_count", 13)
	return func(c call) error {
		t := c.t(0)
		switch {
		case t.DType != tensor.Float32 || len(t.Shape) != 3:
			return fmt.Errorf("spectrogram must be 3-dimensional of float32, got %v of shape %s", t.DType, shapeText(t.Shape))
		case c.t(1).DType != tensor.Int32 || c.t(1).Len() != 1:
			return fmt.Errorf("Input sample_rate should be a scalar tensor, got shape %v", c.t(1).Shape)
		case count < 1 || channels < count || channels > maxChannels:
			return fmt.Errorf("Mfcc initialization failed for %d channels and %d coefficients", channels, count)
		}
		n := t.Shape[2]
		if err := c.room(channels*(count+2)+2*n, 8); err != nil {
			return err
		}
		bank, err := newMelBank(n, float64(tensor.Values[int32](c.t(1))[0]), low, high, channels)
		if err != nil {
			return err
		}
		dst, err := outputOf[float32](c, 0, append(slices.Clone(t.Shape[:2]), count)...)
		if err != nil {
			return err
		}
		cosines, out := dct(channels, count), make([]float64, channels)
		for i, src := 0, tensor.Values[float32](t); len(src) > 0; i, src = i+count, src[n:] {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			bank.sum(out, src[:n])
			for k := range out {
				out[k] = math.Log(max(out[k], 1e-12))
			}
			for j := range count {
				sum := 0.0
				for k, v := range out {
					sum += cosines[j*channels+k] * v
				}
				dst[i+j] = float32(sum)
			}
		}
		return nil
	}, nil
}

// dct returns the matrix of the discrete cosine transform of type 2.
func dct(n, count int) []float64 {
	m, norm := make([]float64, n*count), math.Sqrt(2/float64(n))
	for i := range count {
		for j := range n {
			m[i*n+j] = norm * math.Cos(float64(i)*math.Pi/float64(n)*(float64(j)+0.5))
		}
	}
	return m
}
