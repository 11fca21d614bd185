package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// convolutionOps are convolutions of images and volumes, and their gradients.
var convolutionOps = map[*ops.Def]maker{
	ops.Conv2D:                              convolutionMaker(forwardConv, conv2D[float32], conv2D[float64]),
	ops.Conv2DBackpropInput:                 convolutionMaker(inputGradConv, conv2D[float32], conv2D[float64]),
	ops.Conv2DBackpropFilter:                convolutionMaker(filterGradConv, conv2D[float32], conv2D[float64]),
	ops.DepthwiseConv2dNative:               convolutionMaker(forwardConv, depthwise2D[float32], depthwise2D[float64]),
	ops.DepthwiseConv2dNativeBackpropInput:  convolutionMaker(inputGradConv, depthwise2D[float32], depthwise2D[float64]),
	ops.DepthwiseConv2dNativeBackpropFilter: convolutionMaker(filterGradConv, depthwise2D[float32], depthwise2D[float64]),
	ops.Conv3D:                              convolutionMaker(forwardConv, conv3D[float32], conv3D[float64]),
	ops.Conv3DBackpropInputV2:               convolutionMaker(inputGradConv, conv3D[float32], conv3D[float64]),
	ops.Conv3DBackpropFilterV2:              convolutionMaker(filterGradConv, conv3D[float32], conv3D[float64]),
}

// volumeKernel computes dst from two operands.
type volumeKernel[T float] func(v kernels.Volume, dst, a, b []T)

// convolutionKind is a kind of convolution: its geometry and its kernels. Convolutions of images have no depth.
type convolutionKind[T float] struct {
	rank                           int
	over                           func(w *window.Attrs, x, filter []int) (kernels.Volume, error)
	forward, inputGrad, filterGrad volumeKernel[T]
}

// planar makes a kernel for images one for volumes.
func planar[T float](f func(g kernels.Window, dst, a, b []T)) volumeKernel[T] {
	return func(v kernels.Volume, dst, a, b []T) { f(v.Window, dst, a, b) }
}

func conv2D[T float]() convolutionKind[T] {
	return convolutionKind[T]{4, func(w *window.Attrs, x, filter []int) (v kernels.Volume, err error) {
		v.Window, err = w.Conv2D(x, filter)
		return v, err
	}, func(v kernels.Volume, y, x, w []T) { kernels.Conv2D(v.Window, y, x, w, nil, false) }, planar(kernels.Conv2DInputGrad[T]), planar(kernels.Conv2DFilterGrad[T])}
}

func depthwise2D[T float]() convolutionKind[T] {
	return convolutionKind[T]{4, func(w *window.Attrs, x, filter []int) (v kernels.Volume, err error) {
		v.Window, err = w.Depthwise(x, filter)
		return v, err
	}, planar(kernels.DepthwiseConv2D[T]), planar(kernels.DepthwiseInputGrad[T]), planar(kernels.DepthwiseFilterGrad[T])}
}

func conv3D[T float]() convolutionKind[T] {
	return convolutionKind[T]{5, (*window.Attrs).Conv3D, kernels.Conv3D[T], kernels.Conv3DInputGrad[T], kernels.Conv3DFilterGrad[T]}
}

// result returns the result sizes of a geometry.
func result(v kernels.Volume, rank int) []int {
	if rank == 4 {
		return window.Result(v.Window)
	}
	return window.Volumes(v)
}

// convDirection says what an op of a kind computes.
type convDirection int

const (
	forwardConv convDirection = iota
	inputGradConv
	filterGradConv
)

// images returns the inputs of a direction that are images.
func (d convDirection) images() []int { return [][]int{{0}, {2}, {0, 2}}[d] }

// convolutionMaker returns the maker of an op in a direction, for two element types.
func convolutionMaker(d convDirection, f32 func() convolutionKind[float32], f64 func() convolutionKind[float64]) maker {
	return func(s *site) (kernel, error) {
		w, err := window.Read(s.node)
		if err != nil {
			return nil, err
		}
		k := floats(func(c call) error { return convolve(c, w, d, f32()) }, func(c call) error { return convolve(c, w, d, f64()) }).on(d.images()[0])
		if w.First {
			k = channelsFirst(k, d != filterGradConv, d.images()...)
		}
		return k, nil
	}
}

func convolve[T float](c call, w *window.Attrs, d convDirection, k convolutionKind[T]) error {
	switch d {
	case inputGradConv:
		return k.inputGradient(c, w)
	case filterGradConv:
		return k.filterGradient(c, w)
	}
	x, f := c.t(0), c.t(1)
	if err := sameType(c.in); err != nil {
		return err
	}
	v, err := k.over(w, x.Shape, f.Shape)
	if err != nil {
		return err
	}
	y, err := outputOf[T](c, 0, result(v, k.rank)...)
	if err != nil || len(y) == 0 {
		return err
	}
	if x.Len() == 0 { // images without rows or channels: the sums have no terms
		return nil
	}
	if err := spareGroups(c, v, f); err != nil {
		return err
	}
	k.forward(v, y, tensor.Values[T](x), tensor.Values[T](f))
	return nil
}

// spareGroups pays for the kernels' copy for narrow groups of channels: the filter, padded with zeros to whole vectors.
func spareGroups(c call, v kernels.Volume, filter *tensor.Tensor) error {
	if v.Groups < 2 {
		return nil
	}
	return c.room(filter.Len(), filter.DType.Size()*min(v.Groups, kernels.MostMerged))
}

// inputGradient is the gradient of a convolution with respect to its images, which models use as a transposed convolution.
func (k convolutionKind[T]) inputGradient(c call, w *window.Attrs) error {
	f, dy := c.t(1), c.t(2)
	shape, err := c.vector("input_sizes", c.t(0))
	if err != nil {
		return err
	}
	if len(shape) != k.rank || len(f.Shape) != k.rank || f.DType != dy.DType {
		return fmt.Errorf("input_sizes %v, filter %v and out_backprop %v do not fit", shape, f.Shape, dy.Shape)
	}
	shape = w.ChannelsLast(shape)
	dx, err := outputOf[T](c, 0, shape...)
	if err != nil {
		return err
	}
	v, err := k.over(w, shape, f.Shape)
	if err != nil {
		return err
	}
	if err := fits("out_backprop", dy, result(v, k.rank)); err != nil || len(dx) == 0 || dy.Len() == 0 {
		return err
	}
	if err := spareGroups(c, v, f); err != nil {
		return err
	}
	k.inputGrad(v, dx, tensor.Values[T](dy), tensor.Values[T](f))
	return nil
}

// filterGradient is the gradient of a convolution with respect to its filter.
func (k convolutionKind[T]) filterGradient(c call, w *window.Attrs) error {
	x, dy := c.t(0), c.t(2)
	shape, err := c.vector("filter_sizes", c.t(1))
	if err != nil {
		return err
	}
	if len(shape) != k.rank || len(x.Shape) != k.rank || x.DType != dy.DType {
		return fmt.Errorf("input %v, filter_sizes %v and out_backprop %v do not fit", x.Shape, shape, dy.Shape)
	}
	dw, err := outputOf[T](c, 0, shape...)
	if err != nil {
		return err
	}
	v, err := k.over(w, x.Shape, shape)
	if err != nil {
		return err
	}
	if err := fits("out_backprop", dy, result(v, k.rank)); err != nil || len(dw) == 0 || dy.Len() == 0 || x.Len() == 0 {
		return err
	}
	if err := spareGroups(c, v, c.out[0].T); err != nil {
		return err
	}
	k.filterGrad(v, dw, tensor.Values[T](x), tensor.Values[T](dy))
	return nil
}
