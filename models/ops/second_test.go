package ops_test

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TestSecondDerivativesAreRefused: Gorgonia would return first derivatives.
func TestSecondDerivativesAreRefused(t *testing.T) {
	ids, _ := tensor.FromSlice([]int32{0, 0, 1}, 3)
	for name, f := range map[string]func(c models.Context, x *G.Node) *G.Node{
		"square":  func(c models.Context, x *G.Node) *G.Node { return ops.Mul(c, x, x) },
		"exp":     ops.Exp,
		"softmax": func(c models.Context, x *G.Node) *G.Node { return ops.Softmax(c, ops.Reshape(c, x, 1, 3)) },
		"segment": func(c models.Context, x *G.Node) *G.Node {
			return ops.UnsortedSegmentProd(c, x, ops.Constant(c, ids), 2)
		},
		"product": func(c models.Context, x *G.Node) *G.Node {
			m := ops.Reshape(c, x, 1, 3)
			return ops.MatMulT(c, m, m, false, true)
		},
	} {
		_, err := models.Build(models.Options{Mode: models.Train, DType: tensor.Float64, Batch: 1}, func(b *models.Builder) error {
			x := b.Input("x", models.GraphType(G.Float64), 3)
			first, err := G.Grad(ops.Sum(b, f(b, x)), x)
			if err != nil {
				return err
			}
			_, err = G.Grad(ops.Sum(b, ops.Mul(b, first[0], first[0])), x)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "second derivatives") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
