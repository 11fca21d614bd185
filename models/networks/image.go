package networks

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// images says how the program preprocesses images, on the device: bytes are fed unchanged, since they have a
// quarter of the size of floats.
type images struct {
	mean, std []float64 // one for all, or one for each channel; empty: 0 and 1
	padding   int
	flip      bool
}

// newImages reads the parameters of networks for images: mean (0) and std (1) of pixels, after bytes are scaled to 0..1, and the
// augmentation in training: crop_padding (0) and flip (false), see layers.RandomCropFlip.
func newImages(p *Params) images {
	m := images{mean: p.Floats("mean"), std: p.Floats("std"), padding: p.Int("crop_padding", 0, 0), flip: p.Bool("flip", false)}
	for _, v := range m.std {
		if !(v > 0) {
			p.Refuse("std", fmt.Errorf("expected numbers above 0, got %v", v))
		}
	}
	return m
}

// of returns the only feature as [batch, height, width, channels].
func (m images) of(c models.Context, f models.Features) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	if f.Len() != 1 {
		c.Core().Failf("the network takes one image: the input has the features %s", strings.Join(f.Names(), ", "))
		return nil
	}
	x := numeric(c, f.All()[0])
	if x == nil {
		return nil
	}
	switch len(x.Shape()) {
	case 3:
		x = ops.ExpandDims(c, x, -1)
	case 4:
	default:
		c.Core().Failf("feature %s has shape %v: expected an image [batch, height, width] or [batch, height, width, channels]", f.Names()[0], x.Shape())
		return nil
	}
	if len(m.mean) > 0 {
		x = ops.Sub(c, x, m.perChannel(c, x, "mean", m.mean))
	}
	if len(m.std) > 0 {
		x = ops.Div(c, x, m.perChannel(c, x, "std", m.std))
	}
	return layers.RandomCropFlip(c, x, m.padding, m.flip)
}

// perChannel returns a constant of x's type with one number, or one for each channel.
func (m images) perChannel(c models.Context, x *G.Node, name string, v []float64) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	if n := x.Shape()[3]; len(v) != 1 && len(v) != n {
		c.Core().Failf("%s has %d numbers: expected 1, or one for each of %d channels", name, len(v), n)
		return nil
	}
	t := tensor.New(tensor.Float32, len(v))
	for i, e := range v {
		tensor.Values[float32](t)[i] = float32(e)
	}
	return ops.Cast(c, ops.Constant(c, t), models.GraphType(x.Dtype()))
}
