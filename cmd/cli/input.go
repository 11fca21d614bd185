package cli

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs"
)

// formats are what input.format may be.
func (a *app) formats() []string {
	names := append(inputs.Formats(), a.inputs.Names()...)
	slices.Sort(names)
	return names
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

// checkTransforms refuses kinds of steps that nobody knows.
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
