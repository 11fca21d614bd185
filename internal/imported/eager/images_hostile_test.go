package eager

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestOddImages: images without channels, boxes that overflow and very wide results neither panic nor run forever.
func TestOddImages(t *testing.T) {
	const huge = 1 << 13
	f := func(shape ...int) *tensor.Tensor { return tensor.New(tensor.Float32, shape...) }
	boxes := func(v float32) *tensor.Tensor { return tensorOf([]float32{-v, -v, v, v}, 1, 4) }
	first, size := tensorOf([]int32{0}, 1), func(v ...int32) *tensor.Tensor { return tensorOf(v, len(v)) }
	for _, c := range []struct {
		op      string
		nearest bool
		in      []any
	}{
		{"CropAndResize", false, []any{f(1, 3, 3, 1), boxes(math.MaxFloat32), first, size(2, 3)}},
		{"CropAndResize", true, []any{f(1, 3, 3, 1), boxes(math.MaxFloat32), first, size(2, 3)}},
		{"CropAndResize", false, []any{f(1, 3, 3, 1), boxes(math.MaxFloat32), first, size(1, 1)}},
		{"CropAndResize", false, []any{f(1, 3, 3, 0), boxes(1), first, size(huge, huge)}},
		{"CropAndResizeGradImage", false, []any{f(1, huge, huge, 0), boxes(1), first, size(1, 3, 3, 0)}},
		{"CropAndResizeGradImage", false, []any{f(1, 2, 2, 1), boxes(math.MaxFloat32), first, size(1, 3, 3, 1)}},
		{"CropAndResizeGradBoxes", false, []any{f(1, huge, huge, 0), f(1, 3, 3, 0), boxes(1), first}},
		{"CropAndResizeGradBoxes", false, []any{f(1, 2, 2, 0), f(1, 3, 3, 0), tensorOf([]float32{0, 0, 1, 1}, 1, 4), first}},
		{"CropAndResizeGradBoxes", false, []any{f(1, 2, 2, 1), f(1, 3, 3, 1), boxes(math.MaxFloat32), first}},
	} {
		attrs := graph.Attrs{}
		if c.nearest {
			attrs["method"] = []byte("nearest")
		}
		if _, err := newSession(t).try(c.op, attrs, c.in...); err != nil {
			t.Errorf("%s: %v", c.op, err)
		}
	}
	for _, in := range []int{1, 3, 1000} {
		for _, out := range []int{1<<24 + 1, 1<<25 + 3, math.MaxInt32} {
			for _, r := range []scaling{{in: in, out: out}, {in: in, out: out, corners: true}, {in: in, out: out, halves: true}} {
				if p := r.between(out - 1); p.lo < 0 || p.lo >= in || p.hi < 0 || p.hi >= in {
					t.Errorf("%+v: the last pixel is between %+v", r, p)
				}
			}
		}
	}
}

// TestSearchForABoxEnds: the search for a part that shows enough of an object ends with its context.
func TestSearchForABoxEnds(t *testing.T) {
	s := newSession(t)
	n := &graph.Node{Name: "n", Op: "StatelessSampleDistortedBoundingBox", Attrs: graph.Attrs{"max_attempts": int64(math.MaxInt32), "area_range": []float32{0.01, 0.02}}}
	in := s.values(tensorOf([]int32{100, 100, 3}, 3), tensorOf([]float32{0, 0, 1, 1}, 1, 1, 4), float32(1), tensorOf([]int64{1, 2}, 2))
	if _, err := Run(&endsSoon{t.Context(), 20}, n, in, s.env); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestLongImagesEnd: kernels of large images end with their context.
func TestLongImagesEnd(t *testing.T) {
	x, size := tensor.New(tensor.Float32, 1, 8, 8, 1), tensorOf([]int32{8, 8}, 2)
	one, zero, first := tensorOf([]float32{1, 1}, 2), tensorOf([]float32{0, 0}, 2), tensorOf([]int32{0}, 1)
	box, large := tensorOf([]float32{0, 0, 1, 1}, 1, 4), tensor.New(tensor.Float32, 1, 64, 64, 1)
	var still, moving bytes.Buffer
	frame := image.NewPaletted(image.Rect(0, 0, 8, 8), color.Palette{color.Black, color.White})
	if err := errors.Join(png.Encode(&still, frame), gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame, frame, frame}, Delay: make([]int, 4)})); err != nil {
		t.Fatal(err)
	}
	pixels := tensor.New(tensor.Uint8, 64, 64, 1)
	scores, far := tensor.New(tensor.Float32, 1, 8, 1), tensor.New(tensor.Float32, 1, 8, 1, 4)
	for i := range 8 {
		copy(tensor.Values[float32](far)[4*i:], []float32{float32(i), 0, float32(i) + 1, 1})
		tensor.Values[float32](scores)[i] = 1
	}
	for op, in := range map[string][]any{
		"ResizeBilinear": {x, size}, "ResizeNearestNeighbor": {x, size}, "ResizeBicubic": {x, size}, "ResizeArea": {x, size},
		"ResizeBilinearGrad": {x, x}, "ResizeNearestNeighborGrad": {x, size}, "ResizeBicubicGrad": {x, x},
		"ScaleAndTranslate": {large, tensorOf([]int32{64, 64}, 2), one, zero}, "ScaleAndTranslateGrad": {large, large, one, zero},
		"CropAndResize": {x, box, first, size}, "CropAndResizeGradImage": {x, box, first, tensorOf([]int32{1, 8, 8, 1}, 4)}, "CropAndResizeGradBoxes": {x, x, box, first},
		"DecodePng": {still.String()}, "DecodeGif": {moving.String()}, "EncodeJpeg": {pixels}, "EncodePng": {pixels},
		"CombinedNonMaxSuppression": {far, scores, int32(8), int32(8), float32(0.5), float32(0)},
	} {
		s := newSession(t)
		values, n := s.values(in...), &graph.Node{Name: "n", Op: op}
		if _, err := Run(t.Context(), n, values, s.env); err != nil {
			t.Errorf("%s: %v", op, err)
		}
		if _, err := Run(&endsSoon{t.Context(), 2}, n, values, s.env); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: expected that it ends with its context, got %v", op, err)
		}
	}
}
