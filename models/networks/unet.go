package networks

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// UNet classifies each pixel of an image (Ronneberger et al. 2015). It has two convolutions at each of several sizes on the way
// down, and two on the way up, which also take the result on the way down. Convolutions keep the size, and are batch-normalised.
type UNet struct {
	Filters  []int // of each size, the largest size first; sides must be divisible by 2 for each size but the first
	Classes  int   // channels of the logits
	Bilinear bool  // enlarge by interpolation and a convolution, in place of a transposed convolution
}

// Logits returns, for images [batch, height, width, channels] of floats, [batch, height, width, Classes].
func (u UNet) Logits(c models.Context, x *G.Node) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	factor := 1 << max(len(u.Filters)-1, 0)
	if x == nil || len(x.Shape()) != 4 || len(u.Filters) == 0 || u.Classes < 1 || x.Shape()[1]%factor != 0 || x.Shape()[2]%factor != 0 {
		var shape []int
		if x != nil {
			shape = x.Shape()
		}
		c.Core().Failf("unet: %+v of images %v: expected [batch, height, width, channels] with sides that are multiples of %d, filters and classes", u, shape, factor)
		return nil
	}
	var kept []*G.Node
	for i, n := range u.Filters {
		if i > 0 {
			x = layers.MaxPool2D(c, x, layers.SquareWindow(2, 2, ops.Valid))
		}
		c.Core().Scope(fmt.Sprintf("down_%d", i), func() { x = u.twice(c, x, n) })
		kept = append(kept, x)
	}
	for i := len(u.Filters) - 2; i >= 0; i-- {
		c.Core().Scope(fmt.Sprintf("up_%d", i), func() {
			x = u.twice(c, ops.Concat(c, 3, kept[i], u.larger(c, x, u.Filters[i])), u.Filters[i])
		})
	}
	return layers.Conv2D(c, x, u.Classes, layers.SquareWindow(1, 1, ops.Same), layers.Weights{Name: "logits"})
}

// larger doubles the sides of x.
func (u UNet) larger(c models.Context, x *G.Node, filters int) *G.Node {
	w := layers.Weights{KernelInit: initializers.HeNormal()}
	if !u.Bilinear || c.Core().Failed() {
		return layers.Conv2DTranspose(c, x, filters, layers.SquareWindow(2, 2, ops.Same), w)
	}
	x = layers.Resizing(c, x, ops.Bilinear, 2*x.Shape()[1], 2*x.Shape()[2])
	return layers.Conv2D(c, x, filters, layers.SquareWindow(2, 1, ops.Same), w)
}

func (u UNet) twice(c models.Context, x *G.Node, filters int) *G.Node {
	for range 2 {
		w := layers.Weights{NoBias: true, KernelInit: initializers.HeNormal()}
		x = layers.BatchNorm(c, layers.Conv2D(c, x, filters, layers.SquareWindow(3, 1, ops.Same), w), layers.Norm{Momentum: 0.9})
		x = ops.Relu(c, x)
	}
	return x
}

// unet is UNet with the logits of all pixels flattened: outputs are a multiple of the number of pixels. Parameters: filters (16, 32, 64),
// bilinear (false) and the parameters of newImages without augmentation, which would not change a mask.
func unet(p *Params) Network {
	u, pixels := UNet{Filters: p.Ints("filters", 1, 16, 32, 64), Bilinear: p.Bool("bilinear", false)}, newImages(p)
	return func(c models.Context, f models.Features, outputs int) *G.Node {
		x := pixels.of(c, f)
		if c.Core().Failed() {
			return nil
		}
		n := x.Shape()[1] * x.Shape()[2]
		if pixels.padding > 0 || pixels.flip || outputs < n || outputs%n != 0 {
			c.Core().Failf("unet: %d outputs, crop_padding %d, flip %v: expected a multiple of %d pixels, and images that stay as they are", outputs, pixels.padding, pixels.flip, n)
			return nil
		}
		model := u // a network is built several times
		model.Classes = outputs / n
		return ops.Flatten(c, model.Logits(c, x))
	}
}
