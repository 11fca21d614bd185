package canned

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/runtime/trees"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// means is implemented by heads that compute the mean prediction of logits.
type means interface {
	Mean(c models.Context, logits *G.Node) *G.Node
}

// The names of the explaining predictions, as in tf.estimator.
const (
	biasKey         = "bias" // [1]
	contributionKey = "dfc"  // [features]
)

// Contribution is how much a column moved the prediction of an example.
type Contribution struct {
	Column string // "name[i]" for a column of several numbers
	Value  float64
}

// Explain reads the explanation in a prediction of a model with the option Explanations.
// The predicted number, or probability of the second class, is the sum of the bias and
// all contributions. Contributions are sorted by size, the largest first.
func (b *BoostedTrees) Explain(p estimator.Prediction) (bias float64, contributions []Contribution, err error) {
	at, dfc := p.Get(biasKey), p.Get(contributionKey)
	if at == nil || dfc == nil {
		return 0, nil, errors.New("the prediction has no explanation: expected bias and dfc, of a model with the option Explanations")
	}
	if at.Len() != 1 || dfc.Len() != len(b.config.Features) {
		return 0, nil, fmt.Errorf("the explanation has %d contributions: expected %d, as the model has features", dfc.Len(), len(b.config.Features))
	}
	for i, f := range b.config.Features {
		contributions = append(contributions, Contribution{f.Name, dfc.Float(i)})
	}
	slices.SortStableFunc(contributions, func(x, y Contribution) int { return cmp.Compare(math.Abs(y.Value), math.Abs(x.Value)) })
	return at.Float(0), contributions, nil
}

// explain adds the directional feature contributions (Palczewska et al. 2013) to the
// predictions, as tf.estimator defines them. Along the path through all trees in turn,
// each split contributes to its feature the change of the prediction from the node to the
// child. The bias is the prediction at the first root.
func (b *BoostedTrees) explain(mc *estimator.ModelContext, spec *estimator.Spec, f models.Features) error {
	c := &b.config
	v := treeNodes{}
	for _, variable := range mc.Variables() {
		v[variable.Name[min(len(treeScope)+1, len(variable.Name)):]] = variable.Node
	}
	passed, leaves := b.descend(mc, v, b.input(mc, f))
	columns, err := c.featureOfColumns()
	if err != nil || mc.Failed() {
		return cmp.Or(mc.Err(), err)
	}
	value := func(node *G.Node) *G.Node { return ops.Squeeze(mc, ops.Gather(mc, v["value"], node), 2) } // [batch, trees]
	before := ops.MatMul(mc, value(leaves), ops.Constant(mc, earlier(c.Trees)))
	mean := func(node *G.Node) *G.Node { return b.means.Mean(mc, ops.Add(mc, before, value(node))) }
	var dfc *G.Node
	at := mean(passed[0])
	bias := ops.Slice(mc, at, []int{0, 0}, []int{-1, 1})
	for i, node := range passed {
		next := leaves
		if i+1 < len(passed) {
			next = passed[i+1]
		}
		feature := ops.Gather(mc, ops.Constant(mc, columns), ops.Gather(mc, v["feature"], node))
		after := mean(next)
		part := ops.BatchMatMul(mc, ops.ExpandDims(mc, ops.Sub(mc, after, at), 1), ops.OneHot(mc, feature, len(c.Features), tensor.Float32), false, false)
		if at = after; dfc == nil {
			dfc = part
		} else {
			dfc = ops.Add(mc, dfc, part)
		}
	}
	if mc.Failed() {
		return mc.Err()
	}
	spec.Predictions[biasKey], spec.Predictions[contributionKey] = bias, ops.Squeeze(mc, dfc, 1)
	return mc.Err()
}

// featureOfColumns has the number of the feature for each column of the input.
func (c *treeConfig) featureOfColumns() (*tensor.Tensor, error) {
	space, err := trees.NewSpace(c.Features, c.Width)
	if err != nil {
		return nil, err
	}
	t := tensor.New(tensor.Int32, c.Width)
	for i := range c.Width {
		tensor.Values[int32](t)[i] = int32(space.FeatureOf(i))
	}
	return t, nil
}

// earlier returns a matrix that turns the trees' values [batch, n] into sums over the trees before each.
func earlier(n int) *tensor.Tensor {
	t := tensor.New(tensor.Float32, n, n)
	for i := range n {
		for j := i + 1; j < n; j++ {
			tensor.Values[float32](t)[i*n+j] = 1
		}
	}
	return t
}
