package estimator

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/estimator/internal/metricgraph"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// emitUpdate adds the updates of a training step to the program's graph: the rules'
// updates, the model's own, and the global step. It returns the nodes of these updates.
func (p *program) emitUpdate() ([]*graph.Node, error) {
	applied, err := p.training(distribute.Program{Graph: p.graph}).Emit()
	if errors.Is(err, optimizers.ErrStepFunction) {
		return nil, fmt.Errorf("%w: leave the graph of training out", err)
	}
	return applied.Targets, err
}

// addMetrics adds the program's metrics to its graph and to the signature of evaluation.
func (x *exporting) addMetrics(p *program, g *export.Graph) error {
	b := graph.NewBuilder(p.graph)
	g.Local = map[string]*tensor.Tensor{}
	out := &g.Signatures[0].Outputs
	var left []string
	for _, m := range p.metrics {
		acc, err := m.metric.New()
		if err != nil {
			return fmt.Errorf("metric %s: %w", m.name, err)
		}
		key := "metrics/" + m.name
		e, err := metricgraph.Emit(b, key+"/", acc, m.args...)
		if errors.Is(err, metricgraph.ErrNone) {
			left = append(left, m.name)
			continue
		}
		if err != nil {
			return fmt.Errorf("metric %s: %w", m.name, err)
		}
		g.Local[e.Variable] = e.First
		*out = append(*out, export.Named{Name: key + "/value", Output: e.Value}, export.Named{Name: key + "/update_op", Output: e.Update})
	}
	if len(left) > 0 {
		x.est.log.Warn("metrics left out of the exported graph of evaluation: their accumulators have no form as a graph", "metrics", left)
	}
	return nil
}

// check fails unless the checkpoint holds what the program's graph reads and updates.
func (x *exporting) check(p *program) error {
	mismatch := &MismatchError{Prefix: x.reader.Prefix()}
	want := func(name string, t graph.Type) {
		if problem := saved.Problem(x.reader, name, x.storedName(name), t); problem != "" {
			mismatch.Problems = append(mismatch.Problems, problem)
		}
	}
	if err := x.takeAverages(p); err != nil {
		return err
	}
	for _, v := range p.variables {
		x.trainable[v.Name] = v.Trainable
		want(v.Name, graph.TypeOf(v.DType, v.Shape...))
	}
	if p.mode == models.Train {
		for _, slot := range update.Slots(p.spec.TrainOp) {
			if _, ok := x.reader.Lookup(slot.Name); !ok && update.Iterations(p.spec.TrainOp, slot.Name) {
				x.stored[slot.Name] = distribute.GlobalStep // as tf.estimator counts updates
			}
			want(slot.Name, slot.Type)
		}
	}
	if len(mismatch.Problems) > 0 {
		return mismatch
	}
	return nil
}

// storedName is the name of a variable's value in the checkpoint.
func (x *exporting) storedName(name string) string {
	if other, ok := x.stored[name]; ok {
		return other
	}
	return name
}

// value reads a variable's value from the checkpoint.
func (x *exporting) value(name string) (*tensor.Tensor, error) {
	return x.reader.Tensor(x.storedName(name))
}
