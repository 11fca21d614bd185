package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/config"
)

// mostTrialRows is the largest number of rows that a trial trains on.
const mostTrialRows = 50_000

// tryFolds is the number of folds that a model is tried on; one for a large table.
func (d *draft) tryFolds() int {
	switch {
	case d.p.Labelled() < 1000:
		return d.folds
	case d.p.Labelled() < 5000:
		return 5
	}
	return 1
}

// tryFold trains a candidate by its config, and returns its loss or error on the held-out fold.
func (a *app) tryFold(ctx context.Context, d *draft, c candidate, fold int) (score float64, err error) {
	dir, err := os.MkdirTemp("", "goestimator-init-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	on := part{fold: fold}
	if d.trainRows() > mostTrialRows {
		on.most = mostTrialRows
	}
	if !c.network() {
		on.most = min(d.inMemory(), mostTrialRows)
		if n := int(d.p.Labelled()) - d.foldRows(fold); n < on.most {
			on.most = n
		}
	}
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(d.config(c, on)), 0o600); err != nil {
		return 0, err
	}
	cfg, err := config.Load(config.LoadOptions{Path: path, Env: []string{}})
	if err != nil {
		return 0, err
	}
	cfg.ModelDir, cfg.Eval.Exporters = filepath.Join(dir, "model"), nil
	j, err := a.newJob(ctx, cfg, columnSource{trains: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, j.est.Close()) }()
	res, err := j.trainAndEvaluate(ctx)
	if err != nil {
		return 0, err
	}
	if res.Eval == nil {
		return 0, errors.New("it was not evaluated")
	}
	score, ok := res.Eval.Scalar(d.metric())
	if !ok || !isFinite(score) {
		return 0, fmt.Errorf("its %s is not finite", d.metric())
	}
	return score, nil
}

// foldRows is the number of rows in a fold.
func (d *draft) foldRows(fold int) int {
	n := int(d.p.Labelled())
	return (n - fold + d.folds - 1) / d.folds
}
