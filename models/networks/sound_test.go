package networks

import (
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// bandPower is the reference for a band of a frame: a Hann window, a sum of cosines and sines for each frequency, a triangle in mels.
func bandPower(frame []float64, rate, band, mels int) float64 {
	n := len(frame)
	step := mel(float64(rate)/2) / float64(mels+1)
	sum := 0.0
	for k := range n/2 + 1 {
		var f complex128
		for i, v := range frame {
			f += complex(v*(0.5-0.5*math.Cos(2*math.Pi*float64(i)/float64(n))), 0) * cmplx.Exp(complex(0, -2*math.Pi*float64(i*k)/float64(n)))
		}
		w := 1 - math.Abs(mel(float64(k*rate)/float64(n))-float64(band+1)*step)/step
		sum += max(w, 0) * real(f) * real(f)
		sum += max(w, 0) * imag(f) * imag(f)
	}
	return sum
}

// TestSpectrogram: each band of each frame equals a sum over the samples; samples that do not fill half a window are ignored.
func TestSpectrogram(t *testing.T) {
	s := spectrogram{rate: 8000, window: 32, mels: 5}
	const samples = 3*16 + 7
	x := tensor.New(tensor.Float64, 2, samples, 2)
	sound := make([]float64, samples) // of the second row, the mean of two channels
	for i := range samples {
		at := float64(i) / 8000
		sound[i] = 0.5*math.Sin(2*math.Pi*1000*at) + 0.1*math.Sin(2*math.Pi*3000*at)
		v := tensor.Values[float64](x)[2*(samples+i):]
		v[0], v[1] = sound[i]+0.25, sound[i]-0.25
	}
	p := modeltest.New(t, models.Options{DType: tensor.Float64}, func(b *models.Builder) []*G.Node {
		return []*G.Node{s.of(b, models.NewFeatures(b, models.Feature{Name: "x", Dense: b.Input("x", tensor.Float64, b.Batch(), samples, 2)}))}
	})
	got := tensor.Values[float64](p.Run(t, device.NewHost(), 2, 0, x)[0])
	if len(got) != 2*2*5 {
		t.Fatalf("%d values, expected 2 rows of 2 frames of 5 bands", len(got))
	}
	for frame := range 2 {
		for band := range 5 {
			if v := got[frame*5+band]; math.Abs(v-math.Log(quietest)) > 1e-6 {
				t.Errorf("silence: frame %d, band %d: %v", frame, band, v)
			}
			want := math.Log(bandPower(sound[frame*16:frame*16+32], 8000, band, 5) + quietest)
			if v := got[(2+frame)*5+band]; math.Abs(v-want) > 1e-4 {
				t.Errorf("frame %d, band %d: %v, expected %v", frame, band, v, want)
			}
		}
	}
}

// TestNarrowBands: a band between two frequencies has the power of the nearest one.
func TestNarrowBands(t *testing.T) {
	s := spectrogram{rate: 16000, window: 64, mels: 40}
	v := tensor.Values[float32](s.bands())
	for band := range s.mels {
		sum := float32(0)
		for k := range s.window/2 + 1 {
			sum += v[k*s.mels+band]
		}
		if sum == 0 {
			t.Errorf("band %d has no frequency", band)
		}
	}
}

// TestSoundsRefused: a feature that is no sound, a sound that is too short, and a window with no half.
func TestSoundsRefused(t *testing.T) {
	if _, err := New("sound_cnn", map[string]any{"window": 33}); err == nil || !strings.Contains(err.Error(), "expected an even number, got 33") {
		t.Errorf("got %v", err)
	}
	for want, dims := range map[string][]int{"takes one sound": {64}, "has 31 samples: expected at least the window's 32": {31, 1}} {
		net, err := New("sound_cnn", map[string]any{"window": 32})
		if err != nil {
			t.Fatal(err)
		}
		_, err = models.Build(models.Options{Batch: 2}, func(b *models.Builder) error {
			net(b, models.NewFeatures(b, models.Feature{Name: "x", Dense: b.Input("x", tensor.Float32, append([]int{2}, dims...)...)}), 3)
			return b.Err()
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
