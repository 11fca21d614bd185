package eager

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestRoiAlign: the values are ONNX Runtime's. TestONNXModels compares more.
func TestRoiAlign(t *testing.T) {
	s := newSession(t)
	images, first := tensorOf([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 3, 3), tensorOf([]int64{0}, 1)
	attrs := func(more graph.Attrs) graph.Attrs {
		a := graph.Attrs{"high": int64(1), "wide": int64(2), "samples": int64(1)}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	whole := tensorOf([]float32{0, 0, 2, 2}, 1, 4)
	s.expect(s.run("_RoiAlign", attrs(nil), images, whole, first), "float32[1 1 1 2] 2.5 3.5")
	s.expect(s.run("_RoiAlign", attrs(graph.Attrs{"half_pixel": false}), images, whole, first), "float32[1 1 1 2] 4.5 5.5")
	s.expect(s.run("_RoiAlign", attrs(nil), images, tensorOf([]float32{50, 50, 60, 60}, 1, 4), first), "float32[1 1 1 2] 0 0")
	s.expect(s.run("_RoiAlign", attrs(nil), images, tensorOf([]float32{}, 0, 4), tensorOf([]int64{}, 0)), "float32[0 1 1 2]")
	s.refuse("expected type int64", "_RoiAlign", attrs(nil), images, whole, tensorOf([]int32{0}, 1))
	s.refuse("of image 1", "_RoiAlign", attrs(nil), images, whole, tensorOf([]int64{1}, 1))
	s.refuse("regions [n,4]", "_RoiAlign", attrs(nil), images, tensorOf([]float32{1}, 1, 1), first)
	for _, far := range []float32{1e30, float32(math.Inf(1)), float32(math.NaN())} { // one sample per pixel
		s.refuse("samples for each element", "_RoiAlign", attrs(graph.Attrs{"samples": int64(0)}), images, tensorOf([]float32{0, 0, far, far}, 1, 4), first)
	}
}

// TestGridSample: the values are ONNX Runtime's. TestONNXModels compares more.
func TestGridSample(t *testing.T) {
	s := newSession(t)
	images := tensorOf([]float32{1, 2, 3, 4}, 1, 1, 2, 2)
	places := tensorOf([]float32{0, 0, -1, -1, 3, 0, float32(math.NaN()), 0}, 1, 1, 4, 2)
	padded := func(padding, mode string) graph.Attrs {
		return graph.Attrs{"padding": []byte(padding), "mode": []byte(mode)}
	}
	s.expect(s.run("_GridSample", nil, images, places), "float32[1 1 1 4] 2.5 0.25 0 NaN")
	s.expect(s.run("_GridSample", padded("border", "linear"), images, places), "float32[1 1 1 4] 2.5 1 3 NaN")
	s.expect(s.run("_GridSample", padded("reflection", "nearest"), images, tensorOf([]float32{3, 0.5, -3, 0.5}, 1, 1, 2, 2)), "float32[1 1 1 2] 3 4")
	s.expect(s.run("_GridSample", nil, images, tensorOf([]float32{}, 1, 0, 4, 2)), "float32[1 1 0 4]")
	s.refuse("a grid of shape", "_GridSample", nil, images, tensorOf([]float32{0}, 1, 1, 1, 1))
	s.refuse("mode cubic", "_GridSample", padded("zeros", "cubic"), tensorOf([]float32{1}, 1, 1, 1), tensorOf([]float32{0}, 1, 1, 1))
	s.refuse("expected type float32", "_GridSample", nil, images, tensorOf([]float64{0, 0}, 1, 1, 1, 2))
	s.refuse("no pixels", "_GridSample", nil, tensorOf([]float32{}, 1, 1, 0, 2), places)
	for _, sizes := range [][]int{{1, 1, 1, 1}, {1, 1, 1, 3}} { // reflected at ends that coincide
		x := tensor.New(tensor.Float32, sizes...)
		a := padded("reflection", "linear")
		a["align_corners"] = true
		s.run("_GridSample", a, x, places)
	}
}

// TestSelectBoxes selects boxes by class in each image.
func TestSelectBoxes(t *testing.T) {
	s := newSession(t)
	boxes := tensorOf([]float32{0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3}, 1, 3, 4)
	scores := tensorOf([]float32{0.5, 0.6, 0.1, 0.3, 0.2, 0.9}, 1, 2, 3)
	run := func(most int64, overlap, least float32) Value {
		return s.run("_SelectBoxes", nil, boxes, scores, tensor.Scalar(most), tensor.Scalar(overlap), tensor.Scalar(least))
	}
	s.expect(run(5, 0.5, 0.05), "int64[4 3] 0 0 1 0 0 2 0 1 2 0 1 0")
	s.expect(run(1, 0.5, 0.05), "int64[2 3] 0 0 1 0 1 2")
	s.expect(run(0, 0.5, 0.05), "int64[0 3]")
	none := s.run("_SelectBoxes", nil, tensor.New(tensor.Float32, 1, 0, 4), tensor.New(tensor.Float32, 1, 1<<28, 0), tensor.Scalar(int64(1)), tensor.Scalar(float32(0)), tensor.Scalar(float32(0)))
	s.expect(none, "int64[0 3]")
	s.refuse("iou_threshold", "_SelectBoxes", nil, boxes, scores, tensor.Scalar(int64(1)), tensor.Scalar(float32(2)), tensor.Scalar(float32(0)))
	s.refuse("expected boxes", "_SelectBoxes", nil, scores, scores, tensor.Scalar(int64(1)), tensor.Scalar(float32(0)), tensor.Scalar(float32(0)))
}
