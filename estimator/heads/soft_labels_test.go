package heads_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
)

// TestSoftLabels: probabilities of 0 and 1 give the loss of class ids, others the mean of the losses. Labels that are no distribution are refused.
func TestSoftLabels(t *testing.T) {
	logits := inputs.Slice("logits", inputs.Feature, []float32{1, 2, 3, 0, 1, 0, 2, 0, 0}, 3)
	loss := func(labels inputs.NamedTensor) (float64, error) {
		res, err := openHead(t, made(heads.MultiClass(3))).Evaluate(context.Background(), batchesOf(100, logits, labels))
		v, _ := res.Scalar("loss")
		return v, err
	}
	soft := func(p ...float32) inputs.NamedTensor { return inputs.Slice("y", inputs.Label, p, 3) }
	one, err := loss(inputs.Slice("y", inputs.Label, []int64{0, 1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	two, err := loss(inputs.Slice("y", inputs.Label, []int64{1, 1, 0}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		labels inputs.NamedTensor
		want   float64
	}{{soft(1, 0, 0, 0, 1, 0, 0, 0, 1), one}, {soft(0.25, 0.75, 0, 0, 1, 0, 0.75, 0, 0.25), one/4 + two*3/4}} {
		if got, err := loss(c.labels); err != nil || math.Abs(got-c.want) > 1e-5 {
			t.Errorf("got %v, %v, expected %v", got, err, c.want)
		}
	}
	for want, labels := range map[string]inputs.NamedTensor{
		`row 2: column "y": the label's probabilities of classes have the sum 0.9`: soft(1, 0, 0, 0, 0.9, 0, 0, 0, 1),
		`row 3: column "y": label -0.1`:                                            soft(1, 0, 0, 0, 1, 0, -0.1, 1.1, 0), `row 1: column "y": label NaN`: soft(float32(math.NaN()), 0, 0, 0, 1, 0, 0, 0, 1),
	} {
		if _, err := loss(labels); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
