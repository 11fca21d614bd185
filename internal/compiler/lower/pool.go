package lower

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// pooling is the geometry of Gorgonia's MaxPool2D, whose images are [b,c,h,w].
type pooling struct {
	attrs      graph.Attrs
	north, w   int
	padded     []int // [b,h,w,c] with the padding
	height     int
	width      int
	needsPad   bool
	paddingVec []int
}

func (s *site) pooling(x graph.Output) (pooling, error) {
	n, so, w, e := s.int("padNorth"), s.int("padSouth"), s.int("padWest"), s.int("padEast")
	if n != so || w != e {
		return pooling{}, refuse(s.node, "MaxPool2D", "it puts unequal padding on the wrong sides", "layers.MaxPool2D")
	}
	old := sizes(x)
	return pooling{
		attrs: graph.Attrs{"T": x.DType(), "data_format": []byte("NHWC"), "padding": []byte("VALID"), "explicit_paddings": graph.EmptyList{},
			"ksize":   []int64{1, int64(s.int("h")), int64(s.int("w")), 1},
			"strides": []int64{1, int64(s.int("strideH")), int64(s.int("strideW")), 1}},
		north: n, w: w, padded: []int{old[0], old[2] + 2*n, old[3] + 2*w, old[1]}, height: old[2], width: old[3],
		needsPad: n != 0 || w != 0, paddingVec: []int{0, 0, n, n, w, w, 0, 0},
	}, nil
}

// image returns x as [b,h,w,c], padded with the lowest number.
func (p pooling) image(s *site, x graph.Output) graph.Output {
	x = s.transpose(x, 0, 2, 3, 1)
	if !p.needsPad {
		return x
	}
	lowest := -math.MaxFloat64
	if x.DType() == tensor.Float32 {
		lowest = -math.MaxFloat32
	}
	data := make([]int32, len(p.paddingVec))
	for i, v := range p.paddingVec {
		data[i] = int32(v)
	}
	t, _ := tensor.FromSlice(data, 4, 2)
	return s.add("PadV2", like(x, p.padded...), graph.Attrs{"T": x.DType(), "Tpaddings": tensor.Int32}, x,
		s.l.Const(s.scope+"PadV2/paddings", t), s.scalar("PadV2/constant_values", x.DType(), lowest))
}

func lowerMaxPool(s *site) (graph.Output, error) {
	p, err := s.pooling(s.in[0])
	if err != nil {
		return graph.Output{}, err
	}
	x := p.image(s, s.in[0])
	y := s.add("MaxPool", like(x, s.shape[0], s.shape[2], s.shape[3], s.shape[1]), p.attrs, x)
	return s.transpose(y, 0, 3, 1, 2), nil
}

// lowerMaxPoolGrad lowers the gradient; the operands are x, y and dL/dy.
func lowerMaxPoolGrad(s *site) (graph.Output, error) {
	p, err := s.pooling(s.in[0])
	if err != nil {
		return graph.Output{}, err
	}
	x, y, dy := p.image(s, s.in[0]), s.transpose(s.in[1], 0, 2, 3, 1), s.transpose(s.in[2], 0, 2, 3, 1)
	dx := s.add("MaxPoolGrad", x.Type(), p.attrs, x, y, dy)
	if p.needsPad {
		shape := []int{s.shape[0], s.shape[2], s.shape[3], s.shape[1]}
		dx = s.add("StridedSlice", like(dx, shape...), sliceAttrs(dx.DType(), 1|8, 0), dx,
			s.vector("unpad/begin", 0, p.north, p.w, 0), s.vector("unpad/end", 0, p.north+p.height, p.w+p.width, 0), s.vector("unpad/strides", 1, 1, 1, 1))
	}
	return s.transpose(dx, 0, 3, 1, 2), nil
}
