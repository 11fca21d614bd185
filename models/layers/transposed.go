package layers

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Conv2DTranspose enlarges x [batch, height, width, channels]: the window spreads each pixel over an image of height·stride
// rows (padding Same), or of the rows that the windows cover (Valid), and likewise for columns. Its variables are
// conv2d_transpose/kernel [rows, columns, filters, channels] and conv2d_transpose/bias [filters].
func Conv2DTranspose(c models.Context, x *G.Node, filters int, win Window, w Weights) (y *G.Node) {
	const layer = "conv2d_transpose"
	if !usable(c, layer, x, 4) || !positive(c, layer, "filters", filters) {
		return nil
	}
	scope(c, w.Name, layer, func() { y = transposed(c, layer, x, filters, win, w) })
	return y
}

// Conv1DTranspose is Conv2DTranspose for steps, x [batch, steps, channels], with the variables conv1d_transpose/kernel [size,
// filters, channels] and conv1d_transpose/bias [filters].
func Conv1DTranspose(c models.Context, x *G.Node, filters int, win Window1D, w Weights) (y *G.Node) {
	const layer = "conv1d_transpose"
	if !usable(c, layer, x, 3) || !positive(c, layer, "filters", filters) {
		return nil
	}
	if win.Causal {
		c.Core().Failf("%s: causal: expected a convolution that does not enlarge", layer)
		return nil
	}
	scope(c, w.Name, layer, func() {
		y = row(c, x, func(x *G.Node) *G.Node { return transposed(c, layer, x, filters, win.flat(1), w) })
	})
	return y
}

// transposed is the convolution within its layer's scope.
func transposed(c models.Context, layer string, x *G.Node, filters int, win Window, w Weights) *G.Node {
	strides, size := win.strides([2]int{1, 1}), [2]int{}
	if !win.plain(c, layer) {
		return nil
	}
	for i := range size {
		var ok bool
		if size[i], ok = enlarged(c, layer, x.Shape()[1+i], win.Size[i], strides[i], win.Padding); !ok {
			return nil
		}
	}
	kernel := win.kernel(c, w, filters, x.Shape()[3])
	return w.finish(c, ops.Conv2DTranspose(c, x, kernel, size, strides, win.Padding), filters)
}

// enlarged returns the size over which n pixels are spread.
func enlarged(c models.Context, layer string, n, window, stride int, p ops.Padding) (int, bool) {
	if p.String() == "EXPLICIT" || stride < 1 || stride > math.MaxInt32 {
		c.Core().Failf("%s: padding %s, stride %d: expected Same or Valid, and strides below 2^31 and from 1 on", layer, p, stride)
		return 0, false
	}
	size := n * stride
	if p.String() == "VALID" {
		size += max(window-stride, 0)
	}
	return size, true
}

// Conv3DTranspose is Conv2DTranspose for volumes, x [batch, depth, height, width, channels], with the variables
// conv3d_transpose/kernel [depth, rows, columns, filters, channels] and conv3d_transpose/bias [filters].
func Conv3DTranspose(c models.Context, x *G.Node, filters int, win Window3D, w Weights) (y *G.Node) {
	const layer = "conv3d_transpose"
	if !usable(c, layer, x, 5) || !positive(c, layer, "filters", filters) {
		return nil
	}
	strides, size := win.strides([3]int{1, 1, 1}), [3]int{}
	for i := range size {
		var ok bool
		if size[i], ok = enlarged(c, layer, x.Shape()[1+i], win.Size[i], strides[i], win.Padding); !ok {
			return nil
		}
	}
	scope(c, w.Name, layer, func() {
		kernel := w.kernel(c, "kernel", win.Size[0], win.Size[1], win.Size[2], filters, x.Shape()[4])
		y = w.finish(c, ops.Conv3DTranspose(c, x, kernel, size, strides, win.Padding), filters)
	})
	return y
}
