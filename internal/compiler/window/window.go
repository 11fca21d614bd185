// Package window has TensorFlow's rules for ops that move a window over images: which attributes are valid, the sizes of
// their results, and what is refused. All implementations of these ops use these rules, so that they agree.
package window

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Attrs are the attributes of a convolution or a pooling. Its lists have values for height and width, or depth, height and width.
type Attrs struct {
	First    bool // data_format NCHW or NCDHW: the channels come before the other dimensions
	stride   []int
	dilation []int
	size     []int // of pools
	padding  string
	explicit [][2]int // rows and columns of zeros before and after
	op       string
}

// Read takes the attributes of a node.
func Read(n *graph.Node) (*Attrs, error) {
	a := &Attrs{op: n.Op, padding: n.Str("padding")}
	formats := [2]string{"NHWC", "NCHW"}
	if a.spatial() == 3 {
		formats = [2]string{"NDHWC", "NCDHW"}
	}
	switch f := n.Str("data_format"); f {
	case "", formats[0]:
	case formats[1]:
		a.First = true
	default:
		return nil, fmt.Errorf("data_format %q: expected %s or %s", f, formats[0], formats[1])
	}
	var err error
	if a.stride, err = a.list(n, "strides"); err != nil {
		return nil, err
	}
	a.dilation = slices.Repeat([]int{1}, a.spatial())
	sizes, dilations := a.names()
	if len(n.Ints(dilations)) > 0 || a.op == "ExtractImagePatches" || a.dilates() {
		if a.dilation, err = a.list(n, dilations); err != nil {
			return nil, err
		}
	}
	if sizes != "" {
		if a.size, err = a.list(n, sizes); err != nil {
			return nil, err
		}
	}
	return a, a.readPadding(n.Ints("explicit_paddings"))
}

// spatial is the number of dimensions that windows move over.
func (a *Attrs) spatial() int {
	if strings.Contains(a.op, "3D") || a.op == "ExtractVolumePatches" {
		return 3
	}
	return 2
}

func (a *Attrs) pools() bool { return a.maxPools() || strings.HasPrefix(a.op, "AvgPool") }

func (a *Attrs) maxPools() bool { return strings.HasPrefix(a.op, "MaxPool") }

func (a *Attrs) patches() bool { return strings.HasPrefix(a.op, "Extract") }

func (a *Attrs) dilates() bool { return strings.HasPrefix(a.op, "Dilation2D") }

// names returns the names of the attributes of the window's sizes, "" where an input gives them, and of the dilations.
func (a *Attrs) names() (sizes, dilations string) {
	switch {
	case a.patches():
		return "ksizes", "rates"
	case a.dilates():
		return "", "rates"
	case a.pools():
		return "ksize", "dilations"
	}
	return "", "dilations"
}

// explicitly reports whether the op allows padding EXPLICIT.
func (a *Attrs) explicitly() bool {
	return a.spatial() == 2 && !strings.HasPrefix(a.op, "AvgPool") && !strings.HasSuffix(a.op, "WithArgmax") && !a.patches() && !a.dilates()
}

// first is the index of the first spatial dimension in the attributes' lists.
func (a *Attrs) first() int {
	if a.First {
		return 2
	}
	return 1
}

// list reads a number for each dimension; only spatial dimensions may have others than 1.
func (a *Attrs) list(n *graph.Node, name string) ([]int, error) {
	v, from := n.Ints(name), a.first()
	if len(v) != a.spatial()+2 {
		return nil, fmt.Errorf("attribute %s: expected %d numbers, got %v", name, a.spatial()+2, v)
	}
	var list []int
	for i, x := range v {
		inside := i >= from && i < from+a.spatial()
		if x < 1 || x > math.MaxInt32 || !inside && x != 1 {
			return nil, fmt.Errorf("attribute %s: expected positive numbers, and 1 for the batch and the channels, got %v", name, v)
		}
		if inside {
			list = append(list, int(x))
		}
	}
	return list, nil
}

// readPadding takes explicit_paddings, which max pools without padding EXPLICIT do not read.
func (a *Attrs) readPadding(v []int64) error {
	switch {
	case a.padding == "EXPLICIT" && !a.explicitly(), a.padding != "EXPLICIT" && a.padding != "SAME" && a.padding != "VALID":
		return fmt.Errorf("attribute padding: expected SAME, VALID or, for 2-D convolutions and max pools, EXPLICIT, got %q", a.padding)
	case a.padding != "EXPLICIT" && len(v) > 0 && !a.maxPools():
		return fmt.Errorf("attribute explicit_paddings: expected none with padding %s, got %v", a.padding, v)
	case a.padding != "EXPLICIT":
		return nil
	case len(v) != 8:
		return fmt.Errorf("attribute explicit_paddings: expected 8 numbers, got %v", v)
	}
	from := a.first()
	for i, x := range v {
		spatial := i/2 >= from && i/2 < from+2
		if x < 0 || x > math.MaxInt32 || !spatial && x != 0 {
			return fmt.Errorf("attribute explicit_paddings: expected no negative numbers, and 0 for the batch and the channels, got %v", v)
		}
	}
	for i := range 2 {
		p := [2]int{int(v[2*(from+i)]), int(v[2*(from+i)+1])}
		if a.maxPools() && max(p[0], p[1]) >= a.size[i] {
			return fmt.Errorf("attribute explicit_paddings: expected less than the window of %d, got %v", a.size[i], v)
		}
		a.explicit = append(a.explicit, p)
	}
	return nil
}

// extent returns the output's length and the padding before it in spatial dimension i.
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

// over returns the geometry of windows of k over images [batch, height, width, channels], or volumes with a depth.
func (a *Attrs) over(x, k []int) (g kernels.Volume, err error) {
	h, c := len(x)-3, x[len(x)-1]
	g.Window = kernels.Window{Batch: x[0], InH: x[h], InW: x[h+1], InC: c, OutC: c, KH: k[h-1], KW: k[h],
		StrideH: a.stride[h-1], StrideW: a.stride[h], DilH: a.dilation[h-1], DilW: a.dilation[h]}
	if g.OutH, g.PadTop, err = a.extent(g.InH, g.KH, h-1); err != nil {
		return g, err
	}
	if g.OutW, g.PadLeft, err = a.extent(g.InW, g.KW, h); err != nil || h == 1 {
		return g, err
	}
	g.InD, g.KD, g.StrideD, g.DilD = x[1], k[0], a.stride[0], a.dilation[0]
	g.OutD, g.PadFront, err = a.extent(g.InD, g.KD, 0)
	return g, err
}

// Result returns the sizes of a geometry's result.
func Result(g kernels.Window) []int { return []int{g.Batch, g.OutH, g.OutW, g.OutC} }

// ChannelsLast returns the sizes of images in the node's format with the channels last.
func (a *Attrs) ChannelsLast(sizes []int) []int {
	if !a.First || len(sizes) < 2 {
		return sizes
	}
	return append(append([]int{sizes[0]}, sizes[2:]...), sizes[1])
}

// ChannelsFirst undoes ChannelsLast.
func (a *Attrs) ChannelsFirst(sizes []int) []int {
	if !a.First || len(sizes) < 2 {
		return sizes
	}
	last := len(sizes) - 1
	return append([]int{sizes[0], sizes[last]}, sizes[1:last]...)
}

// Volumes returns the sizes of the result of a geometry of volumes.
func Volumes(g kernels.Volume) []int { return []int{g.Batch, g.OutD, g.OutH, g.OutW, g.OutC} }

// Pool returns the geometry of a pooling of images [batch, height, width, channels].
func (a *Attrs) Pool(x []int) (kernels.Window, error) {
	if err := checkSizes(4, x); err != nil {
		return kernels.Window{}, err
	}
	g, err := a.over(x, a.size)
	return g.Window, err
}

// Pool3D returns the geometry of a pooling of volumes [batch, depth, height, width, channels].
func (a *Attrs) Pool3D(x []int) (kernels.Volume, error) {
	if err := checkSizes(5, x); err != nil {
		return kernels.Volume{}, err
	}
	return a.over(x, a.size)
}

// Patches returns the geometry of the windows that patches are copied from. x are the sizes of images, which count as
// volumes of depth 1, or of volumes [batch, depth, height, width, channels].
func (a *Attrs) Patches(x []int) (kernels.Volume, error) {
	if err := checkSizes(a.spatial()+2, x); err != nil {
		return kernels.Volume{}, err
	}
	g, err := a.over(x, a.size)
	if a.spatial() == 2 {
		g.InD, g.OutD, g.KD, g.StrideD, g.DilD = 1, 1, 1, 1, 1
	}
	return g, err
}

// Dilation returns the geometry of a grayscale dilation of images [batch, height, width, channels] by a filter
// [height, width, channels].
func (a *Attrs) Dilation(x, filter []int) (kernels.Window, error) {
	if err := errors.Join(checkSizes(4, x), checkSizes(3, filter)); err != nil {
		return kernels.Window{}, err
	}
	if x[3] != filter[2] {
		return kernels.Window{}, fmt.Errorf("images %v and filter %v: expected as many channels", x, filter)
	}
	g, err := a.over(x, filter[:2])
	return g.Window, err
}

// Conv2D returns the geometry of a convolution of images [batch, height, width, channels] with a filter
// [height, width, channels of a group, channels of the result].
func (a *Attrs) Conv2D(x, filter []int) (kernels.Window, error) {
	if err := checkSizes(4, x, filter); err != nil {
		return kernels.Window{}, err
	}
	g, err := a.conv(x, filter)
	return g.Window, err
}

// Conv3D returns the geometry of a convolution of volumes [batch, depth, height, width, channels] with a filter
// [depth, height, width, channels of a group, channels of the result]. TensorFlow's own kernel has one group; XLA's
// functions, which Keras uses for layers with groups, have several.
func (a *Attrs) Conv3D(x, filter []int) (kernels.Volume, error) {
	if err := checkSizes(5, x, filter); err != nil {
		return kernels.Volume{}, err
	}
	if slices.Contains(filter, 0) {
		return kernels.Volume{}, fmt.Errorf("filter %v: expected elements", filter)
	}
	return a.conv(x, filter)
}

// conv is the geometry for images or volumes. Images without channels and results without elements take any filter.
func (a *Attrs) conv(x, filter []int) (g kernels.Volume, err error) {
	n := len(filter)
	in, out := filter[n-2], filter[n-1]
	if in < 1 || x[n-1]%in != 0 {
		return g, fmt.Errorf("images %v and filter %v: the images' channels must be a multiple of the filter's, and the filter needs at least one", x, filter)
	}
	g, err = a.over(x, filter[:n-2])
	if g.OutC = out; err != nil || x[0] == 0 || min(g.OutH, g.OutW, g.OutC) == 0 || n == 5 && g.OutD == 0 {
		return g, err
	}
	if slices.Contains(filter, 0) {
		return g, fmt.Errorf("filter %v: expected elements", filter)
	}
	if g.Groups = x[n-1] / in; g.Groups > 0 && out%g.Groups != 0 {
		return g, fmt.Errorf("images %v and filter %v: expected output channels that are a multiple of the %d groups", x, filter, g.Groups)
	}
	return g, nil
}

// Depthwise returns the geometry of a convolution of each channel of images [batch, height, width, channels] with a filter
// [height, width, channels, results of each channel].
func (a *Attrs) Depthwise(x, filter []int) (kernels.Window, error) {
	if err := checkSizes(4, x, filter); err != nil {
		return kernels.Window{}, err
	}
	if x[3] != filter[2] {
		return kernels.Window{}, fmt.Errorf("images %v and filter %v: expected as many channels", x, filter)
	}
	g, err := a.over(x, filter[:2])
	g.OutC = filter[2] * filter[3]
	return g.Window, err
}

// checkSizes fails for images or filters of another rank, or so large that the arithmetic of geometries is not exact.
func checkSizes(rank int, tensors ...[]int) error {
	for _, sizes := range tensors {
		if len(sizes) != rank || slices.Min(sizes) < 0 || slices.Max(sizes) > math.MaxInt32 {
			return fmt.Errorf("images or filter of shape %v: expected rank %d and sizes below 2^31", sizes, rank)
		}
	}
	return nil
}
