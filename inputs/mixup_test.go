package inputs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// levels returns n images of 4 x 4 pixels, all with the value of their label.
func levels(t testing.TB, n int) Dataset {
	t.Helper()
	pixels, labels := make([]float32, 16*n), make([]int64, n)
	for i := range pixels {
		pixels[i] = float32(i / 16 % 5)
	}
	for i := range labels {
		labels[i] = int64(i % 5)
	}
	ds, err := Slices(checked(t), Slice("image", Feature, pixels, 4, 4, 1), Slice("label", Label, labels))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// TestMixing: images and labels are mixed with the same shares and the same partners.
func TestMixing(t *testing.T) {
	for name, m := range map[string]Mixing{
		"mixup": {Mixup: 0.4, Classes: 5, Seed: 3}, "cutmix": {CutMix: 1, Classes: 5, Seed: 3}, "both": {Mixup: 2, CutMix: 0.5, Classes: 5, Seed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			ds := Pipe(levels(t, 50), Batch(10, false), ParallelMap(m.Mapper(), 3), Prefetch(2))
			if got := ds.Schema().String(); got != "image float32[4 4 1] feature, label float32[5] label" {
				t.Fatalf("got %s", got)
			}
			images, labels := column[float32](t, ds, "image"), column[float32](t, ds, "label")
			changed := 0
			for i := range 50 {
				sum, mean := float32(0), float32(0)
				for class, share := range labels[5*i : 5*i+5] {
					sum += share
					mean += share * float32(class)
					if share > 0.01 && share < 0.99 {
						changed++
					}
				}
				pixel := float32(0)
				for _, p := range images[16*i : 16*i+16] {
					pixel += p / 16
				}
				if math.Abs(float64(sum-1)) > 1e-5 || math.Abs(float64(pixel-mean)) > 1e-5 {
					t.Fatalf("example %d: labels %v with the mean %v, pixels with the mean %v", i, labels[5*i:5*i+5], mean, pixel)
				}
			}
			if changed < 10 {
				t.Errorf("%d shares are mixed", changed)
			}
			checkDataset(t, Pipe(levels(t, 50), Repeat(2), Batch(10, true), ParallelMap(m.Mapper(), 3), Prefetch(2)))
			again := m
			if again.Seed++; cmp.Equal(images, column[float32](t, Pipe(levels(t, 50), Batch(10, false), Map(again.Mapper())), "image")) {
				t.Error("another seed gives the same images")
			}
			twice := column[float32](t, Pipe(levels(t, 50), Repeat(2), Batch(10, false), Map(m.Mapper())), "image")
			if slices.Equal(twice[:len(images)], twice[len(images):]) {
				t.Error("the second epoch has the images of the first")
			}
		})
	}
}

// TestMixingOfNumbers: float labels and features are mixed directly; two classes become the probability of the second.
func TestMixingOfNumbers(t *testing.T) {
	xs, ys, ids := make([]float64, 20), make([]float32, 20), make([]int64, 20)
	for i := range xs {
		xs[i], ys[i], ids[i] = float64(i), float32(2*i), int64(i%2)
	}
	ds, err := Slices(checked(t), Slice("x", Feature, xs), Slice("y", Label, ys), Slice("id", Label, ids))
	if err != nil {
		t.Fatal(err)
	}
	mixed := Pipe(ds, Batch(20, false), Map(Mixing{Mixup: 1, Classes: 2, Seed: 1}.Mapper()))
	if got := mixed.Schema().String(); got != "x float64 feature, y float32 label, id float32 label" {
		t.Fatalf("got %s", got)
	}
	x, y := column[float64](t, mixed, "x"), column[float32](t, mixed, "y")
	for i := range x {
		if math.Abs(2*x[i]-float64(y[i])) > 1e-4 {
			t.Errorf("row %d: %v and %v", i, x[i], y[i])
		}
	}
	if slices.Equal(x, xs) || slices.Max(column[float32](t, mixed, "id")) > 1 {
		t.Error("nothing is mixed")
	}
}

// TestBeta compares mean and variance with those of Beta(alpha, alpha): 1/2 and 1 / (4 (2 alpha + 1)).
func TestBeta(t *testing.T) {
	for _, alpha := range []float64{0.05, 0.2, 1, 3, maxAlpha} {
		const n = 20_000
		rnd := splitmix.Source(1)
		sum, squares := 0.0, 0.0
		for range n {
			x := beta(&rnd, alpha)
			if !(x >= 0 && x <= 1) {
				t.Fatalf("alpha %v: got %v", alpha, x)
			}
			sum, squares = sum+x, squares+(x-0.5)*(x-0.5)
		}
		if want := 1 / (4 * (2*alpha + 1)); math.Abs(sum/n-0.5) > 0.012 || math.Abs(squares/n-want) > 0.05*want {
			t.Errorf("alpha %v: mean %v, variance %v, expected %v", alpha, sum/n, squares/n, want)
		}
	}
}

func TestWrongMixing(t *testing.T) {
	words, err := Slices(nil, Slice("x", Feature, []int64{1, 2}), Slice("label", Label, []int64{0, 7}))
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		m  Mixing
		ds Dataset
	}{
		"one of them above 0": {Mixing{}, levels(t, 2)}, "got -1 and 0": {Mixing{Mixup: -1}, levels(t, 2)},
		"set augment.classes":    {Mixing{Mixup: 1}, levels(t, 2)},
		"expected 0 to 2":        {Mixing{Mixup: 1, Classes: 3}, levels(t, 5)},
		"no feature is an imag":  {Mixing{CutMix: 1, Classes: 3}, words},
		`column "x": mixup need`: {Mixing{Mixup: 1, Classes: 8}, words},
	} {
		it, err := Pipe(c.ds, Batch(5, false), Map(c.m.Mapper())).Iterate(t.Context())
		if err == nil {
			_, err = it.Next(t.Context())
			it.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

func TestRandAugment(t *testing.T) {
	pixels := make([]byte, 40*8*8*3)
	for i := range pixels {
		pixels[i] = byte(i * 37)
	}
	ds, err := Slices(checked(t), Slice("image", Feature, pixels, 8, 8, 3), Slice("label", Label, make([]int64, 40)))
	if err != nil {
		t.Fatal(err)
	}
	a := RandAugmentation{Ops: 2, Magnitude: 9, Seed: 4}
	got := column[uint8](t, Pipe(ds, Batch(16, false), ParallelMap(RandAugment(a), 3)), "image")
	if same := Pipe(ds, Map(RandAugment(a)), Batch(7, false)); !slices.Equal(got, column[uint8](t, same, "image")) || slices.Equal(got, pixels) {
		t.Error("images depend on batches, or do not change")
	}
	checkDataset(t, Pipe(ds, Repeat(2), Batch(16, false), ParallelMap(RandAugment(a), 3), Prefetch(1)))
	for want, bad := range map[string]Dataset{
		"expected 1 to 16 operations": Pipe(ds, Map(RandAugment(RandAugmentation{Magnitude: 9}))), "got 1 and 31": Pipe(ds, Map(RandAugment(RandAugmentation{Ops: 1, Magnitude: 31}))),
		"before it is scaled": Pipe(levels(t, 2), Map(RandAugment(a))),
	} {
		if _, err := bad.Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestRandOps checks operations against values computed by hand.
func TestRandOps(t *testing.T) {
	for name, c := range map[string]struct {
		op   func(im *byteImage)
		want []byte
	}{
		"auto contrast": {func(im *byteImage) { im.autoContrast() }, []byte{0, 28, 56, 85, 113, 141, 170, 198, 255}},
		"solarize":      {func(im *byteImage) { im.solarize(60) }, []byte{10, 20, 30, 40, 50, 195, 185, 175, 155}},
		"posterize":     {func(im *byteImage) { im.posterize(4) }, []byte{0, 16, 16, 32, 48, 48, 64, 80, 96}},
		"brightness":    {func(im *byteImage) { im.enhance(3, make([]byte, 9)) }, []byte{30, 60, 90, 120, 150, 180, 210, 240, 255}},
		"contrast":      {func(im *byteImage) { im.enhance(0, im.meanGrey()) }, []byte{51, 51, 51, 51, 51, 51, 51, 51, 51}},
		"sharpness":     {func(im *byteImage) { im.enhance(0, im.smooth()) }, []byte{10, 20, 30, 40, 51, 60, 70, 80, 100}},
		"translate":     {func(im *byteImage) { im.affine([4]float64{1, 0, 0, 1}, 1, 0) }, []byte{20, 30, 0, 50, 60, 0, 80, 100, 0}},
		"shear":         {func(im *byteImage) { im.affine([4]float64{1, 1, 0, 1}, 0, 0) }, []byte{0, 10, 20, 40, 50, 60, 80, 100, 0}},
		"rotate":        {func(im *byteImage) { im.rotate(math.Pi / 2) }, []byte{30, 60, 100, 20, 50, 80, 10, 40, 70}},
		"equalize":      {func(im *byteImage) { im.equalize() }, []byte{10, 20, 30, 40, 50, 60, 70, 80, 100}},
	} {
		im := &byteImage{[]byte{10, 20, 30, 40, 50, 60, 70, 80, 100}, 3, 3, 1}
		if c.op(im); !slices.Equal(im.pixels, c.want) {
			t.Errorf("%s: got %v, expected %v", name, im.pixels, c.want)
		}
	}
	// Half of 1024 pixels are 0, a quarter 1, a quarter 2: the steps of equalize are (1024 - 256) / 255 = 3.
	im := &byteImage{slices.Concat(make([]byte, 512), slices.Repeat([]byte{1}, 256), slices.Repeat([]byte{2}, 256)), 32, 32, 1}
	if im.equalize(); fmt.Sprint(im.pixels[0], im.pixels[600], im.pixels[1000]) != "0 171 255" {
		t.Errorf("equalize: got %v %v %v", im.pixels[0], im.pixels[600], im.pixels[1000])
	}
}

func ExampleMixing_Mapper() {
	ds, err := Slices(nil, Slice("x", Feature, []float32{1, 2, 3, 4}), Slice("label", Label, []int64{0, 1, 2, 1}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(Pipe(ds, Batch(4, true), Map(Mixing{Mixup: 0.2, Classes: 3}.Mapper())).Schema())
	// Output: x float32 feature, label float32[3] label
}
