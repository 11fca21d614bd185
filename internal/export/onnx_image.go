package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// imageOps work on images [batch, height, width, channels] and volumes [batch, depth, height, width,
// channels]. ONNX has the channels first.
var imageOps = map[*ops.Def]func(*site) error{
	ops.Conv2D:                conv,
	ops.DepthwiseConv2dNative: conv,
	ops.Conv3D:                conv,
	ops.Conv2DBackpropInput:   transposedConv,
	ops.Conv3DBackpropInputV2: transposedConv,
	ops.MaxPool:               pool("MaxPool", 2),
	ops.AvgPool:               pool("AveragePool", 2),
	ops.MaxPool3D:             pool("MaxPool", 3),
	ops.AvgPool3D:             pool("AveragePool", 3),
	ops.FusedBatchNorm:        batchNorm,
	ops.FusedBatchNormV2:      batchNorm,
	ops.FusedBatchNormV3:      batchNorm,
}

// space returns the entries of an attribute for the dimensions between batch and channels, or n ones if it is not set.
func (s *site) space(name string, n int) []int {
	out := make([]int, n)
	v := s.node.Ints(name)
	for i := range out {
		out[i] = 1
		if len(v) == n+2 {
			out[i] = int(v[1+i])
		}
	}
	return out
}

// windows describes the windows over images or volumes.
type windows struct{ size, strides, dilations []int }

func (s *site) windows(size []int) windows {
	return windows{size, s.space("strides", len(size)), s.space("dilations", len(size))}
}

// reach is the extent of a window in one dimension, including the gaps of its dilation.
func (w windows) reach(i int) int { return (w.size[i]-1)*w.dilations[i] + 1 }

// windowAttrs returns the attributes of windows over images of that shape.
func (s *site) windowAttrs(w windows, images graph.Shape) (map[string]any, error) {
	if f := s.node.Str("data_format"); f != "" && f != "NHWC" && f != "NDHWC" {
		return nil, fmt.Errorf("data_format %s is not translated", f)
	}
	attrs := map[string]any{"strides": w.strides, "kernel_shape": w.size}
	switch p := s.node.Str("padding"); p {
	case "VALID":
	case "SAME":
		pads, err := samePads(w, images)
		if err != nil {
			return nil, err
		}
		attrs["pads"] = pads
	case "EXPLICIT":
		e := s.node.Ints("explicit_paddings")
		if len(e) != 8 {
			return nil, fmt.Errorf("explicit_paddings %v: expected 8 numbers", e)
		}
		attrs["pads"] = []int{int(e[2]), int(e[4]), int(e[3]), int(e[5])}
	default:
		return nil, fmt.Errorf("padding %q is not translated", p)
	}
	return attrs, nil
}

// sizes returns height and width, or depth, height and width, of images.
func sizes(images graph.Shape, n int) ([]int, error) {
	out := make([]int, n)
	for i := range out {
		if images.Rank() != n+2 || !images.Dims[1+i].Static() {
			return nil, fmt.Errorf("images of unknown size, %v: expected known height and width", images)
		}
		out[i] = images.Dims[1+i].Const
	}
	return out, nil
}

// samePads is TensorFlow's SAME: there are as many outputs as strides fit, and an odd pixel is padded at the end.
func samePads(w windows, images graph.Shape) ([]int, error) {
	n := len(w.size)
	in, err := sizes(images, n)
	if err != nil {
		return nil, fmt.Errorf("padding SAME of %w", err)
	}
	pads := make([]int, 2*n)
	for i := range n {
		outputs := (in[i] + w.strides[i] - 1) / w.strides[i]
		total := max((outputs-1)*w.strides[i]+w.reach(i)-in[i], 0)
		pads[i], pads[n+i] = total/2, total-total/2
	}
	return pads, nil
}

// filterShape returns the shape of the filters, [size..., channels, channels], which must be known.
func (s *site) filterShape() ([]int, error) {
	shape := s.node.Inputs[1].Shape()
	if !shape.Known() || shape.Rank() != 4 && shape.Rank() != 5 {
		return nil, fmt.Errorf("filters of shape %v: expected a known one of rank 4 or 5", shape)
	}
	return shape.At(0), nil
}

func conv(s *site) error {
	f, err := s.filterShape()
	if err != nil {
		return err
	}
	n := len(f) - 2
	w := s.windows(f[:n])
	attrs, err := s.windowAttrs(w, s.node.Inputs[0].Shape())
	if err != nil {
		return err
	}
	attrs["dilations"] = w.dilations
	filters := s.in(1)
	if s.node.Op == "DepthwiseConv2dNative" {
		attrs["group"] = f[2]
		filters = s.step("Reshape", nil, filters, s.int64s("flat", f[0], f[1], 1, f[2]*f[3]))
	} else if c := s.node.Inputs[0].Shape().Dims[n+1]; c.Static() && c.Const != f[n] {
		attrs["group"] = c.Const / f[n]
	}
	y := s.step("Conv", attrs, s.channelsFirst(s.in(0), n), s.filtersFirst(filters, n))
	return s.yield(s.channelsLast(y, n))
}

// filtersFirst transposes filters [size..., a, b] to [b, a, size...].
func (s *site) filtersFirst(filters string, n int) string {
	perm := []int{n + 1, n}
	for i := range n {
		perm = append(perm, i)
	}
	return s.swapped(filters, perm...)
}

// transposedConv is the gradient of a convolution with respect to its images. The node's shape
// gives the size of the result: output_padding adds the last pixels if no window of the convolution reached them.
func transposedConv(s *site) error {
	f, err := s.filterShape()
	if err != nil {
		return err
	}
	n := len(f) - 2
	w := s.windows(f[:n])
	images, small := s.node.Out(0).Shape(), s.node.Inputs[2].Shape()
	attrs, err := s.windowAttrs(w, images)
	if err != nil {
		return err
	}
	to, err := sizes(images, n)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	from, err := sizes(small, n)
	if err != nil {
		return err
	}
	if c := images.Dims[n+1]; !c.Static() || c.Const != f[n] {
		return fmt.Errorf("%v channels of filters of %d: groups are not translated", c, f[n])
	}
	rest := make([]int, n)
	for i := range n {
		rest[i] = to[i] - (from[i]-1)*w.strides[i] - w.reach(i)
		if pads, ok := attrs["pads"].([]int); ok {
			rest[i] += pads[i] + pads[n+i]
		}
		if rest[i] < 0 || rest[i] >= max(w.strides[i], w.dilations[i]) {
			return fmt.Errorf("%d pixels of dimension %d are beyond the windows: expected fewer than a stride", rest[i], 1+i)
		}
	}
	attrs["dilations"], attrs["output_padding"] = w.dilations, rest
	y := s.step("ConvTranspose", attrs, s.channelsFirst(s.in(2), n), s.filtersFirst(s.in(1), n))
	return s.yield(s.channelsLast(y, n))
}

// pool is a pool over images with n spatial dimensions.
func pool(op string, n int) func(*site) error {
	return func(s *site) error {
		w := s.windows(s.space("ksize", n))
		attrs, err := s.windowAttrs(w, s.node.Inputs[0].Shape())
		if err != nil {
			return err
		}
		return s.yield(s.channelsLast(s.step(op, attrs, s.channelsFirst(s.in(0), n)), n))
	}
}

// batchNorm normalizes with fixed statistics.
func batchNorm(s *site) error {
	if v, ok := s.node.Attrs["is_training"].(bool); !ok || v {
		return fmt.Errorf("it normalizes by the batch: expected is_training=false")
	}
	if f := s.node.Str("data_format"); f != "" && f != "NHWC" {
		return fmt.Errorf("data_format %s is not translated", f)
	}
	in := s.ins()
	in[0] = s.channelsFirst(in[0], 2)
	y := s.step("BatchNormalization", map[string]any{"epsilon": s.node.Float("epsilon", 1e-4)}, in...)
	return s.yield(s.channelsLast(y, 2))
}
