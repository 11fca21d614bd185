package estimator

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// ExportEnsemble writes the newest checkpoints of several models of one kind, such as the folds of a cross-validation, as
// one SavedModel to a new folder in base. It has the signatures of a single model. They return the mean of the models'
// predictions; class_ids and classes are the class with the greatest mean probability. Any other output that is not
// floating point is an error. Options are as for ExportSavedModel, except that ExportModes and ExportCheckpoint are errors.
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
