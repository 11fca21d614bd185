package estimator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
)

// errStop ends the loop when the caller wants no more predictions.
var errStop = errors.New("stop")

// Predict runs the newest checkpoint on the input and yields one prediction per
// example, in order. Nothing runs before the first one is asked for; an error ends the
// sequence. Labels in the input are ignored. The strategy's replicas in this process
// share the work, a batch each per step. Other tasks of a cluster do not take part.
func (e *Estimator) Predict(ctx context.Context, input InputFn, opts ...PredictOption) iter.Seq2[Prediction, error] {
	return func(yield func(Prediction, error) bool) {
		err := e.predict(ctx, input, opts, func(p Prediction) error {
			if !yield(p, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Prediction{}, fmt.Errorf("predict: %w", err))
		}
	}
}

func (e *Estimator) predict(ctx context.Context, input InputFn, opts []PredictOption, emit func(Prediction) error) error {
	o, err := newRunOptions(opts, PredictOption.forPredict)
	if err != nil {
		return err
	}
	s, ds, err := e.openInference(ctx, models.Predict, input)
	if err != nil {
		return err
	}
	release, err := s.acquire()
	if err != nil {
		return err
	}
	defer release()
	keys, err := s.predictions(o.keys)
	if err != nil {
		return err
	}
	hs := append(o.hooks[:len(o.hooks):len(o.hooks)], s.session.program.spec.PredictionHooks...)
	if err := s.prepare(ctx, hs, o); err != nil {
		return err
	}
	rows := newPredictedRows(s.session, keys, emit)
	if err := s.each(ctx, ds, o.steps, rows.next); err != nil {
		return err
	}
	return s.loop.end(ctx)
}

// predictions chooses the outputs to yield and asks for all of the model's, so
// that another choice needs no new program.
func (s *inference) predictions(keys []string) ([]predicted, error) {
	var chosen []predicted
	for _, p := range s.session.program.predictions {
		shape := p.output.Shape()
		if len(shape.Dims) == 0 || shape.Dims[0] != graph.Batch {
			return nil, fmt.Errorf("batch length of predictions should be same: %s has shape %v, expected [B,...]", p.name, shape)
		}
		tensor := p.output.String()
		s.session.fetch(tensor, p.output)
		if len(keys) == 0 || slices.Contains(keys, p.name) {
			chosen = append(chosen, predicted{p.name, tensor, p.text.decoder()})
		}
	}
	if len(chosen) == 0 || (len(keys) > 0 && len(chosen) < len(keys)) {
		var names []string
		for _, p := range s.session.program.predictions {
			names = append(names, p.name)
		}
		return nil, fmt.Errorf("expected to run outputs among %s, provided %s", strings.Join(names, ", "), strings.Join(keys, ", "))
	}
	return chosen, nil
}

// predicted is an output to yield, with the name of its tensor or, for words, of the
// tensor of their ids.
type predicted struct {
	name, tensor string
	text         *decoder // nil: the tensor is the prediction
}
