package infer

import (
	"fmt"
	"slices"
)

// imageRules are of ops on images [N,H,W,C].
var imageRules = map[string]rule{
	"Conv2D": conv2D, "DepthwiseConv2dNative": depthwise, "MaxPool": pool, "AvgPool": pool, "FusedBatchNorm": batchNorm, "FusedBatchNormV2": batchNorm,
	"FusedBatchNormV3": batchNorm, "ResizeBilinear": resize, "ResizeNearestNeighbor": resize, "ResizeBicubic": resize, "ResizeArea": resize,
	"SpaceToBatchND": spaceToBatch, "BatchToSpaceND": batchToSpace,
	"SpaceToDepth": spaceToDepth, "DepthToSpace": depthToSpace,
}

// window is how a kernel moves over images.
type window struct {
	n      *site
	h, w   int // axes of height and width
	c      int // axis of channels
	stride [2]int
	dilate [2]int
}

func (s *site) window() (*window, error) {
	w := &window{n: s, h: 1, w: 2, c: 3}
	switch s.n.Str("data_format") {
	case "", "NHWC":
	case "NCHW":
		w.h, w.w, w.c = 2, 3, 1
	default:
		return nil, errUnknown
	}
	for name, to := range map[string]*[2]int{"strides": &w.stride, "dilations": &w.dilate} {
		v := s.n.Ints(name)
		if v == nil && name == "dilations" {
			v = []int64{1, 1, 1, 1}
		}
		if len(v) != 4 || v[w.h] < 1 || v[w.w] < 1 || v[w.h] > 1<<20 || v[w.w] > 1<<20 {
			return nil, fmt.Errorf("attribute %s: expected four sizes, got %v", name, v)
		}
		*to = [2]int{int(v[w.h]), int(v[w.w])}
	}
	return w, nil
}

// moved returns the sizes of what a kernel of the given size makes of images x.
func (w *window) moved(x []int, kernel [2]int, channels int) ([]Value, error) {
	out := slices.Clone(x)
	out[w.c] = channels
	pads := w.n.n.Ints("explicit_paddings")
	for i, a := range []int{w.h, w.w} {
		size := x[a]
		k := (kernel[i]-1)*w.dilate[i] + 1
		switch p := w.n.n.Str("padding"); p {
		case "SAME":
			out[a] = (size + w.stride[i] - 1) / w.stride[i]
			continue
		case "VALID":
		case "EXPLICIT":
			if len(pads) != 8 {
				return nil, fmt.Errorf("explicit_paddings: expected 8 sizes, got %v", pads)
			}
			size += int(pads[2*a]) + int(pads[2*a+1])
		default:
			return nil, fmt.Errorf("padding %q: expected SAME, VALID or EXPLICIT", p)
		}
		if size < k {
			return nil, fmt.Errorf("a window of %d does not fit into %d", k, size)
		}
		out[a] = (size-k)/w.stride[i] + 1
	}
	return one(out...)
}

func (s *site) filter() (w *window, x, k []int, err error) {
	if w, err = s.window(); err != nil {
		return
	}
	if x, err = s.rank(0, 4); err != nil {
		return
	}
	if k, err = s.rank(1, 4); err == nil && (k[0] < 1 || k[1] < 1 || k[2] < 1 || k[0] > 1<<20 || k[1] > 1<<20) {
		err = fmt.Errorf("filter of shape %v", k)
	}
	return
}

func conv2D(s *site) ([]Value, error) {
	w, x, k, err := s.filter()
	if err != nil {
		return nil, err
	}
	if x[w.c]%k[2] != 0 {
		return nil, fmt.Errorf("images %v and filter %v: the channels differ", x, k)
	}
	return w.moved(x, [2]int{k[0], k[1]}, k[3])
}

func depthwise(s *site) ([]Value, error) {
	w, x, k, err := s.filter()
	if err != nil {
		return nil, err
	}
	if x[w.c] != k[2] || k[3] > 1<<20 {
		return nil, fmt.Errorf("images %v and filter %v: the channels differ", x, k)
	}
	return w.moved(x, [2]int{k[0], k[1]}, k[2]*k[3])
}

func pool(s *site) ([]Value, error) {
	w, err := s.window()
	if err != nil {
		return nil, err
	}
	x, err := s.rank(0, 4)
	if err != nil {
		return nil, err
	}
	k := s.n.Ints("ksize")
	if len(k) != 4 || k[w.h] < 1 || k[w.w] < 1 {
		return nil, fmt.Errorf("ksize: expected four sizes, got %v", k)
	}
	return w.moved(x, [2]int{int(k[w.h]), int(k[w.w])}, x[w.c])
}

func batchNorm(s *site) ([]Value, error) {
	x, err := s.shape(0)
	if err != nil {
		return nil, err
	}
	scale, err := s.rank(1, 1)
	if err != nil {
		return nil, err
	}
	return append([]Value{Shaped(x...)}, repeat(5, scale)...), nil
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
	if len(size) != 2 {
		return nil, fmt.Errorf("size %v: expected height and width", size)
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
	if b < 1 || b > 1<<15 || !fits(x, b) {
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
	if block, err = s.ints(1); err != nil {
		return
	}
	if edges, err = s.ints(2); err != nil {
		return
	}
	if len(x) < len(block)+1 || len(edges) != 2*len(block) {
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
