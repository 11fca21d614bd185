package networks

import (
	"strconv"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// mobileNet is MobileNetV2 (Sandler et al. 2018) as keras.applications builds it. Its variables have Keras' names, shapes
// and order, so that weight files of Keras need no rules.
type mobileNet struct {
	images
	alpha float64
	norm  layers.Norm
}

// mobileNetV2 is the network with 53 convolutions: inverted residual blocks, with depthwise convolutions on wide layers
// between narrow ones. Parameters: alpha (1; multiplies the widths), batch_norm_momentum (0.999), batch_norm_epsilon
// (1e-3), and the parameters of newImages.
func mobileNetV2(p *Params) Network {
	n := mobileNet{images: newImages(p), alpha: p.FloatIn("alpha", 1, 0.01, 100)}
	n.norm = layers.Norm{Momentum: p.FloatIn("batch_norm_momentum", 0.999, 1e-9, 1), Epsilon: p.FloatIn("batch_norm_epsilon", 1e-3, 1e-12, 1)}
	return n.build
}

// mobileStages are the stages: the number of blocks, their filters, and the stride of the first block.
var mobileStages = []struct{ blocks, filters, stride int }{
	{1, 16, 1}, {2, 24, 2}, {3, 32, 2}, {4, 64, 2}, {3, 96, 1}, {3, 160, 2}, {1, 320, 1},
}

func (n mobileNet) build(c models.Context, f models.Features, outputs int) *G.Node {
	x := n.conv(c, n.of(c, f), "Conv1", "bn_Conv1", roundTo8(32*n.alpha), 3, 2)
	x = ops.Relu6(c, x)
	number := 0
	for _, stage := range mobileStages {
		for i := range stage.blocks {
			stride := 1
			if i == 0 {
				stride = stage.stride
			}
			x = n.block(c, x, number, n.width(stage.filters), stride)
			number++
		}
	}
	last := 1280
	if n.alpha > 1 {
		last = roundTo8(1280 * n.alpha)
	}
	x = ops.Relu6(c, n.conv(c, x, "Conv_1", "Conv_1_bn", last, 1, 1))
	x = layers.GlobalAvgPool2D(c, x)
	return logits(c, x, outputs, layers.Weights{Name: "predictions"})
}

// width returns a number of filters times alpha.
func (n mobileNet) width(filters int) int { return roundTo8(float64(int(float64(filters) * n.alpha))) }

// roundTo8 rounds to a multiple of 8, at least 8, that is no less than nine tenths of v.
func roundTo8(v float64) int {
	n := max(8, int(v+4)/8*8)
	if float64(n) < 0.9*v {
		n += 8
	}
	return n
}

// conv is a convolution without bias and its normalization.
func (n mobileNet) conv(c models.Context, x *G.Node, name, norm string, filters, size, stride int) *G.Node {
	x = layers.Conv2D(c, x, filters, layers.SquareWindow(size, stride, ops.Same), layers.Weights{Name: name, NoBias: true})
	return n.normalize(c, x, norm)
}

func (n mobileNet) normalize(c models.Context, x *G.Node, name string) *G.Node {
	o := n.norm
	o.Name = name
	return layers.BatchNorm(c, x, o)
}

// expansion is how many times wider blocks are inside than their inputs.
const expansion = 6

// block is an inverted residual block. The very first one does not expand.
func (n mobileNet) block(c models.Context, x *G.Node, number, filters, stride int) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	name, channels := "expanded_conv_", x.Shape()[3]
	y := x
	if number > 0 {
		name = "block_" + strconv.Itoa(number) + "_"
		y = ops.Relu6(c, n.conv(c, y, name+"expand", name+"expand_BN", expansion*channels, 1, 1))
	}
	y = n.depthwise(c, y, name, stride)
	y = n.conv(c, y, name+"project", name+"project_BN", filters, 1, 1)
	if stride == 1 && channels == filters {
		return ops.Add(c, x, y)
	}
	return y
}

// depthwise convolves each channel.
func (n mobileNet) depthwise(c models.Context, x *G.Node, name string, stride int) *G.Node {
	x = layers.DepthwiseConv2D(c, x, 1, layers.SquareWindow(3, stride, ops.Same), layers.Weights{Name: name + "depthwise", NoBias: true})
	return ops.Relu6(c, n.normalize(c, x, name+"depthwise_BN"))
}
