package eager

import (
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// patchOps copy windows of images and volumes, or move a filter of grayscale morphology over them.
var patchOps = map[*ops.Def]maker{
	ops.ExtractImagePatches:  patches,
	ops.ExtractVolumePatches: patches,

	ops.Dilation2D: dilation(dilate[float32], dilate[float64], dilate[int8], dilate[int16], dilate[int32], dilate[int64],
		dilate[uint8], dilate[uint16], dilate[uint32], dilate[uint64]),
	ops.Dilation2DBackpropInput: dilation(dilateGradInput[float32], dilateGradInput[float64], dilateGradInput[int8], dilateGradInput[int16], dilateGradInput[int32],
		dilateGradInput[int64], dilateGradInput[uint8], dilateGradInput[uint16], dilateGradInput[uint32], dilateGradInput[uint64]),
	ops.Dilation2DBackpropFilter: dilation(dilateGradFilter[float32], dilateGradFilter[float64], dilateGradFilter[int8], dilateGradFilter[int16], dilateGradFilter[int32],
		dilateGradFilter[int64], dilateGradFilter[uint8], dilateGradFilter[uint16], dilateGradFilter[uint32], dilateGradFilter[uint64]),
}

// patches puts the elements of each window into the channels of one output pixel.
func patches(s *site) (kernel, error) {
	w, err := window.Read(s.node)
	if err != nil {
		return nil, err
	}
	return func(c call) error {
		x := c.t(0)
		g, err := w.Patches(x.Shape)
		if err != nil {
			return err
		}
		channels, err := elements([]int{g.KD, g.KH, g.KW, g.InC})
		if err != nil {
			return err
		}
		sizes := []int{g.Batch, g.OutD, g.OutH, g.OutW, channels}
		y, err := c.alloc(x.DType, sizes...)
		if err != nil {
			return err
		}
		shape := sizes
		if len(x.Shape) == 4 {
			shape = []int{g.Batch, g.OutH, g.OutW, channels}
		}
		c.set(0, reshaped(y, shape...))
		if y.Len() == 0 || x.Len() == 0 {
			return nil
		}
		return copyPatches(c, y, x, g)
	}, nil
}

// copyPatches fills y, which is all zeros, with the windows of x. It ends with the request.
func copyPatches(c call, y, x *tensor.Tensor, g kernels.Volume) error {
	left, row := 0, g.KW*g.InC
	for i := range y.Len() / row { // one row of a window
		if left -= row; left < 0 {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			left = uninterrupted
		}
		kh, kd, at := i%g.KH, i/g.KH%g.KD, i/(g.KH*g.KD)
		ow, oh, od, b := at%g.OutW, at/g.OutW%g.OutH, at/(g.OutW*g.OutH)%g.OutD, at/(g.OutW*g.OutH*g.OutD)
		d, h, from := od*g.StrideD-g.PadFront+kd*g.DilD, oh*g.StrideH-g.PadTop+kh*g.DilH, ow*g.StrideW-g.PadLeft
		if d < 0 || d >= g.InD || h < 0 || h >= g.InH {
			continue
		}
		line := ((b*g.InD+d)*g.InH + h) * g.InW
		if g.DilW == 1 {
			first, end := max(0, -from), min(g.KW, g.InW-from)
			if first < end {
				copyCells(y, i*row+first*g.InC, x, (line+from+first)*g.InC, (end-first)*g.InC)
			}
			continue
		}
		for k := range g.KW {
			if w := from + k*g.DilW; w >= 0 && w < g.InW {
				copyCells(y, i*row+k*g.InC, x, (line+w)*g.InC, g.InC)
			}
		}
	}
	return nil
}
