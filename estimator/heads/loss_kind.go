package heads

// LossKind says which loss a head has, for callers that need more than its first
// derivative.
type LossKind string

// The kinds of losses.
const (
	OtherLoss   LossKind = ""            // set by WithLossFn, scaled by WithLabelScale, or of several heads
	SquaredLoss LossKind = "squared"     // the squared difference
	SigmoidLoss LossKind = "sigmoid"     // sigmoid cross-entropy of each logit
	SoftmaxLoss LossKind = "softmax"     // softmax cross-entropy over the logits
	PoissonLoss LossKind = "log_poisson" // exp(logit) - label*logit, plus a term of the label alone
)

// KindOfLoss returns the kind of a head's loss.
func KindOfLoss(h Head) LossKind {
	switch h := h.(type) {
	case BinaryClassHead:
		return h.kindUnless(SigmoidLoss)
	case MultiLabelHead:
		return h.kindUnless(SigmoidLoss)
	case MultiClassHead:
		return h.kindUnless(SoftmaxLoss)
	case RegressionHead:
		switch { // by the check of its labels
		case h.own == nil:
			return h.kindUnless(SquaredLoss)
		case h.check(2) != nil:
			return SigmoidLoss
		}
		return PoissonLoss
	}
	return OtherLoss
}

// kindUnless returns k unless there is a loss_fn.
func (b base) kindUnless(k LossKind) LossKind {
	if b.lossFn != nil {
		return OtherLoss
	}
	return k
}
