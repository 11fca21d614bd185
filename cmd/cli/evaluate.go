package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/spf13/cobra"
)

func (a *app) evaluateCommand() *cobra.Command {
	var f configFlags
	var prefix string
	var perClass bool
	cmd := &cobra.Command{
		Use:   "evaluate --config FILE",
		Short: "compute loss and metrics of a trained model on eval.input",
		Long: `Computes loss and metrics of the newest checkpoint in model_dir, or of the one
that --checkpoint names, over eval.input, and adds them to the events in
model_dir/eval. Prints a line name=value for each metric, or one JSON object.
Where the metrics have a confusion matrix, a table of the classes follows:
precision, recall, F1 and the number of examples of each; with --json it is in
per_class. --per-class adds that matrix to the metrics of a classifier.`,
		Example: `  goestimator evaluate --config configs/iris.yaml --set data_dir=data/iris
  goestimator evaluate --config configs/iris.yaml --set data_dir=data/iris --per-class
  goestimator evaluate --config configs/glyphs.yaml --checkpoint runs/glyphs/model.ckpt-500 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			if perClass {
				if err := checkPerClass(cfg.Model); err != nil {
					return usage(err)
				}
				cfg = withConfusionMatrix(cfg)
			}
			return a.evaluate(cmd.Context(), cfg, evaluateFlags{prefix, perClass, f.json})
		},
	}
	f.add(cmd)
	addCheckpointFlag(cmd, &prefix)
	cmd.Flags().BoolVar(&perClass, "per-class", false, "print precision, recall and F1 of each class, and the confusion matrix")
	return cmd
}

func addCheckpointFlag(cmd *cobra.Command, prefix *string) {
	cmd.Flags().StringVar(prefix, "checkpoint", "", "prefix of a checkpoint, for example runs/glyphs/model.ckpt-500 (default: the newest in model_dir)")
}

// evaluateFlags are the flags of evaluate.
type evaluateFlags struct {
	checkpoint     string
	perClass, json bool
}

func (a *app) evaluate(ctx context.Context, cfg *config.Config, f evaluateFlags) error {
	j, prefix, err := a.trainedJob(ctx, cfg, f.checkpoint)
	if err != nil {
		return err
	}
	defer j.est.Close()
	input, err := j.input(cfg.Resolve(cfg.Eval.Input), "eval")
	if err != nil {
		return err
	}
	opts := []estimator.EvalOption{estimator.CheckpointPath(prefix), estimator.EvalName(cfg.Eval.Name)}
	if cfg.Eval.Steps > 0 {
		opts = append(opts, estimator.Steps(cfg.Eval.Steps))
	}
	res, err := j.est.Evaluate(ctx, input, opts...)
	if err != nil {
		return err
	}
	s := newSummary(j, estimator.Result{TrainResult: estimator.TrainResult{GlobalStep: res.GlobalStep}, Eval: &res})
	if loss, ok := res.Scalar("loss"); ok && f.json {
		s.loss = &loss
	}
	if s.classes, err = classReports(s.metrics, classNames(cfg)); err != nil {
		return err
	}
	if f.perClass && len(s.classes) == 0 {
		return usage(fmt.Errorf("--per-class: model %s has no metric %s: its model_fn does not read model.params.%s", cfg.Model.Name, confusionMatrix, paramMetrics))
	}
	return a.printResult(s, f.json)
}

// trainedJob makes the estimator of a trained model and chooses its checkpoint: the
// one at path, or the newest.
func (a *app) trainedJob(ctx context.Context, cfg *config.Config, path string) (*job, string, error) {
	prefix := ""
	if path != "" {
		var err error
		if prefix, err = findCheckpoint(path); err != nil {
			return nil, "", err
		}
	}
	at := *cfg
	switch {
	case at.ModelDir == "" && prefix == "":
		return nil, "", usage(errors.New("model_dir is not set: give it in the config, by --set model_dir=DIR, or name a --checkpoint"))
	case at.ModelDir == "":
		at.ModelDir = filepath.Dir(prefix)
	}
	if _, err := checkpoint.LatestPrefix(at.ModelDir); prefix == "" && feature.Adapts(at.FeatureColumns) && errors.Is(err, checkpoint.ErrNone) {
		return nil, "", noCheckpoint(at.ModelDir)
	}
	j, err := a.newJob(ctx, &at, columnSource{checkpoint: prefix})
	if err != nil {
		return nil, "", err
	}
	if prefix == "" {
		newest, err := j.est.LatestCheckpoint()
		if err != nil {
			return nil, "", err
		}
		if newest == "" {
			return nil, "", noCheckpoint(j.est.ModelDir())
		}
	}
	return j, prefix, nil
}

func noCheckpoint(dir string) error {
	return fmt.Errorf("%w in model_dir: %s: train first, or name a --checkpoint", estimator.ErrNoCheckpoint, dir)
}

// findCheckpoint returns the prefix that path means: a prefix, one of its
// files, or a folder, whose newest checkpoint is taken.
func findCheckpoint(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		prefix, err := checkpoint.LatestPrefix(path)
		if errors.Is(err, checkpoint.ErrNone) {
			return "", fmt.Errorf("%s holds no checkpoint", path)
		}
		return prefix, err
	}
	prefix := strings.TrimSuffix(path, ".index")
	if at := strings.LastIndex(prefix, ".data-"); at > 0 {
		prefix = prefix[:at]
	}
	if _, err := os.Stat(prefix + ".index"); err != nil {
		return "", fmt.Errorf("no checkpoint %s: expected a prefix such as DIR/model.ckpt-100 (there is no file %s.index) or a folder of checkpoints", path, prefix)
	}
	return prefix, nil
}
