// Package window has TensorFlow's rules of the ops that move a window over images: what their attributes may be, the sizes
// of their results, and what is refused. All implementations of these ops take them from here, so that they agree.
package window

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Attrs are the attributes of a convolution or a pooling. Pairs are of height and width.
type Attrs struct {
	First    bool // data_format NCHW: the channels come before height and width
	stride   [2]int
	dilation [2]int
	size     [2]int // of pools
	padding  string
	explicit [2][2]int // rows and columns of zeros before and after
	op       string
}

// Read takes the attributes of a node.
func Read(n *graph.Node) (*Attrs, error) {
	a := &Attrs{op: n.Op, padding: n.Str("padding"), size: [2]int{1, 1}, dilation: [2]int{1, 1}}
	switch f := n.Str("data_format"); f {
	case "", "NHWC":
	case "NCHW":
		a.First = true
	default:
		return nil, fmt.Errorf("data_format %q: expected NHWC or NCHW", f)
	}
	var err error
	if a.stride, err = a.pair(n, "strides"); err != nil {
		return nil, err
	}
	if len(n.Ints("dilations")) > 0 {
		if a.dilation, err = a.pair(n, "dilations"); err != nil {
			return nil, err
		}
	}
	if a.pools() {
		if a.size, err = a.pair(n, "ksize"); err != nil {
			return nil, err
		}
	}
	return a, a.readPadding(n.Ints("explicit_paddings"))
}

func (a *Attrs) pools() bool { return a.maxPools() || a.op == "AvgPool" || a.op == "AvgPoolGrad" }

func (a *Attrs) maxPools() bool { return a.op == "MaxPool" || a.op == "MaxPoolGrad" }

// axes are where the attributes have the height and the width.
func (a *Attrs) axes() [2]int {
	if a.First {
		return [2]int{2, 3}
	}
	return [2]int{1, 2}
}

// pair reads four numbers; only height and width may be other than 1.
func (a *Attrs) pair(n *graph.Node, name string) (hw [2]int, err error) {
	v, at := n.Ints(name), a.axes()
	if len(v) != 4 {
		return hw, fmt.Errorf("attribute %s: expected 4 numbers, got %v", name, v)
	}
	for i, x := range v {
		if x < 1 || x > math.MaxInt32 || i != at[0] && i != at[1] && x != 1 {
			return hw, fmt.Errorf("attribute %s: expected positive numbers, and 1 for the batch and the channels, got %v", name, v)
		}
	}
	return [2]int{int(v[at[0]]), int(v[at[1]])}, nil
}

// readPadding takes explicit_paddings, which max pools without padding EXPLICIT do not read.
func (a *Attrs) readPadding(v []int64) error {
	switch {
	case a.padding == "EXPLICIT" && (a.op == "AvgPool" || a.op == "AvgPoolGrad"), a.padding != "EXPLICIT" && a.padding != "SAME" && a.padding != "VALID":
		return fmt.Errorf("attribute padding: expected SAME, VALID or, but for AvgPool, EXPLICIT, got %q", a.padding)
	case a.padding != "EXPLICIT" && len(v) > 0 && !a.maxPools():
		return fmt.Errorf("attribute explicit_paddings: expected none with padding %s, got %v", a.padding, v)
	case a.padding != "EXPLICIT":
		return nil
	case len(v) != 8:
		return fmt.Errorf("attribute explicit_paddings: expected 8 numbers, got %v", v)
	}
	at := a.axes()
	for i, x := range v {
		spatial := i/2 == at[0] || i/2 == at[1]
		if x < 0 || x > math.MaxInt32 || !spatial && x != 0 {
			return fmt.Errorf("attribute explicit_paddings: expected no negative numbers, and 0 for the batch and the channels, got %v", v)
		}
	}
	for i, axis := range at {
		a.explicit[i] = [2]int{int(v[2*axis]), int(v[2*axis+1])}
		if p := a.explicit[i]; a.maxPools() && max(p[0], p[1]) >= a.size[i] {
			return fmt.Errorf("attribute explicit_paddings: expected less than the window of %d, got %v", a.size[i], v)
		}
	}
	return nil
}

// extent returns the output's length and the padding before of dimension i (height, width).
func (a *Attrs) extent(in, k, i int) (out, before int, err error) {
	if a.padding == "EXPLICIT" {
		in, before = in+a.explicit[i][0]+a.explicit[i][1], a.explicit[i][0]
	}
	out, half := kernels.OutSize(in, k, a.stride[i], a.dilation[i], a.padding == "SAME")
	if out < 0 {
		return 0, 0, fmt.Errorf("the size of the result would be negative: a window over %d of %d rows or columns, padding included", (k-1)*a.dilation[i]+1, in)
	}
	return out, before + half, nil
}

// over returns the geometry of windows of k over images [batch, height, width, channels].
func (a *Attrs) over(x []int, k [2]int) (g kernels.Window, err error) {
	g = kernels.Window{Batch: x[0], InH: x[1], InW: x[2], InC: x[3], OutC: x[3], KH: k[0], KW: k[1],
		StrideH: a.stride[0], StrideW: a.stride[1], DilH: a.dilation[0], DilW: a.dilation[1]}
	if g.OutH, g.PadTop, err = a.extent(g.InH, k[0], 0); err == nil {
		g.OutW, g.PadLeft, err = a.extent(g.InW, k[1], 1)
	}
	return g, err
}

// Result returns the sizes of what a geometry makes.
func Result(g kernels.Window) []int { return []int{g.Batch, g.OutH, g.OutW, g.OutC} }

// Pool returns the geometry of a pooling of images [batch, height, width, channels].
func (a *Attrs) Pool(x []int) (kernels.Window, error) {
	if err := checkSizes(x); err != nil {
		return kernels.Window{}, err
	}
	return a.over(x, a.size)
}

// Conv2D returns the geometry of a convolution of images [batch, height, width, channels] with a filter
// [height, width, channels of a group, channels of the result].
func (a *Attrs) Conv2D(x, filter []int) (kernels.Window, error) {
	if err := checkSizes(x, filter); err != nil {
		return kernels.Window{}, err
	}
	if filter[2] < 1 || x[3]%filter[2] != 0 {
		return kernels.Window{}, fmt.Errorf("images %v and filter %v: the images' channels must be a multiple of the filter's, and the filter needs at least one", x, filter)
	}
	g, err := a.over(x, [2]int{filter[0], filter[1]})
	if g.OutC = filter[3]; err != nil || empty(Result(g)) {
		return g, err
	}
	if empty(filter) {
		return g, fmt.Errorf("filter %v: expected elements", filter)
	}
	if n := Groups(g, filter); n > 0 && filter[3]%n != 0 {
		return g, fmt.Errorf("images %v and filter %v: expected output channels that are a multiple of the %d groups", x, filter, n)
	}
	return g, nil
}

// Groups returns how many groups of channels a convolution has that Conv2D has accepted; 0 of images without channels.
func Groups(g kernels.Window, filter []int) int { return g.InC / filter[2] }

// Depthwise returns the geometry of a convolution of each channel of images [batch, height, width, channels] with a filter
// [height, width, channels, results of each].
func (a *Attrs) Depthwise(x, filter []int) (kernels.Window, error) {
	if err := checkSizes(x, filter); err != nil {
		return kernels.Window{}, err
	}
	if x[3] != filter[2] {
		return kernels.Window{}, fmt.Errorf("images %v and filter %v: expected as many channels", x, filter)
	}
	g, err := a.over(x, [2]int{filter[0], filter[1]})
	g.OutC = filter[2] * filter[3]
	return g, err
}

// checkSizes fails for images or filters that are not of rank 4, or so large that the arithmetic of geometries is not exact.
func checkSizes(tensors ...[]int) error {
	for _, sizes := range tensors {
		if len(sizes) != 4 || min(sizes[0], sizes[1], sizes[2], sizes[3]) < 0 || max(sizes[0], sizes[1], sizes[2], sizes[3]) > math.MaxInt32 {
			return fmt.Errorf("images or filter of shape %v: expected rank 4 and sizes below 2^31", sizes)
		}
	}
	return nil
}

func empty(sizes []int) bool { return min(sizes[0], sizes[1], sizes[2], sizes[3]) == 0 }
