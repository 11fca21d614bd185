package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// residual is the CIFAR network of He et al. 2015 (section 4.2): 6n+2 layers.
type residual struct {
	images
	blocks int // n, per stage
	norm   layers.Norm
	l2     float64
	width  int
	again  bool // the gradients compute each block again
}

// resnet20 is the CIFAR network with 20 layers: a 3x3 convolution, three stages of
// three blocks with 16, 32 and 64 filters, global average pooling and a dense
// layer; shortcuts are option A, without parameters. Parameters: blocks (3; 5 gives
// ResNet-32), width (16), batch_norm_momentum (0.9), batch_norm_epsilon (1e-5), l2
// (1e-4, of kernels), recompute (false), and the parameters of newImages.
func resnet20(p *Params) Network {
	r := residual{images: newImages(p), blocks: p.Int("blocks", 3, 1), width: p.Int("width", 16, 1), l2: p.FloatIn("l2", 1e-4, 0, 1e6),
		again: p.Bool("recompute", false)}
	r.norm = layers.Norm{Momentum: p.FloatIn("batch_norm_momentum", 0.9, 1e-9, 1), Epsilon: p.FloatIn("batch_norm_epsilon", 1e-5, 1e-12, 1)}
	return r.build
}

func (r residual) build(c models.Context, f models.Features, outputs int) *G.Node {
	x := ops.Relu(c, r.conv(c, r.of(c, f), r.width, 1))
	for stage := range 3 {
		for block := range r.blocks {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			c.Core().UniqueScope("block", func() {
				again(c, r.again, func() { x = r.block(c, x, r.width<<stage, stride) })
			})
		}
	}
	x = layers.GlobalAvgPool2D(c, x)
	return logits(c, x, outputs, layers.Weights{KernelRegularizer: penalty(0, r.l2)})
}

// block is two convolutions and a shortcut around them.
func (r residual) block(c models.Context, x *G.Node, filters, stride int) *G.Node {
	y := ops.Relu(c, r.conv(c, x, filters, stride))
	y = r.conv(c, y, filters, 1)
	return ops.Relu(c, ops.Add(c, y, shortcut(c, x, filters, stride)))
}

// conv is a 3x3 convolution without bias and its batch normalization.
func (r residual) conv(c models.Context, x *G.Node, filters, stride int) *G.Node {
	w := layers.Weights{NoBias: true, KernelInit: initializers.HeNormal(), KernelRegularizer: penalty(0, r.l2)}
	return layers.BatchNorm(c, layers.Conv2D(c, x, filters, layers.SquareWindow(3, stride, ops.Same), w), r.norm)
}

// shortcut is option A: every stride-th pixel, and zeros for the missing channels,
// half of them before and half after.
func shortcut(c models.Context, x *G.Node, filters, stride int) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	more := filters - x.Shape()[3]
	if stride > 1 {
		x = ops.AvgPool(c, x, [2]int{1, 1}, [2]int{stride, stride}, ops.Valid)
	}
	return ops.Pad(c, x, [][2]int{{}, {}, {}, {more / 2, more - more/2}})
}
