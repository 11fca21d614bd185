package canned

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// checkLoss reports a head whose loss has no known second derivative, and whether
// the loss is a mean rather than a sum.
func checkLoss(h heads.Head) (mean bool, err error) {
	if heads.KindOfLoss(h) == heads.OtherLoss {
		return false, fmt.Errorf("boosted trees: a head %T of a loss of its own: expected the head's own loss: leave loss out, or take another model", h)
	}
	switch r := h.LossReduction(); r {
	case losses.SumOverBatchSize, losses.Sum:
		return r == losses.SumOverBatchSize, nil
	default:
		return false, fmt.Errorf("boosted trees: loss_reduction %s: expected sum_over_batch_size or sum", r)
	}
}

// hessian returns the second derivative of an example's unweighted loss by its
// logits, as the heads define the loss.
func hessian(mc *estimator.ModelContext, h heads.Head, logits *G.Node) *G.Node {
	spread := func(p *G.Node) *G.Node { return ops.Sub(mc, p, ops.Square(mc, p)) } // p(1-p)
	switch heads.KindOfLoss(h) {
	case heads.SquaredLoss:
		return ops.Add(mc, ops.OnesLike(mc, logits), ops.OnesLike(mc, logits))
	case heads.PoissonLoss:
		return ops.Exp(mc, logits)
	case heads.SoftmaxLoss:
		return spread(ops.Softmax(mc, logits))
	}
	return spread(ops.Sigmoid(mc, logits))
}

// memoryLoss returns the loss of a head that can be trained in memory.
func memoryLoss(h heads.Head) (heads.LossKind, error) {
	kind := heads.KindOfLoss(h)
	if _, several := h.(heads.MultiLabelHead); several || kind == heads.PoissonLoss {
		return "", fmt.Errorf("boosted trees: a head %T of a loss %s cannot be trained in memory: set train_in_memory to false", h, kind)
	}
	return kind, nil
}

// memorySpec trains from arguments that hold the whole data. Neither logits nor the
// head are in the graph: the step function computes them.
func (b *BoostedTrees) memorySpec(mc *estimator.ModelContext, v treeNodes, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	if mc.ReplicasInSync() > 1 {
		return nil, fmt.Errorf("boosted trees: train_in_memory with %d replicas: expected one; set train_in_memory to false", mc.ReplicasInSync())
	}
	y, err := heads.LabelsOf(mc, b.model.head, labels)
	if err != nil {
		return nil, err
	}
	args := []*G.Node{ops.Cast(mc, y, tensor.Float32)}
	b.config.Weighted = false
	if w := b.model.exampleWeights(mc, features, y); w != nil {
		b.config.Weighted = true
		args = append(args, ops.Cast(mc, w, tensor.Float32))
	}
	for _, in := range b.model.plan.Dense() {
		args = append(args, features.Dense(in.Values))
	}
	loss := ops.Identity(mc, v["loss"])
	if mc.Failed() {
		return nil, mc.Err()
	}
	return &estimator.Spec{Mode: mc.Mode(), Loss: loss, TrainOp: b.trainOp(mc, v, loss, args)}, mc.Err()
}
