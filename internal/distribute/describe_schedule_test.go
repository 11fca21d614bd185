package distribute

import (
	"testing"

	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/optimizers"
)

type ownSchedule struct{ rate float64 }

func (o *ownSchedule) At(step expr.Expr) expr.Expr { return step.Plus(1).Times(o.rate) }

// TestDescribeSchedule: two processes describe a custom schedule in the same words, also after a warm-up.
func TestDescribeSchedule(t *testing.T) {
	behind := func(rate float64) string {
		return describeSchedule(optimizers.Warmup{Steps: 7, Then: &ownSchedule{rate}})
	}
	if a, b := behind(1), behind(1); a != b {
		t.Errorf("%s, then %s", a, b)
	}
	if behind(1) == behind(2) || describeSchedule(&ownSchedule{1}) == describeSchedule(&ownSchedule{2}) {
		t.Error("two rates are described as one")
	}
	if got, want := describeSchedule(optimizers.Warmup{Steps: 7, Then: optimizers.Constant(0.5)}), "Warmup{Steps:7, Then:0.5}"; got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
}
