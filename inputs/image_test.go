package inputs

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

// images returns n images of 3x4 pixels with 2 channels, numbered from 1.
func images(t testing.TB, n int) ([]byte, Dataset) {
	t.Helper()
	data := make([]byte, n*24)
	for i := range data {
		data[i] = byte(i%24 + 1)
	}
	ds, err := Slices(checked(t), Slice("image", Feature, data, 3, 4, 2), Slice("label", Label, make([]int64, n)))
	if err != nil {
		t.Fatal(err)
	}
	return data, ds
}

func TestNormalize(t *testing.T) {
	data, src := images(t, 2)
	n := Normalization{Scale: 255, Mean: []float64{0.5, 0.25}, Std: []float64{2, 4}}
	ds := Pipe(src, Map(Normalize(n)))
	for i, x := range column[float32](t, ds, "image") {
		want := float32((float64(data[i])/255 - n.Mean[i%2]) / n.Std[i%2])
		if x != want {
			t.Fatalf("element %d: got %g, expected %g", i, x, want)
		}
	}
	again := Pipe(ds, Map(Normalize(Normalization{Scale: 0.5})))
	if x := column[float32](t, again, "image")[0]; math.Abs(float64(x)-2*(1/255.-0.5)/2) > 1e-6 {
		t.Fatalf("of float32: got %g", x)
	}
	if c, err := ds.Schema().Column("label"); err != nil || c.DType != tensor.Int64 {
		t.Fatalf("the label became %s (%v)", c, err)
	}
}

// shifted is the definition of Augment for one image.
func shifted(src []byte, dx, dy int, flip bool) []byte {
	out := make([]byte, 24)
	for y := range 3 {
		for x := range 4 {
			sx, sy := x, y+dy
			if flip {
				sx = 3 - x
			}
			sx += dx
			if sx >= 0 && sx < 4 && sy >= 0 && sy < 3 {
				copy(out[(y*4+x)*2:], src[(sy*4+sx)*2:][:2])
			}
		}
	}
	return out
}

func TestAugmentMovesImages(t *testing.T) {
	data, src := images(t, 400)
	got := column[uint8](t, Pipe(src, Map(Augment(Augmentation{CropPadding: 2, Flip: true, Seed: 3})), Batch(7, false)), "image")
	seen := map[string]int{}
	for i := range 400 {
		img := got[i*24 : i*24+24]
		found := false
		for k := range 50 {
			if bytes.Equal(img, shifted(data[:24], k%5-2, k/5%5-2, k >= 25)) {
				found = true
			}
		}
		if !found {
			t.Fatalf("image %d is no shift of the original: %v", i, img)
		}
		seen[string(img)]++
	}
	if len(seen) < 40 {
		t.Errorf("only %d different results", len(seen))
	}
}

func TestAugmentEpochsDiffer(t *testing.T) {
	_, src := images(t, 50)
	ds := Pipe(src, ParallelMap(Augment(Augmentation{CropPadding: 2, Flip: true, Seed: 3}), 2), Repeat(2))
	got := column[uint8](t, ds, "image")
	if bytes.Equal(got[:50*24], got[50*24:]) {
		t.Error("both epochs are augmented alike")
	}
	if d := cmp.Diff(got, column[uint8](t, ds, "image")); d != "" {
		t.Error("a second pass differs")
	}
}

func TestAugmentFloatAndNone(t *testing.T) {
	_, src := images(t, 30)
	a := Augment(Augmentation{CropPadding: 1, Flip: true, Seed: 3})
	u := column[uint8](t, Pipe(src, Map(a)), "image")
	f := column[float32](t, Pipe(src, Map(Normalize(Normalization{})), Map(a)), "image")
	for i := range u {
		if float32(u[i]) != f[i] {
			t.Fatalf("element %d: uint8 %d, float32 %g", i, u[i], f[i])
		}
	}
	ds, err := Slices(nil, Slice("x", Feature, []float32{1}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Pipe(ds, Map(a)).Iterate(context.Background()); err == nil {
		t.Error("augmenting data without images: no error")
	}
}
