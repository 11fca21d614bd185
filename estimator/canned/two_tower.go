package canned

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TwoTower finds one of many candidates, the classes of its head, for a query of dense feature columns. Queries and candidates have vectors of length 1.
// A score is their dot product divided by the temperature. Training takes the mean loss over the batch, with the batch's other candidates as negatives, so
// that the cost of a step does not depend on the number of candidates. Evaluation and prediction score all candidates. tf.estimator has no such model.
type TwoTower struct {
	Head        heads.MultiClassHead  // of the candidates; training uses the loss above instead of the head's
	Columns     []feature.Column      // of the queries
	Embedding   int                   // width of the candidates' embedding; 0: 32
	HiddenUnits []int                 // units of each hidden layer of both towers, with ReLU; none: no hidden layer
	Width       int                   // of the vectors; 0: 32
	Temperature float64               // 0: 0.1
	Optimizer   *optimizers.Optimizer // nil: Adam with learning rate 0.001
}

// ModelFn returns the model_fn; its error names the option that is wrong.
func (o TwoTower) ModelFn() (*Model, error) {
	if err := heads.Check(o.Head); err != nil {
		return nil, err
	}
	t := &twoTower{net: networks.TwoTower{Candidates: o.Head.LogitsDimension(), Embedding: 32, Hidden: o.HiddenUnits, Width: 32}, temperature: 0.1,
		optimizer: choice{o.Optimizer, o.Optimizer != nil}}
	if t.net.Candidates < 3 {
		return nil, fmt.Errorf("n_classes: expected three candidates or more")
	}
	if heads.KindOfLoss(o.Head) == heads.OtherLoss || o.Head.LossReduction() != losses.SumOverBatchSize {
		return nil, errors.New("training has the in-batch softmax and its mean: leave loss_fn and loss_reduction of the head out")
	}
	if o.Embedding != 0 {
		t.net.Embedding = o.Embedding
	}
	if o.Width != 0 {
		t.net.Width = o.Width
	}
	if o.Temperature != 0 {
		t.temperature = o.Temperature
	}
	if t.net.Embedding < 1 || t.net.Width < 1 || !(t.temperature > 0) {
		return nil, fmt.Errorf("embedding %d, width %d, temperature %v: expected numbers above 0", t.net.Embedding, t.net.Width, t.temperature)
	}
	for i, n := range o.HiddenUnits {
		if n < 1 {
			return nil, fmt.Errorf("hidden_units[%d]: expected >= 1, got %d", i, n)
		}
	}
	m, err := newModel(feature.Columns{Dense: o.Columns}, o.Head, "")
	if err != nil {
		return nil, err
	}
	if t.inputs, err = startingPoints(m.plan.Dense()); err != nil {
		return nil, err
	}
	if !t.optimizer.given {
		if t.optimizer.Optimizer, err = named("Adam", ownRate); err != nil {
			return nil, err
		}
	}
	m.body = t
	return m, nil
}

// New returns the Estimator of the model.
func (o TwoTower) New(opts ...estimator.Option) (*estimator.Estimator, error) {
	return newEstimator(o.ModelFn, opts)
}

// twoTower is a body whose training sees only the candidates of a batch.
type twoTower struct {
	net         networks.TwoTower
	temperature float64
	inputs      []feature.Input
	optimizer   choice
}

var _ sampled = (*twoTower)(nil)

func (t *twoTower) query(mc *estimator.ModelContext, f models.Features) *G.Node {
	return t.net.QueryOf(mc, columns.InputLayer(mc, f, t.inputs, feature.DenseScope))
}

// logits returns the scores of all candidates. The predictions include the vector of the query.
func (t *twoTower) logits(mc *estimator.ModelContext, f models.Features, units int) *G.Node {
	query := t.query(mc, f)
	mc.AddPrediction("query", query)
	ids := tensor.New(tensor.Int32, units)
	for i := range tensor.Values[int32](ids) {
		tensor.Values[int32](ids)[i] = int32(i)
	}
	all := t.net.Candidate(mc, ops.Constant(mc, ids))
	return ops.Div(mc, ops.MatMulT(mc, query, all, false, true), ops.Scalar(mc, mc.DType(), t.temperature))
}

// training minimises the loss of finding each query's candidate among the candidates of the batch.
func (t *twoTower) training(mc *estimator.ModelContext, m *Model, f models.Features, labels models.Labels) (*estimator.Spec, error) {
	ids, err := heads.LabelsOf(mc, m.head, labels)
	if err != nil {
		return nil, err
	}
	o := losses.Options{Reduction: losses.SumOverBatchSize}
	if w := m.exampleWeights(mc, f, ids); w != nil {
		o.Weights = ops.Reshape(mc, w, -1)
	}
	query := t.query(mc, f)
	loss := losses.InBatchByID(mc, t.net.Candidate(mc, ids), query, ids, t.temperature, o)
	spec := &estimator.Spec{Mode: mc.Mode(), Loss: optimizers.TotalLoss(mc, loss)}
	if mc.Failed() {
		return nil, mc.Err()
	}
	spec.TrainOp = t.minimize(mc, spec.Loss)
	return spec, mc.Err()
}

func (t *twoTower) minimize(mc *estimator.ModelContext, loss *G.Node) *optimizers.TrainOp {
	return t.optimizer.in(mc).Minimize(mc, loss)
}
