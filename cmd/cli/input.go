package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// formats are the possible values of input.format.
func (a *app) formats() []string {
	names := append(inputs.Formats(), a.inputs.Names()...)
	slices.Sort(names)
	return names
}

// checkStdin refuses training that would need standard input more than once.
func (j *job) checkStdin() error {
	const why = ": standard input comes once: write it to a file"
	switch {
	case j.cfg.Eval.Input.Stdin():
		return errors.New("eval.input: evaluations while training read it again and again" + why)
	case j.cfg.Train.Input.Stdin() && feature.Adapts(j.cfg.FeatureColumns):
		return errors.New("train.input: feature columns that adapt to the data take a pass before training" + why)
	case j.cfg.Train.Input.Stdin() && j.cfg.Train.Epochs > 1:
		return fmt.Errorf("train.epochs: expected 1, got %d%s", j.cfg.Train.Epochs, why)
	}
	return nil
}

// transforms are the registered kinds of input.transforms.
func (a *app) transforms() map[string]inputs.TransformFunc {
	out := map[string]inputs.TransformFunc{}
	if a.steps == nil {
		return out
	}
	for _, name := range a.steps.Names() {
		if f, err := a.steps.Lookup(name); err == nil {
			out[name] = f
		}
	}
	return out
}

// checkTransforms refuses unknown kinds of steps.
func (a *app) checkTransforms(in inputs.Spec, section string) error {
	known := inputs.TransformKinds()
	for name := range a.transforms() {
		known = append(known, name)
	}
	slices.Sort(known)
	var err error
	in.EachInput(func(s inputs.Spec) inputs.Spec {
		for i, t := range s.Transforms {
			if err == nil && !slices.Contains(known, t.Kind) {
				err = usage(fmt.Errorf("%s.input.transforms[%d].kind: %w", section, i, unknownName("transform", t.Kind, known)))
			}
		}
		return s
	})
	return err
}
