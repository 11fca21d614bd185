package heads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// unreduced asks for the losses of single examples.
var unreduced = losses.Options{Reduction: losses.None}

// namedLosses are the losses that the parameter loss can name, by the kind of head.
var namedLosses = map[string]map[string]func(p *params.Reader) LossFn{
	"binary": {
		"focal": sigmoidFocal,
		"hinge": func(*params.Reader) LossFn {
			return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
				return losses.Hinge(mc, in.Labels, in.Logits, unreduced)
			}
		},
	},
	"multi_class": {"focal": softmaxFocal},
	"multi_label": {"focal": sigmoidFocal, "dice": dice},
	"regression": {
		"huber":               huber,
		"quantile":            quantile,
		"mean_absolute_error": absoluteError,
		"cosine_similarity":   func(*params.Reader) LossFn { return cosineSimilarity },
	},
	"reconstruction": {"huber": huber, "mean_absolute_error": absoluteError, crossEntropy: func(*params.Reader) LossFn {
		return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
			return losses.SigmoidCrossEntropy(mc, in.Labels, in.Logits, unreduced)
		}
	}},
}

// crossEntropy is a loss of logits whose sigmoid is the prediction.
const crossEntropy = "cross_entropy"

// lossFn reads the parameter loss for a kind of head: a name, or a map of the name and the loss's parameters.
func (r paramReader) lossFn(kind string) []Option {
	given := r.Any(paramLoss)
	if given == nil {
		return nil
	}
	m, ok := given.(map[string]any)
	if !ok {
		m = map[string]any{"name": given}
	}
	p := params.Read(paramLoss, m)
	name := p.String("name", "")
	read, ok := namedLosses[kind][name]
	if !ok {
		r.Fail(errors.Join(p.Err(), unknownLoss(name, kind)))
		return nil
	}
	fn := read(p)
	if err := p.Done(); err != nil {
		r.Fail(err)
	}
	if name == crossEntropy {
		return []Option{WithLossFn(fn), WithInverseLink(ops.Sigmoid)}
	}
	return []Option{WithLossFn(fn)}
}

func unknownLoss(name, kind string) error {
	known := "it has only its own"
	if names := slices.Sorted(maps.Keys(namedLosses[kind])); len(names) > 0 {
		known = "known are " + strings.Join(names, ", ")
	}
	return fmt.Errorf("%s: unknown loss %q of a %s head: %s", paramLoss, name, kind, known)
}

func readFocal(p *params.Reader) losses.Focal {
	return losses.Focal{Gamma: p.FloatIn("gamma", 2, 0, 1e6), Alpha: p.FloatIn("alpha", 0, 0, 1)}
}

// sigmoidFocal is the focal loss, averaged over the classes.
func sigmoidFocal(p *params.Reader) LossFn {
	f := readFocal(p)
	return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
		return ops.Mean(mc, losses.SigmoidFocal(mc, in.Labels, in.Logits, f, unreduced), ops.KeepAxes(1))
	}
}

func softmaxFocal(p *params.Reader) LossFn {
	f := readFocal(p)
	return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
		z := in.Logits
		labels := ops.OneHot(mc, ops.Squeeze(mc, in.Labels, 1), z.Shape()[1], models.GraphType(z.Dtype()))
		return ops.ExpandDims(mc, losses.SoftmaxFocal(mc, labels, z, f, unreduced), 1)
	}
}

func dice(p *params.Reader) LossFn {
	smooth := p.Float("smooth", 1)
	if !(smooth > 0) {
		p.Refuse("smooth", errors.New("expected a number > 0"))
	}
	return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
		return ops.ExpandDims(mc, losses.Dice(mc, in.Labels, ops.Sigmoid(mc, in.Logits), smooth, unreduced), 1)
	}
}

func huber(p *params.Reader) LossFn {
	delta := p.Float("delta", 1)
	if !(delta > 0) {
		p.Refuse("delta", errors.New("expected a number > 0"))
	}
	return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
		return losses.Huber(mc, in.Labels, in.Logits, delta, unreduced)
	}
}

func absoluteError(*params.Reader) LossFn {
	return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
		return losses.MeanAbsoluteError(mc, in.Labels, in.Logits, unreduced)
	}
}

func quantile(p *params.Reader) LossFn {
	q := p.Float("quantile", 0.5)
	if !(q > 0 && q < 1) {
		p.Refuse("quantile", errors.New("expected a number between 0 and 1, such as 0.9"))
	}
	return func(mc *estimator.ModelContext, in LossInputs) *G.Node {
		return losses.Quantile(mc, in.Labels, in.Logits, q, unreduced)
	}
}

// cosineSimilarity returns the similarity of a whole label, repeated for each of its numbers.
func cosineSimilarity(mc *estimator.ModelContext, in LossInputs) *G.Node {
	each := ops.ExpandDims(mc, losses.CosineSimilarity(mc, in.Labels, in.Logits, unreduced), 1)
	return ops.Add(mc, ops.ZerosLike(mc, in.Logits), each)
}
