package infer

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// imageRules are for ops on images [N,H,W,C].
var imageRules = map[*ops.Def]rule{
	ops.Conv2D: windows(4, images((*window.Attrs).Conv2D)), ops.IntegerConv2D: windows(4, images((*window.Attrs).Conv2D)), ops.DepthwiseConv2dNative: windows(4, images((*window.Attrs).Depthwise)),
	ops.MaxPool: windows(4, images(pool2D)), ops.MaxPoolWithArgmax: twice(windows(4, images(pool2D))), ops.AvgPool: windows(4, images(pool2D)),
	ops.Conv3D: windows(5, volumes((*window.Attrs).Conv3D)), ops.MaxPool3D: windows(5, volumes(pool3D)), ops.AvgPool3D: windows(5, volumes(pool3D)),
	ops.Conv2DBackpropInput: enlarged(4, images((*window.Attrs).Conv2D)), ops.Conv3DBackpropInputV2: enlarged(5, volumes((*window.Attrs).Conv3D)),
	ops.FusedBatchNorm: batchNorm, ops.FusedBatchNormV2: batchNorm,
	ops.FusedBatchNormV3: batchNorm, ops.ResizeBilinear: resize, ops.ResizeNearestNeighbor: resize, ops.ResizeBicubic: resize, ops.ResizeArea: resize, ops.ScaleAndTranslate: resize,
	ops.SpaceToBatchND: spaceToBatch, ops.BatchToSpaceND: batchToSpace,
	ops.SpaceToDepth: spaceToDepth, ops.DepthToSpace: depthToSpace,
}

// resultOf returns the result sizes of windows over images x, with channels last; pools have no filter.
type resultOf func(a *window.Attrs, x, filter []int) ([]int, error)

func images(over func(a *window.Attrs, x, filter []int) (kernels.Window, error)) resultOf {
	return func(a *window.Attrs, x, filter []int) ([]int, error) {
		g, err := over(a, x, filter)
		return window.Result(g), err
	}
}

func volumes(over func(a *window.Attrs, x, filter []int) (kernels.Volume, error)) resultOf {
	return func(a *window.Attrs, x, filter []int) ([]int, error) {
		g, err := over(a, x, filter)
		return window.Volumes(g), err
	}
}

func pool2D(a *window.Attrs, x, _ []int) (kernels.Window, error) { return a.Pool(x) }
func pool3D(a *window.Attrs, x, _ []int) (kernels.Volume, error) { return a.Pool3D(x) }

// twice is the rule of an op whose two results have one shape.
func twice(r rule) rule {
	return func(s *site) ([]Value, error) {
		all, err := r(s)
		return append(all, all...), err
	}
}

// windows is the rule of an op that moves windows over images of that rank, perhaps with a filter.
func windows(rank int, over resultOf) rule {
	return func(s *site) ([]Value, error) {
		a, err := window.Read(s.n)
		if err != nil {
			return nil, err
		}
		x, err := s.rank(0, rank)
		if err != nil {
			return nil, err
		}
		var filter []int
		if len(s.in) > 1 {
			if filter, err = s.rank(1, rank); err != nil {
				return nil, err
			}
		}
		y, err := over(a, a.ChannelsLast(x), filter)
		if err != nil {
			return nil, err
		}
		return one(a.ChannelsFirst(y)...)
	}
}

// enlarged is the rule for the gradient of a convolution with respect to its images, whose sizes input 0 gives.
func enlarged(rank int, over resultOf) rule {
	return func(s *site) ([]Value, error) {
		a, err := window.Read(s.n)
		if err != nil {
			return nil, err
		}
		x, err := s.vector(0)
		if err != nil {
			return nil, err
		}
		filter, err := s.rank(1, rank)
		if err != nil {
			return nil, err
		}
		dy, err := s.rank(2, rank)
		if err != nil {
			return nil, err
		}
		if len(x) != rank || slices.Min(x) < 0 {
			return nil, fmt.Errorf("input_sizes %v: expected %d sizes", x, rank)
		}
		y, err := over(a, a.ChannelsLast(x), filter)
		if err == nil && !slices.Equal(a.ChannelsFirst(y), dy) {
			err = fmt.Errorf("out_backprop of shape %v: expected %v", dy, a.ChannelsFirst(y))
		}
		if err != nil {
			return nil, err
		}
		return one(x...)
	}
}

func batchNorm(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) != 4 && len(x) != 5 {
		return nil, fmt.Errorf("input: expected rank 4 or 5, got shape %v", x)
	}
	channels := x[len(x)-1]
	if f := s.n.Str("data_format"); f == "NCHW" || f == "NCDHW" {
		channels = x[1]
	}
	for i := 1; i < len(s.in); i++ {
		v, err := s.rank(i, 1)
		if err != nil {
			return nil, err
		}
		if v[0] != channels && !(i > 2 && v[0] == 0) { // empty statistics: the op computes its own
			return nil, fmt.Errorf("input %d of shape %v: expected the channels of %v", i, v, x)
		}
	}
	return slices.Concat([]Value{Shaped(x...)}, repeat(4, []int{channels}), repeat(1, []int{0})), nil
}

func resize(s *site) ([]Value, error) {
	x, err := s.rank(0, 4)
	if err != nil {
		return nil, err
	}
	size, err := s.ints(1)
	if err != nil {
		return nil, err
	}
	if len(size) != 2 || min(size[0], size[1], x[1], x[2], x[3]) < 1 {
		return nil, fmt.Errorf("images %v and size %v: expected pixels and channels, and a positive height and width", x, size)
	}
	if s.n.Bool("align_corners") && s.n.Bool("half_pixel_centers") {
		return nil, fmt.Errorf("expected one of align_corners and half_pixel_centers, got both")
	}
	return one(x[0], size[0], size[1], x[3])
}

func spaceToDepth(s *site) ([]Value, error) {
	return blocks(s, func(x []int, b int) bool { return x[1]%b == 0 && x[2]%b == 0 }, false)
}
func depthToSpace(s *site) ([]Value, error) {
	return blocks(s, func(x []int, b int) bool { return x[3]%(b*b) == 0 }, true)
}

func blocks(s *site, fits func(x []int, b int) bool, grow bool) ([]Value, error) {
	x, err := s.rank(0, 4)
	if err != nil {
		return nil, err
	}
	b := s.n.Int("block_size", 0)
	if f := s.n.Str("data_format"); f != "" && f != "NHWC" {
		return nil, errUnknown
	}
	if b < 2 || b > 1<<16 || x[3] > maxElements/(b*b) || !fits(x, b) {
		return nil, fmt.Errorf("blocks of %d in %v", b, x)
	}
	if grow {
		return one(x[0], x[1]*b, x[2]*b, x[3]/(b*b))
	}
	return one(x[0], x[1]/b, x[2]/b, x[3]*b*b)
}

// moves returns the sizes of input 0, the blocks and the paddings or crops of SpaceToBatchND and BatchToSpaceND.
func (s *site) moves() (x, block, edges []int, err error) {
	if x, err = s.shape(0); err != nil {
		return
	}
	if block, err = s.vector(1); err != nil {
		return
	}
	if edges, err = s.ints(2); err != nil {
		return
	}
	if len(x) < len(block)+1 || !slices.Equal(s.in[2].T.Shape, []int{len(block), 2}) {
		return nil, nil, nil, fmt.Errorf("blocks %v and edges %v of shape %v", block, edges, x)
	}
	for i, b := range block {
		if b < 1 || b > 1<<15 || edges[2*i] < 0 || edges[2*i+1] < 0 || edges[2*i] > 1<<30 || edges[2*i+1] > 1<<30 {
			return nil, nil, nil, fmt.Errorf("blocks %v and edges %v", block, edges)
		}
	}
	return
}

func spaceToBatch(s *site) ([]Value, error) {
	x, block, pads, err := s.moves()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(x)
	for i, b := range block {
		size := x[i+1] + pads[2*i] + pads[2*i+1]
		if size%b != 0 || out[0] > maxElements {
			return nil, fmt.Errorf("blocks of %d in %d", b, size)
		}
		out[0], out[i+1] = out[0]*b, size/b
	}
	return one(out...)
}

func batchToSpace(s *site) ([]Value, error) {
	x, block, crops, err := s.moves()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(x)
	for i, b := range block {
		if out[0]%b != 0 || x[i+1] > maxElements {
			return nil, fmt.Errorf("%d rows of blocks of %d", x[0], b)
		}
		out[0], out[i+1] = out[0]/b, x[i+1]*b-crops[2*i]-crops[2*i+1]
	}
	return one(out...)
}
