package heads

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// soft returns labels that are probabilities of the classes, [batch, classes], for example from mixup; nil if they are class ids.
func (h MultiClassHead) soft(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
	t, err := only(mc, labels)
	if err != nil || t.ragged || !t.dtype().Float() {
		return nil, err
	}
	if s := t.node.Shape(); len(s) != 2 || s[1] != h.dimension {
		return nil, nil // refused as class ids
	}
	if h.lossFn != nil {
		return nil, mistakef("label %s holds the probabilities of %d classes: a loss_fn takes class ids, so leave mixup and cutmix out", t.name, h.dimension)
	}
	if !mc.IsColumn(t.node) {
		return ops.Cast(mc, t.node, mc.DType()), mc.Err()
	}
	return mc.Encode(t.node, estimator.Encoder{DType: mc.DType(), Shape: []int{h.dimension}, Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
		out := cellsOf(dst)
		for row := range dst.Shape[0] {
			sum := 0.0
			for i := range h.dimension {
				v := c.Tensor.Float(row*h.dimension + i)
				if !(v >= 0 && v <= 1) {
					return badValue(c, row, i, fmt.Errorf("label %v: probabilities of classes lie in 0 to 1: %s", v, correctOrLeaveOut))
				}
				out.set(row*h.dimension+i, v)
				sum += v
			}
			if math.Abs(sum-1) > 1e-3 {
				return badValue(c, row, 0, fmt.Errorf("the label's probabilities of classes have the sum %.4g, expected 1: %s", sum, correctOrLeaveOut))
			}
		}
		return nil
	}}), mc.Err()
}

// crossEntropy returns the class ids for metrics, [batch, 1], and a function that computes the loss.
func (h MultiClassHead) crossEntropy(mc *estimator.ModelContext, in Inputs) (column *G.Node, loss func(losses.Options) *G.Node, err error) {
	z := in.Logits
	soft, err := h.soft(mc, in.Labels)
	if err != nil {
		return nil, nil, err
	}
	if soft != nil {
		column = ops.ExpandDims(mc, ops.ArgMax(mc, soft, 1), -1)
		return column, func(o losses.Options) *G.Node { return losses.SoftmaxCrossEntropy(mc, soft, z, o) }, mc.Err()
	}
	labels, err := h.labels(mc, in.Labels)
	if err != nil {
		return nil, nil, err
	}
	return ops.ExpandDims(mc, labels, -1), func(o losses.Options) *G.Node { return losses.SparseSoftmaxCrossEntropy(mc, labels, z, o) }, mc.Err()
}
