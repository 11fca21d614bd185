package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
)

// export writes the models of all folds as one. It returns the folder, and metrics over all rows, each row predicted by the model
// that has not seen it.
func (c *crossval) export(ctx context.Context) (dir string, unseen map[string]float64, err error) {
	var jobs []*job
	defer func() {
		for _, j := range jobs {
			err = errors.Join(err, j.est.Close())
		}
	}()
	var members []*estimator.Estimator
	for k := range c.by.Folds {
		cfg := c.fold(k)
		j, _, err := c.app.trainedJob(ctx, &cfg, "")
		if err != nil {
			return "", nil, fmt.Errorf("fold %d: %w", k, err)
		}
		jobs, members = append(jobs, j), append(members, j.est)
	}
	serving, opts, err := jobs[0].serving(ctx)
	if err != nil {
		return "", nil, err
	}
	if dir, err = estimator.ExportEnsemble(ctx, members, c.flags.export, serving, opts...); err != nil {
		return "", nil, err
	}
	if unseen, err = c.outOfFold(ctx, jobs); err != nil {
		return "", nil, fmt.Errorf("rows that a model has not seen: %w", err)
	}
	return dir, unseen, nil
}

// outOfFold pools the predictions of all models, each for the rows that it has not seen, and compares them with the labels. A metric such as
// the area under a curve differs from its mean over the folds. The result is empty for models whose predictions are not recognised.
func (c *crossval) outOfFold(ctx context.Context, jobs []*job) (map[string]float64, error) {
	at := 0 // the fold whose rows are read
	input := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		in, err := jobs[at].input(jobs[at].cfg.Resolve(jobs[at].cfg.Eval.Input), "eval")
		if err != nil {
			return nil, err
		}
		return in.Input(ctx, ic)
	})
	predict := func(ctx context.Context, input estimator.InputFn, _ int64) iter.Seq2[estimator.Prediction, error] {
		return func(yield func(estimator.Prediction, error) bool) {
			for at = range jobs {
				for p, err := range jobs[at].est.Predict(ctx, input) {
					if !yield(p, err) {
						return
					}
				}
			}
		}
	}
	res, err := assess.Run(ctx, predict, input, assess.Options{Classes: classNames(c.cfg), Weights: weightColumn(c.cfg)})
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, h := range res.Heads {
		prefix := ""
		if h.Name != "" {
			prefix = h.Name + "/"
		}
		for name, v := range headMetrics(h) {
			if v.Finite() {
				out[prefix+name] = float64(v)
			}
		}
	}
	return out, nil
}

// headMetrics are the numbers that summarize a head.
func headMetrics(h assess.Head) map[string]assess.Number {
	if r := h.Regression; r != nil {
		return map[string]assess.Number{"rmse": r.RMSE, "mae": r.MAE, "r2": r.R2}
	}
	if h.Classes == nil {
		return nil
	}
	auc := h.Classes.MacroAUC
	if len(h.Classes.Curves) == 1 {
		auc = h.Classes.Curves[0].ROCAUC
	}
	return map[string]assess.Number{"accuracy": h.Classes.Accuracy, "cross_entropy": h.Classes.CrossEntropy, "roc_auc": auc}
}
