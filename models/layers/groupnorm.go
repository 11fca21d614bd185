package layers

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// RMSNorm divides x by the root mean square over its last dimension and multiplies it
// by gamma (Zhang and Sennrich 2019). There is no beta, and Norm's Momentum is ignored.
func RMSNorm(c models.Context, x *G.Node, o Norm) (y *G.Node) {
	const name = "rms_normalization"
	if !usable(c, name, x) || !positive(c, name, "rank", len(x.Shape())-1) {
		return nil
	}
	o.NoCenter = true
	scope(c, o.Name, name, func() {
		gamma, _ := o.affine(c, x.Shape()[len(x.Shape())-1])
		y = ops.Mul(c, x, inverse(c, ops.Mean(c, ops.Square(c, x), ops.KeepAxes(-1)), o.Epsilon))
		if gamma != nil {
			y = ops.Mul(c, y, gamma)
		}
	})
	return y
}

// GroupNorm normalises x [batch, ..., channels] for each example and each group of
// channels, over all places (Wu and He 2018), with gamma and beta for each channel.
func GroupNorm(c models.Context, x *G.Node, groups int, o Norm) *G.Node {
	return groupNorm(c, x, "group_normalization", groups, o)
}

// InstanceNorm is GroupNorm with a group for each channel (Ulyanov et al. 2016).
func InstanceNorm(c models.Context, x *G.Node, o Norm) *G.Node {
	if !usable(c, "instance_normalization", x) {
		return nil
	}
	return groupNorm(c, x, "instance_normalization", x.Shape()[max(len(x.Shape())-1, 0)], o)
}

func groupNorm(c models.Context, x *G.Node, name string, groups int, o Norm) (y *G.Node) {
	if !usable(c, name, x, 2, 3, 4, 5) || !positive(c, name, "groups", groups) {
		return nil
	}
	s := []int(x.Shape())
	channels := s[len(s)-1]
	if channels%groups != 0 {
		c.Core().Failf("%s: %d groups of %d channels: expected a divisor", name, groups, channels)
		return nil
	}
	scope(c, o.Name, name, func() {
		gamma, beta := o.affine(c, channels)
		parts := ops.Reshape(c, x, slices.Concat(s[:len(s)-1], []int{groups, channels / groups})...)
		axes := []int{len(s)}
		for i := 1; i < len(s)-1; i++ {
			axes = append(axes, i)
		}
		mean, variance := moments(c, parts, ops.KeepAxes(axes...))
		y = ops.Reshape(c, ops.Mul(c, ops.Sub(c, parts, mean), inverse(c, variance, o.Epsilon)), s...)
		if gamma != nil {
			y = ops.Mul(c, y, gamma)
		}
		if beta != nil {
			y = ops.Add(c, y, beta)
		}
	})
	return y
}
