package heads_test

import (
	"testing"

	"github.com/goestimator/goestimator/estimator/heads"
)

func TestKindOfLoss(t *testing.T) {
	for h, want := range map[heads.LossKind]heads.LossKind{
		heads.KindOfLoss(heads.BinaryClass()): heads.SigmoidLoss, heads.KindOfLoss(heads.MultiClass(3)): heads.SoftmaxLoss,
		heads.KindOfLoss(heads.MultiLabel(3)): heads.SigmoidLoss, heads.KindOfLoss(heads.Regression(2)): heads.SquaredLoss,
		heads.KindOfLoss(heads.Poisson(1)): heads.PoissonLoss, heads.KindOfLoss(heads.Logistic()): heads.SigmoidLoss,
	} {
		if h != want {
			t.Errorf("got %q, expected %q", h, want)
		}
	}
}
