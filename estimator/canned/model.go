package canned

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// Model is a canned estimator's model_fn with its feature columns, ready for
// estimator.New.
type Model struct {
	columns feature.Columns
	plan    *feature.Plan
	weights string   // the weight column; "": none
	keep    []string // columns that are not feature columns and pass through unchanged
	head    heads.Head
	body    body
}

// checkOutputs reports a head that does not say how many outputs the model has.
func checkOutputs(h heads.Head) error {
	if h == nil {
		return errors.New("the model has no head: expected one of estimator/heads")
	}
	if h.LogitsDimension() < 1 {
		return fmt.Errorf("a head %T of %d outputs: set label_dimension, the number of outputs", h, h.LogitsDimension())
	}
	return nil
}

var (
	_ estimator.ModelFn  = (*Model)(nil)
	_ estimator.Preparer = (*Model)(nil)
)

// body is the part that differs between canned models.
type body interface {
	// logits returns the head's logits [batch, units].
	logits(mc *estimator.ModelContext, f models.Features, units int) *G.Node
	// minimize returns the TrainOp of a loss.
	minimize(mc *estimator.ModelContext, loss *G.Node) *optimizers.TrainOp
}

// dataTrained is a body that reads more columns for training than for its loss.
type dataTrained interface {
	train(mc *estimator.ModelContext, in heads.Inputs, loss *G.Node) *optimizers.TrainOp
}

// sampled is a body whose training does not compute the logits of all classes.
type sampled interface {
	training(mc *estimator.ModelContext, m *Model, f models.Features, labels models.Labels) (*estimator.Spec, error)
}

// checked is a body that checks the results of the columns.
type checked interface {
	check(ds inputs.Dataset) inputs.Dataset
}

// newModel plans the columns; the caller sets the body.
func newModel(c feature.Columns, h heads.Head, weights string) (*Model, error) {
	err := checkOutputs(h)
	if err != nil {
		return nil, err
	}
	m := &Model{head: h, columns: c, weights: weights}
	if weights != "" {
		m.keep = []string{weights}
	}
	m.plan, err = feature.New(c)
	return m, err
}

// Model builds the graph of a mode.
func (m *Model) Model(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	if s, ok := m.body.(sampled); ok && mc.Mode() == models.Train {
		return s.training(mc, m, features, labels)
	}
	logits := m.body.logits(mc, features, m.head.LogitsDimension())
	if mc.Failed() {
		return nil, mc.Err()
	}
	in := heads.Inputs{Features: features, Labels: labels, Logits: logits}
	data := in
	in.TrainOp = func(loss *G.Node) *optimizers.TrainOp {
		if t, ok := m.body.(dataTrained); ok {
			return t.train(mc, data, loss)
		}
		return m.body.minimize(mc, loss)
	}
	return m.head.Spec(mc, in)
}

// exampleWeights returns the weights of the examples, [batch, 1] or one for each output, times the weights of their
// classes; nil for none. y are the labels.
func (m *Model) exampleWeights(mc *estimator.ModelContext, f models.Features, y *G.Node) *G.Node {
	w := f.Weights()
	if m.weights != "" {
		w = f.Dense(m.weights)
	}
	if mc.Failed() {
		return nil
	}
	if w != nil {
		if w = heads.CheckedWeights(mc, w, mc.DType()); len(w.Shape()) == 1 {
			w = ops.ExpandDims(mc, w, -1)
		}
	}
	return heads.Weighed(mc, m.head, y, w)
}

// Prepare applies the feature columns to a data set. An error names the column that
// does not fit the data.
func (m *Model) Prepare(ds inputs.Dataset) (inputs.Dataset, error) {
	plan, c := m.plan, m.columns
	for _, name := range m.keep {
		if ds.Schema().Index(name) >= 0 { // data to predict needs no weights
			c.Keep = append(c.Keep[:len(c.Keep):len(c.Keep)], name)
		}
	}
	if len(c.Keep) > 0 {
		var err error
		if plan, err = feature.New(c); err != nil {
			return nil, err
		}
	}
	if _, err := plan.Mapper().Schema(ds.Schema()); err != nil {
		return nil, err
	}
	ds = plan.Transform(runtime.GOMAXPROCS(0))(ds)
	if b, ok := m.body.(checked); ok {
		ds = b.check(ds)
	}
	return ds, nil
}

// Plan returns the model's feature columns.
func (m *Model) Plan() *feature.Plan { return m.plan }
