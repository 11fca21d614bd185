package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// imageOps work on images [batch, height, width, channels], which ONNX has with
// the channels first.
var imageOps = map[*ops.Def]func(*site) error{
	ops.Conv2D:                conv,
	ops.DepthwiseConv2dNative: conv,
	ops.MaxPool:               pool("MaxPool"),
	ops.AvgPool:               pool("AveragePool"),
	ops.FusedBatchNorm:        batchNorm,
	ops.FusedBatchNormV2:      batchNorm,
	ops.FusedBatchNormV3:      batchNorm,
}

// pair is the part of a list of four that is about height and width.
func (s *site) pair(name string) []int {
	v := s.node.Ints(name)
	if len(v) != 4 {
		return []int{1, 1}
	}
	return []int{int(v[1]), int(v[2])}
}

// window says where windows of that size lie, in attributes.
func (s *site) window(size, dilations []int) (map[string]any, error) {
	if f := s.node.Str("data_format"); f != "" && f != "NHWC" {
		return nil, fmt.Errorf("data_format %s is not translated", f)
	}
	strides := s.pair("strides")
	attrs := map[string]any{"strides": strides, "kernel_shape": size}
	switch p := s.node.Str("padding"); p {
	case "VALID":
	case "SAME":
		pads, err := s.samePads(size, strides, dilations)
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

// samePads is TensorFlow's SAME: as many outputs as strides fit in, the odd pixel at the end.
func (s *site) samePads(size, strides, dilations []int) ([]int, error) {
	in := s.node.Inputs[0].Shape()
	if in.Rank() != 4 || !in.Dims[1].Static() || !in.Dims[2].Static() {
		return nil, fmt.Errorf("padding SAME of images of unknown size, %v: expected known height and width", in)
	}
	pads := make([]int, 4)
	for i := range 2 {
		n := in.Dims[1+i].Const
		outputs := (n + strides[i] - 1) / strides[i]
		total := max((outputs-1)*strides[i]+(size[i]-1)*dilations[i]+1-n, 0)
		pads[i], pads[2+i] = total/2, total-total/2
	}
	return pads, nil
}

func conv(s *site) error {
	shape := s.node.Inputs[1].Shape()
	if !shape.Known() || shape.Rank() != 4 {
		return fmt.Errorf("filters of shape %v: expected a known one of rank 4", shape)
	}
	f := shape.At(0)
	dilations := s.pair("dilations")
	attrs, err := s.window(f[:2], dilations)
	if err != nil {
		return err
	}
	attrs["dilations"] = dilations
	filters := s.in(1)
	if s.node.Op == "Conv2D" {
		filters = s.swapped(filters, 3, 2, 0, 1)
		if c := s.node.Inputs[0].Shape().Dims[3]; c.Static() && c.Const != f[2] {
			attrs["group"] = c.Const / f[2]
		}
	} else {
		attrs["group"] = f[2]
		flat := s.step("Reshape", nil, filters, s.int64s("flat", f[0], f[1], 1, f[2]*f[3]))
		filters = s.swapped(flat, 3, 2, 0, 1)
	}
	return s.yield(s.channelsLast(s.step("Conv", attrs, s.channelsFirst(s.in(0)), filters)))
}

func pool(op string) func(*site) error {
	return func(s *site) error {
		attrs, err := s.window(s.pair("ksize"), []int{1, 1})
		if err != nil {
			return err
		}
		return s.yield(s.channelsLast(s.step(op, attrs, s.channelsFirst(s.in(0)))))
	}
}

// batchNorm by fixed statistics.
func batchNorm(s *site) error {
	if v, ok := s.node.Attrs["is_training"].(bool); !ok || v {
		return fmt.Errorf("it normalizes by the batch: expected is_training=false")
	}
	if f := s.node.Str("data_format"); f != "" && f != "NHWC" {
		return fmt.Errorf("data_format %s is not translated", f)
	}
	in := s.ins()
	in[0] = s.channelsFirst(in[0])
	y := s.step("BatchNormalization", map[string]any{"epsilon": s.node.Float("epsilon", 1e-4)}, in...)
	return s.yield(s.channelsLast(y))
}
