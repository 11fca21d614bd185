package estimator

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// ExportEnsemble writes the newest checkpoints of models of one kind, such as the folds of a cross-validation, as one
// SavedModel to a new folder of base, as ExportSavedModel does one model. It has the signatures of each model, which answer with the
// means of what the models predict; class_ids and classes name the class of the greatest mean probability. Outputs that
// are neither numbers with a fraction nor such classes are an error. Options but ExportModes and ExportCheckpoint have their meaning;
// these two are errors.
func ExportEnsemble(ctx context.Context, models []*Estimator, base string, serving ServingInput, opts ...ExportOption) (dir string, err error) {
	if len(models) < 2 {
		return "", fmt.Errorf("export: an ensemble of %d models: expected two or more", len(models))
	}
	o := models[0].exportOptions(opts)
	if len(o.modes) > 0 || o.checkpoint != "" {
		return "", errors.New("export: an ensemble has the graph of infer alone, of the newest checkpoints: leave ExportModes and ExportCheckpoint out")
	}
	var members []export.Model
	for k, e := range models {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		m, r, err := e.exported(serving, o)
		if err != nil {
			return "", fmt.Errorf("export: model %d: %w", k, err)
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		members = append(members, m)
	}
	return export.EnsembleSavedModel(atomicfile.OS{}, base, members, o.write)
}
