package layers_test

import (
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// moved is an image [h,w,2] shifted by (dy, dx), zero outside, and mirrored.
func moved(x []float64, h, w, dy, dx int, flip bool) []float64 {
	out := make([]float64, len(x))
	for i := range h {
		for j := range w {
			from := j
			if flip {
				from = w - 1 - j
			}
			if y, x0 := i+dy, from+dx; y >= 0 && y < h && x0 >= 0 && x0 < w {
				copy(out[(i*w+j)*2:][:2], x[(y*w+x0)*2:][:2])
			}
		}
	}
	return out
}

// Every image is one of the crops, mirrored or not, and all of these are about equally frequent.
func TestRandomCropFlip(t *testing.T) {
	const n, h, w, padding = 1800, 4, 5, 1
	x := modeltest.Tensor(tensor.Float64, make([]float64, n*h*w*2), n, h, w, 2)
	for i := range tensor.Values[float64](x) {
		tensor.Values[float64](x)[i] = float64(i%(h*w*2) + 1)
	}
	one := slices.Clone(tensor.Values[float64](x)[:h*w*2])
	out := func(mode models.Mode, padding int, flip bool) []float64 {
		return modeltest.Floats(run(t, mode, x, nil, func(b *models.Builder, x *G.Node) []*G.Node {
			return []*G.Node{layers.RandomCropFlip(b, x, padding, flip)}
		})[0])
	}
	for _, c := range []struct {
		padding int
		flip    bool
	}{{padding, true}, {padding, false}, {0, true}} {
		count := map[[3]int]int{}
		got := out(models.Train, c.padding, c.flip)
		for k := range n {
			image := got[k*len(one) : (k+1)*len(one)]
			count[which(image, one, h, w)]++
		}
		forms := (2*c.padding + 1) * (2*c.padding + 1)
		if c.flip {
			forms *= 2
		}
		if len(count) != forms || count[[3]int{}] == n {
			t.Errorf("%+v: expected %d forms of images, got %d: %v", c, forms, len(count), count)
		}
		for form, many := range count { // six standard deviations
			if mean := float64(n) / float64(forms); math.Abs(float64(many)-mean) > 6*math.Sqrt(mean) {
				t.Errorf("%+v: %v came %d times of %d: expected about %.0f", c, form, many, n, mean)
			}
		}
	}
	if !slices.Equal(out(models.Eval, padding, true), tensor.Values[float64](x)) {
		t.Error("images were changed outside of training")
	}
}

// which returns the (dy, dx, flip) that made an image.
func which(image, of []float64, h, w int) [3]int {
	for flip := range 2 {
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				if slices.Equal(image, moved(of, h, w, dy, dx, flip == 1)) {
					return [3]int{dy, dx, flip}
				}
			}
		}
	}
	return [3]int{9, 9, 9}
}
