package engine

import (
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// steadyNorm is a batch normalization by steady statistics, with the bias before it: it multiplies each column by
// scale/sqrt(variance+epsilon) and adds a number. The weights before it are not scaled, so that they can be shared, and their
// variable can be restored from the packed form.
type steadyNorm[T kernels.Float] struct {
	*norm
	bias       *value      // added before the normalization, or nil
	sources    []*variable // nil for constants
	made       uint64      // the versions of the variables that were used, plus 1
	scale, add []T
}

// newSteadyNorm returns the normalization in the epilogue of an op, nil if its inputs are not steady.
func newSteadyNorm[T kernels.Float](c *binding, t *epilogue) *steadyNorm[T] {
	n := &steadyNorm[T]{norm: t.norm, bias: t.bias}
	inputs := epilogueOps["FusedBatchNorm"].inputs
	if t.bias != nil {
		inputs += epilogueOps["BiasAdd"].inputs
	}
	for _, in := range c.op.in[2 : 2+inputs] {
		v, ok := steady(in, c.changing)
		if !ok {
			return nil
		}
		n.sources = append(n.sources, v)
	}
	return n
}

// columns returns the factor and the summand of each column, computed again if variables have changed.
func (n *steadyNorm[T]) columns() (scale, add []T) {
	version := versionOf(n.sources...)
	if n.made == version {
		return n.scale, n.add
	}
	gamma, beta, mean, variance := view[T](n.norm.scale), view[T](n.offset), view[T](n.mean), view[T](n.variance)
	n.scale, n.add = make([]T, len(gamma)), make([]T, len(gamma))
	for i := range gamma {
		s, b := float64(gamma[i])/math.Sqrt(float64(variance[i])+n.epsilon), 0.0
		if n.bias != nil {
			b = float64(view[T](n.bias)[i])
		}
		n.scale[i], n.add[i] = T(s), T(float64(beta[i])+(b-float64(mean[i]))*s)
	}
	n.made = version
	return n.scale, n.add
}
