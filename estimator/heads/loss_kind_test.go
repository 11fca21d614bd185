package heads_test

import (
	"testing"

	"github.com/goestimator/goestimator/estimator/heads"
)

func TestKindOfLoss(t *testing.T) {
	must := func(h heads.Head, err error) heads.Head {
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	binary, err1 := heads.NewBinaryClass()
	multi, err2 := heads.NewMultiClass(3)
	label, err3 := heads.NewMultiLabel(3)
	number, err4 := heads.NewRegression(2)
	count, err5 := heads.NewPoisson(1)
	odds, err6 := heads.NewLogistic()
	for h, want := range map[heads.LossKind]heads.LossKind{
		heads.KindOfLoss(must(binary, err1)): heads.SigmoidLoss, heads.KindOfLoss(must(multi, err2)): heads.SoftmaxLoss,
		heads.KindOfLoss(must(label, err3)): heads.SigmoidLoss, heads.KindOfLoss(must(number, err4)): heads.SquaredLoss,
		heads.KindOfLoss(must(count, err5)): heads.PoissonLoss, heads.KindOfLoss(must(odds, err6)): heads.SigmoidLoss,
	} {
		if h != want {
			t.Errorf("got %q, expected %q", h, want)
		}
	}
}
