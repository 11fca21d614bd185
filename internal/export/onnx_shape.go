package export

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// shapeOps move elements or return shapes.
var shapeOps = map[*ops.Def]func(*site) error{
	ops.Shape:        func(s *site) error { return s.yield(s.from64(s.step("Shape", nil, s.in(0)))) },
	ops.Size:         func(s *site) error { return s.yield(s.from64(s.step("Size", nil, s.in(0)))) },
	ops.Reshape:      func(s *site) error { return s.emit("Reshape", nil, s.in(0), s.as64(s.in(1), s.node.Inputs[1].DType())) },
	ops.ExpandDims:   expandDims,
	ops.Squeeze:      squeeze,
	ops.Transpose:    transpose,
	ops.ConcatV2:     concat,
	ops.Pack:         pack,
	ops.Unpack:       unpack,
	ops.Split:        split,
	ops.Slice:        slice,
	ops.StridedSlice: stridedSlice,
	ops.Tile:         func(s *site) error { return s.emit("Tile", nil, s.in(0), s.as64(s.in(1), s.node.Inputs[1].DType())) },
	ops.BroadcastTo:  func(s *site) error { return s.emit("Expand", nil, s.in(0), s.as64(s.in(1), s.node.Inputs[1].DType())) },
	ops.Pad:          pad,
	ops.PadV2:        pad,
}

// from64 converts an int64 result to the node's type.
func (s *site) from64(x string) string {
	if d := s.node.Outputs[0].DType; d != tensor.Int64 {
		return s.cast(x, d)
	}
	return x
}

func expandDims(s *site) error {
	axes, err := s.ints(1)
	if err != nil {
		return err
	}
	return s.emit("Unsqueeze", nil, s.in(0), s.int64s("axes", axes...))
}

func squeeze(s *site) error {
	var axes []int
	for _, a := range s.node.Ints("squeeze_dims") {
		axes = append(axes, int(a))
	}
	if len(axes) == 0 {
		return s.emit("Squeeze", nil, s.in(0))
	}
	return s.emit("Squeeze", nil, s.in(0), s.int64s("axes", axes...))
}

func transpose(s *site) error {
	perm, err := s.ints(1)
	if err != nil {
		return err
	}
	return s.yield(s.swapped(s.in(0), perm...))
}

func concat(s *site) error {
	last := len(s.node.Inputs) - 1
	axis, err := s.axis(last, 0)
	if err != nil {
		return err
	}
	return s.emit("Concat", map[string]any{"axis": axis}, s.ins()[:last]...)
}

func pack(s *site) error {
	axis := s.node.Int("axis", 0)
	axes := s.int64s("axes", axis)
	parts := s.ins()
	for i := range parts {
		parts[i] = s.step("Unsqueeze", nil, parts[i], axes)
	}
	return s.emit("Concat", map[string]any{"axis": axis}, parts...)
}

// parts splits input i along an axis into the node's outputs.
func (s *site) parts(i, axis int) []string {
	var out []string
	for range s.node.Outputs {
		out = append(out, s.unique(s.node.Name+"/Split"))
	}
	s.out.Nodes = append(s.out.Nodes, onnx.Node{Op: "Split", Name: out[0], Inputs: []string{s.in(i)}, Outputs: out, Attrs: map[string]any{"axis": axis}})
	return out
}

func unpack(s *site) error {
	axis := s.node.Int("axis", 0)
	axes := s.int64s("axes", axis)
	for i, part := range s.parts(0, axis) {
		s.values[s.node.Out(i)] = s.step("Squeeze", nil, part, axes)
	}
	return nil
}

func split(s *site) error {
	axis, err := s.axis(0, 1)
	if err != nil {
		return err
	}
	for i, part := range s.parts(1, axis) {
		s.values[s.node.Out(i)] = part
	}
	return nil
}

func slice(s *site) error {
	begin, err := s.ints(1)
	if err != nil {
		return err
	}
	size, err := s.ints(2)
	if err != nil {
		return err
	}
	end := make([]int, len(begin))
	for i := range end {
		if end[i] = begin[i] + size[i]; size[i] < 0 {
			end[i] = math.MaxInt64
		}
	}
	return s.emit("Slice", nil, s.in(0), s.int64s("starts", begin...), s.int64s("ends", end...))
}

// stridedSlice takes slices along the first dimensions, and removes some of these.
func stridedSlice(s *site) error {
	if s.node.Int("ellipsis_mask", 0) != 0 || s.node.Int("new_axis_mask", 0) != 0 {
		return fmt.Errorf("an ellipsis or a new axis is not translated")
	}
	var bounds [3][]int
	for i := range bounds {
		var err error
		if bounds[i], err = s.ints(i + 1); err != nil {
			return err
		}
	}
	begin, end, stride := bounds[0], bounds[1], bounds[2]
	var axes, gone []int
	for i := range begin {
		bit := 1 << i
		axes = append(axes, i)
		if s.node.Int("shrink_axis_mask", 0)&bit != 0 {
			gone = append(gone, i)
			if stride[i], end[i] = 1, begin[i]+1; begin[i] == -1 {
				end[i] = math.MaxInt64
			}
			continue
		}
		if s.node.Int("begin_mask", 0)&bit != 0 {
			if begin[i] = 0; stride[i] < 0 {
				begin[i] = math.MaxInt64
			}
		}
		if s.node.Int("end_mask", 0)&bit != 0 {
			if end[i] = math.MaxInt64; stride[i] < 0 {
				end[i] = math.MinInt64
			}
		}
	}
	x := s.step("Slice", nil, s.in(0), s.int64s("starts", begin...), s.int64s("ends", end...), s.int64s("axes", axes...), s.int64s("steps", stride...))
	if len(gone) > 0 {
		x = s.step("Squeeze", nil, x, s.int64s("gone", gone...))
	}
	return s.yield(x)
}

// pad takes the padding at all beginnings first, then at all ends.
func pad(s *site) error {
	v, err := s.ints(1)
	if err != nil {
		return err
	}
	n := len(v) / 2
	pads := make([]int, 2*n)
	for i := range n {
		pads[i], pads[n+i] = v[2*i], v[2*i+1]
	}
	in := []string{s.in(0), s.int64s("pads", pads...)}
	if s.node.Op == "PadV2" {
		in = append(in, s.in(2))
	}
	return s.emit("Pad", map[string]any{"mode": "constant"}, in...)
}
