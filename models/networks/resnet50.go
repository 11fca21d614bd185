package networks

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// bottleneck is a residual network of bottleneck blocks (He et al. 2015, section 4.1).
type bottleneck struct {
	images
	blocks []int // of each stage
	width  int
	norm   layers.Norm
	l2     float64
	again  bool // the gradients compute each block again
}

// resnet50 is the network for ImageNet with 50 layers: a 7x7 convolution and a 3x3 max pool, both with stride 2, stages of 3, 4, 6 and
// 3 bottleneck blocks of 64, 128, 256 and 512 filters, global average pooling and a dense layer. In a stage's first block the 3x3
// convolution has the stride of 2, as in PyTorch, and the shortcut is a 1x1 convolution. Parameters: blocks (3, 4, 6, 3), width (64),
// batch_norm_momentum (0.9), batch_norm_epsilon (1e-5), l2 (1e-4, of kernels), recompute (false), and the parameters of newImages.
func resnet50(p *Params) Network {
	r := bottleneck{images: newImages(p), blocks: p.Ints("blocks", 1, 3, 4, 6, 3), width: p.Int("width", 64, 1), l2: p.FloatIn("l2", 1e-4, 0, 1e6),
		again: p.Bool("recompute", false)}
	r.norm = layers.Norm{Momentum: p.FloatIn("batch_norm_momentum", 0.9, 1e-9, 1), Epsilon: p.FloatIn("batch_norm_epsilon", 1e-5, 1e-12, 1)}
	return r.build
}

func (r bottleneck) build(c models.Context, f models.Features, outputs int) *G.Node {
	x := ops.Relu(c, r.conv(c, r.of(c, f), r.width, 7, 2))
	x = layers.MaxPool2D(c, x, layers.SquareWindow(3, 2, ops.Same))
	for stage, blocks := range r.blocks {
		for block := range blocks {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			c.Core().Scope(fmt.Sprintf("stage_%d/block_%d", stage, block), func() {
				again(c, r.again, func() { x = r.block(c, x, r.width<<stage, stride) })
			})
		}
	}
	return logits(c, layers.GlobalAvgPool2D(c, x), outputs, layers.Weights{KernelRegularizer: penalty(0, r.l2)})
}

// block is three convolutions and a shortcut around them; its result has four times as many channels as filters.
func (r bottleneck) block(c models.Context, x *G.Node, filters, stride int) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	y := ops.Relu(c, r.conv(c, x, filters, 1, 1))
	y = ops.Relu(c, r.conv(c, y, filters, 3, stride))
	y = r.conv(c, y, 4*filters, 1, 1)
	if stride > 1 || x.Shape()[3] != 4*filters {
		c.Core().Scope("shortcut", func() { x = r.conv(c, x, 4*filters, 1, stride) })
	}
	return ops.Relu(c, ops.Add(c, y, x))
}

// conv is a convolution without bias and its batch normalization.
func (r bottleneck) conv(c models.Context, x *G.Node, filters, size, stride int) *G.Node {
	w := layers.Weights{NoBias: true, KernelInit: initializers.HeNormal(), KernelRegularizer: penalty(0, r.l2)}
	return layers.BatchNorm(c, layers.Conv2D(c, x, filters, layers.SquareWindow(size, stride, ops.Same), w), r.norm)
}
