package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/spf13/cobra"
)

// evaluationFlags are the flags of report for the evaluation on data.
type evaluationFlags struct {
	checkpoint                      string
	rows                            int64
	worst, importance, importanceOf int
}

func (f *evaluationFlags) add(cmd *cobra.Command) {
	addCheckpointFlag(cmd, &f.checkpoint)
	cmd.Flags().Int64Var(&f.rows, "rows", 1_000_000, "with --config: rows of eval.input that are read at most")
	cmd.Flags().IntVar(&f.worst, "worst", 20, "with --config: how many of the worst predictions are shown")
	cmd.Flags().IntVar(&f.importance, "importance", 5, "with --config: how many times each input is permuted to measure its importance; 0: it is not measured")
	cmd.Flags().IntVar(&f.importanceOf, "importance-rows", 2000, "with --config: rows whose inputs are permuted")
}

func (f *evaluationFlags) check() error {
	switch {
	case f.rows < 1:
		return fmt.Errorf("--rows: got %d, expected 1 at least", f.rows)
	case f.worst < 0 || f.worst > 1000:
		return fmt.Errorf("--worst: got %d, expected 0 to 1000", f.worst)
	case f.importance < 0 || f.importance > 1000:
		return fmt.Errorf("--importance: got %d, expected 0 to 1000", f.importance)
	case f.importanceOf < 2:
		return fmt.Errorf("--importance-rows: got %d, expected 2 at least", f.importanceOf)
	}
	return nil
}

// assessed evaluates the model on the evaluation data and adds the result to a report.
func (a *app) assessed(ctx context.Context, cfg *config.Config, f evaluationFlags, run *report.Run) error {
	in := cfg.Resolve(cfg.Eval.Input)
	if in.Format == "" && !severalInputs(in) {
		return usage(errors.New("eval.input is not set: give it, or report on what training left alone by --model-dir DIR without --config"))
	}
	j, prefix, err := a.trainedJob(ctx, cfg, f.checkpoint)
	if err != nil {
		return err
	}
	defer j.est.Close()
	in.Repeat, in.Shuffle, in.DropRemainder = false, 0, false
	input, err := j.input(in, "eval")
	if err != nil {
		return err
	}
	if run.Checkpoint = filepath.Base(prefix); prefix == "" {
		newest, err := j.est.LatestCheckpoint()
		if err != nil {
			return err
		}
		run.Checkpoint = filepath.Base(newest)
	}
	run.DataName, run.ClassNames = "eval.input", classNames(cfg)
	run.Evaluation, err = assess.Run(ctx, j.predictor(prefix), input, assess.Options{
		Rows: f.rows, Steps: cfg.Eval.Steps, Worst: f.worst, Classes: run.ClassNames, Weights: weightColumn(cfg), Words: vocabularies(in),
		Pixels:         assess.Pixels{Scale: in.Scale, Mean: in.Mean, Std: in.Std},
		ImportanceRows: f.importanceOf, Repeats: f.importance,
	})
	if err != nil {
		return fmt.Errorf("eval.input: %w", err)
	}
	if run.Evaluation.Rows == 0 {
		a.log.Warn("eval.input has no rows: the report is of training alone")
	}
	return nil
}

// severalInputs reports whether an input combines other inputs.
func severalInputs(in inputs.Spec) bool {
	return len(in.Zip)+len(in.Concat)+len(in.Interleave)+len(in.Mix) > 0
}

// predictor makes predictions with a checkpoint.
func (j *job) predictor(prefix string) assess.Predictor {
	return func(ctx context.Context, input estimator.InputFn, steps int64) iter.Seq2[estimator.Prediction, error] {
		opts := []estimator.PredictOption{estimator.CheckpointPath(prefix)}
		if steps > 0 {
			opts = append(opts, estimator.Steps(steps))
		}
		return j.est.Predict(ctx, input, opts...)
	}
}

// weightColumn is the feature that weighs the examples of a config's model; "" if there is none.
func weightColumn(cfg *config.Config) string {
	name, _ := cfg.Model.Params["weight_column"].(string)
	return name
}

// vocabularies are the vocabularies of columns, by name.
func vocabularies(in inputs.Spec) map[string][]string {
	out := map[string][]string{}
	for _, c := range in.AllColumns() {
		out[c.Name] = c.Vocabulary
	}
	return out
}
