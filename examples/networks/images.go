package main

import (
	"math"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/glyphs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

const side = 32 // of an image

// resnet50 classifies the direction of stripes with any colour, width and place, under noise. It has an eighth of the usual filters: with 64
// as the width, a step takes about sixty times as long.
func resnet50() task {
	input := func(ic inputs.Context) (*rows, error) {
		r, count := random(ic), 2048
		pixels, labels := make([]uint8, 0, count*side*side*3), make([]int64, count)
		for i := range labels {
			labels[i] = int64(i % 4)
			angle, wave, shift := float64(labels[i])*math.Pi/4, 0.5+r.Float64()/2, r.Float64()*6
			colour := [3]float64{40 + 80*r.Float64(), 40 + 80*r.Float64(), 40 + 80*r.Float64()}
			for k := range side * side {
				x, y := float64(k%side), float64(k/side)
				bright := 1 + math.Sin(shift+wave*(x*math.Cos(angle)+y*math.Sin(angle)))
				for _, c := range colour {
					pixels = append(pixels, uint8(c*bright*0.9)+uint8(r.IntN(30)))
				}
			}
		}
		return &rows{[]inputs.NamedTensor{inputs.Slice("image", inputs.Feature, pixels, side, side, 3), inputs.Slice("label", inputs.Label, labels)}, count}, nil
	}
	return task{model: heads.MultiClass(4).Of(named("resnet50", map[string]any{"width": 8, "mean": 0.5, "std": 0.25})), input: input, batch: 32, steps: 250, metric: "accuracy", bound: 0.9, adam: 0.012}
}

// unet marks discs and boxes in noise: the mask is 1 inside them.
func unet() task {
	return task{model: estimator.ModelFunc(segment), input: shapes, batch: 16, steps: 120, metric: "dice", bound: 0.9}
}

// shapes draws one to three discs and boxes in each image.
func shapes(ic inputs.Context) (*rows, error) {
	r, count := random(ic), 512
	pixels, masks := make([]uint8, count*side*side), make([]uint8, count*side*side)
	for i := range count {
		image, mask := pixels[i*side*side:][:side*side], masks[i*side*side:][:side*side]
		for range 1 + r.IntN(3) {
			x, y, size, disc := r.IntN(side), r.IntN(side), 3+r.IntN(6), r.IntN(2) == 0
			for k := range mask {
				dx, dy := k%side-x, k/side-y
				if disc && dx*dx+dy*dy <= size*size || !disc && max(dx, -dx, dy, -dy) <= size {
					mask[k] = 1
				}
			}
		}
		for k := range image {
			image[k] = uint8(r.IntN(120)) + 90*mask[k]
		}
	}
	return &rows{[]inputs.NamedTensor{inputs.Slice("image", inputs.Feature, pixels, side, side, 1), inputs.Slice("mask", inputs.Label, masks, side, side)}, count}, nil
}

// segment minimises the Dice loss of masks.
func segment(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := ops.Mul(mc, ops.Cast(mc, features.Only(), tensor.Float32), ops.Scalar(mc, tensor.Float32, 1.0/255))
	shares := ops.Sigmoid(mc, ops.Squeeze(mc, networks.UNet{Filters: []int{8, 16, 32}, Classes: 1}.Logits(mc, x), 3))
	spec := &estimator.Spec{Predictions: estimator.Nodes{"mask": shares}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	mask := ops.Cast(mc, labels.Only(), tensor.Float32)
	spec.Loss = losses.Dice(mc, mask, shares, 1, losses.Options{})
	// Evaluate binary masks.
	decided := ops.Cast(mc, ops.Greater(mc, shares, ops.Scalar(mc, tensor.Float32, 0.5)), tensor.Float32)
	wrong := losses.Dice(mc, mask, decided, 1, losses.Options{Reduction: losses.None})
	spec.EvalMetrics = estimator.Metrics{"dice": estimator.NewMetric("mean", ops.Sub(mc, ops.Scalar(mc, tensor.Float32, 1), wrong))}
	if mc.Mode() == models.Train {
		rule := optimizers.Adam(0.01)
		spec.TrainOp = rule.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// autoencoder compresses a glyph, 28 x 28 pixels, to 16 numbers; labels are not used.
func autoencoder(variational bool) task {
	input := func(ic inputs.Context) (*rows, error) {
		const count = 4096
		pixels, seed := make([]uint8, count*glyphs.Pixels), int64(len(ic.Mode))
		for i := range count {
			glyphs.Draw(pixels[i*glyphs.Pixels:][:glyphs.Pixels], seed, int64(i))
		}
		return &rows{[]inputs.NamedTensor{inputs.Slice("image", inputs.Feature, pixels, glyphs.Pixels)}, count}, nil
	}
	t := task{model: estimator.ModelFunc(reconstruct(variational)), input: input, batch: 64, steps: 500, metric: "mean_squared_error", bound: 0.02, loss: true}
	if variational {
		t.bound = 0.03
	}
	return t
}

// reconstruct minimises the cross-entropy of pixels; if variational, also the divergence of codes.
func reconstruct(variational bool) func(mc *estimator.ModelContext, features models.Features, _ models.Labels) (*estimator.Spec, error) {
	net := networks.Autoencoder{Hidden: []int{128}, Code: 16, Variational: variational}
	return func(mc *estimator.ModelContext, features models.Features, _ models.Labels) (*estimator.Spec, error) {
		x := ops.Mul(mc, ops.Cast(mc, layers.Flatten(mc, features.Only()), tensor.Float32), ops.Scalar(mc, tensor.Float32, 1.0/255))
		code, divergence := net.Encode(mc, x)
		logits := net.Decode(mc, code, glyphs.Pixels)
		pixels := ops.Sigmoid(mc, logits)
		spec := &estimator.Spec{Predictions: estimator.Nodes{"code": code, "image": pixels}}
		if mc.Mode() == models.Predict {
			return spec, nil
		}
		spec.Loss = ops.Mean(mc, ops.Sum(mc, ops.SigmoidCrossEntropyWithLogits(mc, x, logits), ops.Axes(1)))
		spec.Loss = withDivergence(mc, spec.Loss, divergence)
		spec.EvalMetrics = estimator.Metrics{"mean_squared_error": estimator.NewMetric("mean", ops.SquaredDifference(mc, x, pixels))}
		if mc.Mode() == models.Train {
			rule := optimizers.Adam(0.003)
			spec.TrainOp = rule.Minimize(mc, spec.Loss)
		}
		return spec, nil
	}
}

func withDivergence(mc *estimator.ModelContext, loss, divergence *G.Node) *G.Node {
	if divergence == nil {
		return loss
	}
	return ops.Add(mc, loss, ops.Mean(mc, divergence))
}
