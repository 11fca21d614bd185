package inputs

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

func painterOf(a Augmentation, h, w, c int) *painter {
	return newPainter(a, Column{Shape: []int{h, w, c}, DType: tensor.Uint8})
}

// TestRotation: a quarter turn moves each pixel to its place, a small angle keeps the middle, and angle 0 changes nothing.
func TestRotation(t *testing.T) {
	p := painterOf(Augmentation{Rotate: 1}, 3, 3, 1)
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	round := func(x []float32) []int {
		var out []int
		for _, v := range x {
			out = append(out, int(math.Round(float64(v))))
		}
		return out
	}
	for angle, want := range map[float64][]int{0: {1, 2, 3, 4, 5, 6, 7, 8, 9}, math.Pi / 2: {3, 6, 9, 2, 5, 8, 1, 4, 7}, math.Pi: {9, 8, 7, 6, 5, 4, 3, 2, 1}} {
		if d := cmp.Diff(want, round(p.rotated(x, angle))); d != "" {
			t.Errorf("by %v: %s", angle, d)
		}
	}
	if got := p.rotated(x, math.Pi/4); got[4] != 5 || got[0] >= 3 {
		t.Errorf("by an eighth: %v", got)
	}
}

func TestColours(t *testing.T) {
	p := painterOf(Augmentation{Contrast: 1}, 1, 2, 3)
	x := []float32{10, 20, 30, 30, 40, 90}
	y := slices.Clone(x)
	p.spread(y, 2, p.means(x))
	if d := cmp.Diff([]float32{0, 10, 0, 40, 50, 120}, y); d != "" {
		t.Errorf("contrast: %s", d)
	}
	y = slices.Clone(x)
	saturate(y, 0)
	if y[0] != y[1] || y[1] != y[2] || math.Abs(float64(y[0])-(2.99+11.74+3.42)) > 1e-4 {
		t.Errorf("no saturation: %v", y)
	}
	image := make([]byte, 6)
	p.store(image, []float32{-3, 0.4, 0.6, 254.6, 300, 7})
	if !bytes.Equal(image, []byte{0, 0, 1, 255, 255, 7}) {
		t.Errorf("stored %v", image)
	}
}

// TestAugmentedRows: changes depend only on seed and row, and cutout makes one square of zeros.
func TestAugmentedRows(t *testing.T) {
	const n, side = 40, 9
	data := bytes.Repeat([]byte{200}, n*side*side*3)
	src := must[Indexed](t)(Slices(nil, Slice("image", Feature, data, side, side, 3)))
	all := Augmentation{CropPadding: 1, Flip: true, Rotate: 20, Brightness: 0.2, Contrast: 0.3, Saturation: 0.4, Cutout: 3, Seed: 4}
	one := Pipe(src, Map(Augment(all)), Batch(n, false))
	many := Pipe(streamOf(src), Batch(7, false), ParallelMap(Augment(all), 3), Batch(n, false))
	a, b := drain(t, iterate(t, one), one.Schema(), 9), drain(t, iterate(t, many), many.Schema(), 9)
	if d := cmp.Diff(a, b); d != "" || len(a) != 1 {
		t.Fatalf("batching changes the images: %.300s", d)
	}
	all.Seed++
	if other := Pipe(src, Map(Augment(all)), Batch(n, false)); cmp.Equal(a, drain(t, iterate(t, other), one.Schema(), 9)) {
		t.Error("the seed changes nothing")
	}
	cut := Pipe(src, Map(Augment(Augmentation{Cutout: 3, Seed: 1})), Batch(1, false))
	it := iterate(t, cut)
	for range n {
		rec, err := it.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		ts, err := Tensors(rec, cut.Schema())
		if err != nil {
			t.Fatal(err)
		}
		if zeros := bytes.Count(ts[0].Tensor.Bytes, []byte{0}); zeros != 3*3*3 {
			t.Errorf("%d zeros", zeros)
		}
		rec.Release()
	}
}

func TestWrongAugmentations(t *testing.T) {
	src := must[Indexed](t)(Slices(nil, Slice("image", Feature, make([]byte, 2*4*4), 4, 4, 1)))
	for want, a := range map[string]Augmentation{
		"rotation must lie in [0, 180]": {Rotate: -1}, "brightness must lie in [0, 1]": {Brightness: 2}, "contrast must lie in [0, 1]": {Contrast: math.NaN()},
		"saturation needs images of 3 channels": {Saturation: 0.5}, "the side of cutout must lie in [0, 4], got 5": {Cutout: 5},
	} {
		if _, err := Map(Augment(a))(src).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
