package layers_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TestWindowLayers: the sizes of the results of layers on windows, and their variables.
func TestWindowLayers(t *testing.T) {
	steps, images, volumes := []int{12, 4}, []int{8, 6, 4}, []int{6, 4, 8, 4}
	for _, k := range []struct {
		name  string
		in    []int
		build func(b *models.Builder, x *G.Node) *G.Node
		want  []int
		vars  string
	}{
		{"causal", steps, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv1D(b, x, 6, layers.Window1D{Size: 3, Causal: true, Dilation: 2, Groups: 2}, layers.Weights{})
		}, []int{12, 6}, "conv1d/kernel[3 2 6] conv1d/bias[6]"},
		{"strided", steps, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv1D(b, x, 6, layers.Window1D{Size: 3, Stride: 2, Padding: ops.Same}, layers.Weights{NoBias: true})
		}, []int{6, 6}, "conv1d/kernel[3 4 6]"},
		{"max of steps", steps, func(b *models.Builder, x *G.Node) *G.Node { return layers.MaxPool1D(b, x, layers.Window1D{Size: 3}) }, []int{4, 4}, ""},
		{"mean of steps", steps, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.AvgPool1D(b, x, layers.Window1D{Size: 3, Stride: 1})
		}, []int{10, 4}, ""},
		{"global steps", steps, func(b *models.Builder, x *G.Node) *G.Node {
			return ops.Add(b, layers.GlobalAvgPool1D(b, x), layers.GlobalMaxPool1D(b, x))
		}, []int{4}, ""},
		{"dilated", images, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv2D(b, x, 6, layers.Window{Size: [2]int{3, 3}, Dilation: [2]int{2, 1}, Groups: 2}, layers.Weights{})
		}, []int{4, 4, 6}, "conv2d/kernel[3 3 2 6] conv2d/bias[6]"},
		{"separable", images, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.SeparableConv2D(b, x, 5, 2, layers.SquareWindow(3, 2, ops.Same), layers.Weights{})
		}, []int{4, 3, 5}, "separable_conv2d/depthwise_kernel[3 3 4 2] separable_conv2d/pointwise_kernel[1 1 8 5] separable_conv2d/bias[5]"},
		{"transposed", images, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv2DTranspose(b, x, 5, layers.SquareWindow(3, 2, ops.Same), layers.Weights{})
		}, []int{16, 12, 5}, "conv2d_transpose/kernel[3 3 5 4] conv2d_transpose/bias[5]"},
		{"transposed whole", images, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv2DTranspose(b, x, 5, layers.SquareWindow(3, 2, ops.Valid), layers.Weights{NoBias: true})
		}, []int{17, 13, 5}, "conv2d_transpose/kernel[3 3 5 4]"},
		{"transposed steps", steps, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv1DTranspose(b, x, 5, layers.Window1D{Size: 3, Stride: 2}, layers.Weights{})
		}, []int{25, 5}, "conv1d_transpose/kernel[3 5 4] conv1d_transpose/bias[5]"},
		{"transposed volumes", volumes, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv3DTranspose(b, x, 5, layers.Window3D{Size: [3]int{3, 3, 1}, Strides: [3]int{2, 2, 2}, Padding: ops.Same}, layers.Weights{})
		}, []int{12, 8, 16, 5}, "conv3d_transpose/kernel[3 3 1 5 4] conv3d_transpose/bias[5]"},
		{"separable steps", steps, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.SeparableConv1D(b, x, 5, 2, layers.Window1D{Size: 3, Stride: 2, Padding: ops.Same}, layers.Weights{})
		}, []int{6, 5}, "separable_conv1d/depthwise_kernel[3 4 2] separable_conv1d/pointwise_kernel[1 8 5] separable_conv1d/bias[5]"},
		{"volumes", volumes, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Conv3D(b, x, 3, layers.Window3D{Size: [3]int{3, 1, 3}}, layers.Weights{})
		}, []int{4, 4, 6, 3}, "conv3d/kernel[3 1 3 4 3] conv3d/bias[3]"},
		{"pools of volumes", volumes, func(b *models.Builder, x *G.Node) *G.Node {
			w := layers.Window3D{Size: [3]int{2, 2, 2}}
			return ops.Add(b, layers.MaxPool3D(b, x, w), layers.AvgPool3D(b, x, w))
		}, []int{3, 2, 4, 4}, ""},
		{"global volumes", volumes, func(b *models.Builder, x *G.Node) *G.Node {
			return ops.Add(b, layers.GlobalAvgPool3D(b, x), layers.GlobalMaxPool3D(b, x))
		}, []int{4}, ""},
		{"larger", images, func(b *models.Builder, x *G.Node) *G.Node { return layers.UpSampling(b, x, 2, 3) }, []int{16, 18, 4}, ""},
		{"resized", images, func(b *models.Builder, x *G.Node) *G.Node { return layers.Resizing(b, x, ops.Bilinear, 5, 12) }, []int{5, 12, 4}, ""},
		{"bordered", images, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.BorderPadding(b, x, ops.Reflect, [2]int{1, 2}, [2]int{5, 0})
		}, []int{11, 11, 4}, ""},
		{"padded", steps, func(b *models.Builder, x *G.Node) *G.Node { return layers.ZeroPadding(b, x, [2]int{1, 2}) }, []int{15, 4}, ""},
		{"cropped", volumes, func(b *models.Builder, x *G.Node) *G.Node {
			return layers.Cropping(b, x, [2]int{1, 2}, [2]int{}, [2]int{0, 3})
		}, []int{3, 4, 5, 4}, ""},
	} {
		t.Run(k.name, func(t *testing.T) {
			b, err := models.Build(models.Options{Mode: models.Train, Batch: 5}, func(b *models.Builder) error {
				y := k.build(b, b.Input("x", tensor.Float32, append([]int{b.Batch()}, k.in...)...))
				if y != nil && !slices.Equal(y.Shape(), append([]int{5}, k.want...)) {
					t.Errorf("got shape %v, expected a batch of %v", y.Shape(), k.want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var vars []string
			for _, v := range b.Variables() {
				vars = append(vars, fmt.Sprint(v.Name, v.Shape))
			}
			if got := strings.Join(vars, " "); got != k.vars {
				t.Errorf("got variables %q, expected %q", got, k.vars)
			}
		})
	}
}

// TestWindowLayersRefuse: invalid arguments of layers on windows are errors that say what was expected.
func TestWindowLayersRefuse(t *testing.T) {
	for want, build := range map[string]func(b *models.Builder, x *G.Node){
		"expected one of them to be 1": func(b *models.Builder, x *G.Node) {
			layers.Conv2D(b, x, 4, layers.Window{Size: [2]int{2, 2}, Strides: [2]int{2, 2}, Dilation: [2]int{2, 2}}, layers.Weights{})
		},
		"3 groups of 4 channels": func(b *models.Builder, x *G.Node) {
			layers.Conv2D(b, x, 6, layers.Window{Size: [2]int{2, 2}, Groups: 3}, layers.Weights{})
		},
		"expected Same or Valid": func(b *models.Builder, x *G.Node) {
			layers.Conv2DTranspose(b, x, 6, layers.Window{Size: [2]int{2, 2}, Padding: ops.Explicit(1, 1, 1, 1)}, layers.Weights{})
		},
		"conv1d_transpose: causal": func(b *models.Builder, x *G.Node) {
			layers.Conv1DTranspose(b, ops.Squeeze(b, ops.Slice(b, x, []int{0, 0, 0, 0}, []int{-1, 1, -1, -1}), 1), 2, layers.Window1D{Size: 2, Causal: true}, layers.Weights{})
		},
		"conv3d_transpose: padding VALID, stride -1": func(b *models.Builder, x *G.Node) {
			layers.Conv3DTranspose(b, ops.ExpandDims(b, x, 1), 2, layers.Window3D{Size: [3]int{2, 2, 2}, Strides: [3]int{1, -1, 1}}, layers.Weights{})
		},
		"something is left":              func(b *models.Builder, x *G.Node) { layers.Cropping(b, x, [2]int{4, 5}, [2]int{}) },
		"expected 1 to 3":                func(b *models.Builder, x *G.Node) { layers.ZeroPadding(b, x) },
		"resizing: 0 spatial dimensions": func(b *models.Builder, x *G.Node) { layers.Resizing(b, x, ops.Nearest) },
		"0 to 7 elements of a reflect border": func(b *models.Builder, x *G.Node) {
			layers.BorderPadding(b, x, ops.Reflect, [2]int{8, 0}, [2]int{})
		},
		"factors [2 -1]": func(b *models.Builder, x *G.Node) { layers.UpSampling(b, x, 2, -1) },
		"expected rank":  func(b *models.Builder, x *G.Node) { layers.Conv1D(b, x, 2, layers.Window1D{Size: 2}, layers.Weights{}) },
		"-1 groups of 4 channels": func(b *models.Builder, x *G.Node) {
			layers.Conv2D(b, x, 4, layers.Window{Size: [2]int{2, 2}, Groups: -1}, layers.Weights{})
		},
		"depthwise_conv2d: 2 groups": func(b *models.Builder, x *G.Node) {
			layers.DepthwiseConv2D(b, x, 1, layers.Window{Size: [2]int{2, 2}, Groups: 2}, layers.Weights{})
		},
		"separable_conv2d: 2 groups": func(b *models.Builder, x *G.Node) {
			layers.SeparableConv2D(b, x, 1, 1, layers.Window{Size: [2]int{2, 2}, Groups: 2}, layers.Weights{})
		},
		"max_pooling2d: dilation [2 2]": func(b *models.Builder, x *G.Node) {
			layers.MaxPool2D(b, x, layers.Window{Size: [2]int{2, 2}, Dilation: [2]int{2, 2}})
		},
		"average_pooling2d: 2 groups": func(b *models.Builder, x *G.Node) {
			layers.AvgPool2D(b, x, layers.Window{Size: [2]int{2, 2}, Groups: 2})
		},
		"dilations [2147483648 1]": func(b *models.Builder, x *G.Node) {
			layers.Conv2D(b, x, 4, layers.Window{Size: [2]int{1, 1}, Dilation: [2]int{1 << 31, 1}}, layers.Weights{})
		},
		"strides [1 2147483648]": func(b *models.Builder, x *G.Node) {
			layers.Conv2D(b, x, 4, layers.Window{Size: [2]int{2, 2}, Strides: [2]int{1, 1 << 31}}, layers.Weights{})
		},
		"expected >= 0 and below 2^31": func(b *models.Builder, x *G.Node) {
			layers.Conv2D(b, x, 4, layers.Window{Size: [2]int{2, 2}, Padding: ops.Explicit(math.MaxInt, math.MaxInt, 0, 0)}, layers.Weights{})
		},
		"strides below 2^31": func(b *models.Builder, x *G.Node) {
			layers.Conv2DTranspose(b, x, 4, layers.Window{Size: [2]int{2, 2}, Strides: [2]int{1 << 62, 1}}, layers.Weights{})
		},
		"conv2d_transpose: dilation [2 2]": func(b *models.Builder, x *G.Node) {
			layers.Conv2DTranspose(b, x, 4, layers.Window{Size: [2]int{2, 2}, Dilation: [2]int{2, 2}}, layers.Weights{})
		},
		"of dimension 1": func(b *models.Builder, x *G.Node) {
			layers.ZeroPadding(b, x, [2]int{math.MaxInt, math.MaxInt}, [2]int{})
		},
		"cropping: [[9223372036854775807": func(b *models.Builder, x *G.Node) {
			layers.Cropping(b, x, [2]int{math.MaxInt, math.MaxInt}, [2]int{})
		},
		"strides [1 -1]": func(b *models.Builder, x *G.Node) {
			layers.Conv1D(b, line(b, x), 4, layers.Window1D{Size: 2, Stride: -1}, layers.Weights{})
		},
		"dilations [1 -1]": func(b *models.Builder, x *G.Node) {
			layers.Conv1D(b, line(b, x), 4, layers.Window1D{Size: 2, Dilation: -1}, layers.Weights{})
		},
		"expected a convolution": func(b *models.Builder, x *G.Node) {
			layers.MaxPool1D(b, line(b, x), layers.Window1D{Size: 2, Causal: true})
		},
		"max_pooling1d: dilation": func(b *models.Builder, x *G.Node) {
			layers.MaxPool1D(b, line(b, x), layers.Window1D{Size: 2, Dilation: 2})
		},
		"Conv3D: window [2 2 2] with strides [1 2147483648 1]": func(b *models.Builder, x *G.Node) {
			layers.Conv3D(b, ops.ExpandDims(b, x, 1), 4, layers.Window3D{Size: [3]int{2, 2, 2}, Strides: [3]int{1, 1 << 31, 1}, Padding: ops.Same}, layers.Weights{})
		},
	} {
		_, err := models.Build(models.Options{Mode: models.Train, Batch: 5}, func(b *models.Builder) error {
			build(b, b.Input("x", tensor.Float32, b.Batch(), 8, 6, 4))
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// line returns the pixels of images as steps.
func line(b *models.Builder, x *G.Node) *G.Node {
	s := x.Shape()
	return ops.Reshape(b, x, s[0], s[1]*s[2], s[3])
}
