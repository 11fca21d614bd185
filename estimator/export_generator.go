package estimator

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
)

// ExportGenerator writes the newest checkpoint as a SavedModel that generates text, to a new folder in base, as
// ExportSavedModel does. Its only signature, generate, takes for each text
//
//	prompt          string   the text to continue, if it is long its end; "" is "\n"
//	max_new_tokens  int32    how many bytes to generate, less than the model's positions
//	temperature     float32  of the softmax; 0: take the most likely byte
//	top_k           int32    draw from the top_k most likely bytes; 0: from all
//	seed            int64    the same seed gives the same text
//
// and returns text, the continuation of the prompt. A loop within the model generates it, with a cache of keys and
// values. Each byte depends only on the seed and the text before it. So a text may be generated in parts, with all of the
// text so far as the prompt of the next part.
func (e *Estimator) ExportGenerator(ctx context.Context, base string, g Generator, opts ...ExportOption) (string, error) {
	dir, err := e.exportGenerator(ctx, base, g, opts)
	if err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	return dir, nil
}

func (e *Estimator) exportGenerator(ctx context.Context, base string, g Generator, opts []ExportOption) (string, error) {
	o := exportOptions{write: export.Options{Log: e.log}}
	for _, f := range opts {
		f(&o)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if len(o.modes) > 0 {
		return "", fmt.Errorf("modes %v: a generator has no graph of these", o.modes)
	}
	if err := g.check(); err != nil {
		return "", err
	}
	r, err := e.openCheckpoint(o.checkpoint)
	if err != nil {
		return "", err
	}
	defer r.Close()
	x := &exporting{est: e, options: o, reader: r, trainable: map[string]bool{}, stored: map[string]string{}}
	gen, err := x.generator(g)
	if err != nil {
		return "", err
	}
	m := export.Model{Assets: o.assets, WarmUp: o.warmUp, Variables: export.Variables{Value: x.value, Trainable: func(name string) bool { return x.trainable[name] }}}
	return export.GeneratorSavedModel(atomicfile.OS{}, base, gen, m, o.write)
}

// generator builds the graphs of a generator; the checkpoint has its variables.
func (x *exporting) generator(g Generator) (gen export.Generator, err error) {
	gen.Characters = g.Characters
	_, gen.Context = g.Model.TextSize()
	for _, part := range []struct {
		build func(*Estimator) (textGraph, error)
		to    *export.TextGraph
	}{{g.prefill, &gen.Prefill}, {g.step, &gen.Step}} {
		built, err := part.build(x.est)
		if err != nil {
			return gen, err
		}
		if err := x.check(&program{mode: models.Predict, variables: built.variables}); err != nil {
			return gen, err
		}
		*part.to = built.TextGraph
	}
	return gen, nil
}
