package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/spf13/cobra"
)

func (a *app) evaluateCommand() *cobra.Command {
	var f configFlags
	var e evaluateFlags
	cmd := &cobra.Command{
		Use:   "evaluate --config FILE",
		Short: "compute loss and metrics of a trained model on eval.input",
		Long: `Computes loss and metrics of the newest checkpoint in model_dir, or of the one
that --checkpoint names, over eval.input, and adds them to the events in
model_dir/eval. Prints a line name=value for each metric, or one JSON object.
Where the metrics have a confusion matrix, a table of the classes follows:
precision, recall, F1 and the number of examples of each; with --json it is in
per_class. --per-class adds that matrix to the metrics of a classifier.

--input evaluates all rows of another file, such as a test set, in the form of
eval.input but without its split, skip and take. Events are in
model_dir/eval_input, so that early stopping does not take them for its own.`,
		Example: `  goestimator evaluate --config configs/iris.yaml --set data_dir=data/iris
  goestimator evaluate --config config.yaml --input test.csv
  goestimator evaluate --config configs/iris.yaml --set data_dir=data/iris --per-class
  goestimator evaluate --config configs/glyphs.yaml --checkpoint runs/glyphs/model.ckpt-500 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			if e.perClass {
				if err := checkPerClass(cfg.Model); err != nil {
					return usage(err)
				}
				cfg = withConfusionMatrix(cfg)
			}
			e.json = f.json
			return a.evaluate(cmd.Context(), cfg, e)
		},
	}
	f.add(cmd)
	addCheckpointFlag(cmd, &e.checkpoint)
	cmd.Flags().StringVar(&e.input, "input", "", "file, folder or glob of rows with labels, or - for standard input, in place of those of eval.input")
	completeFiles(cmd, "input", "csv", "parquet", "arrow", "jsonl", "tfrecord", "npy", "npz", "gz")
	cmd.Flags().BoolVar(&e.perClass, "per-class", false, "print precision, recall and F1 of each class, and the confusion matrix")
	return cmd
}

func addCheckpointFlag(cmd *cobra.Command, prefix *string) {
	cmd.Flags().StringVar(prefix, "checkpoint", "", "prefix of a checkpoint, for example runs/glyphs/model.ckpt-500 (default: the newest in model_dir)")
}

// evaluateFlags are the flags of evaluate.
type evaluateFlags struct {
	checkpoint, input string
	perClass, json    bool
}

// evaluated is the input of an evaluation, its name and its number of steps; 0: all.
func (a *app) evaluated(cfg *config.Config, file string) (in inputs.Spec, name string, steps int64, err error) {
	in = cfg.Resolve(cfg.Eval.Input)
	if file == "" {
		return in, cfg.Eval.Name, cfg.Eval.Steps, nil
	}
	if cfg.Eval.Input.Format == "idx" {
		return in, "", 0, usage(errors.New("--input: the format idx has a file of images and one of labels: set eval.input.images and eval.input.labels"))
	}
	in, err = a.onePass(in, "eval.input", file)
	if err != nil {
		return in, "", 0, usage(err)
	}
	return in, "input", 0, nil
}

func (a *app) evaluate(ctx context.Context, cfg *config.Config, f evaluateFlags) error {
	in, name, steps, err := a.evaluated(cfg, f.input)
	if err != nil {
		return err
	}
	j, prefix, err := a.trainedJob(ctx, cfg, f.checkpoint)
	if err != nil {
		return err
	}
	defer j.est.Close()
	input, err := j.input(in, "eval")
	if err != nil {
		return err
	}
	opts := []estimator.EvalOption{estimator.CheckpointPath(prefix), estimator.EvalName(name)}
	if steps > 0 {
		opts = append(opts, estimator.Steps(steps))
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

// trainedJob makes the estimator of a trained model and finds its checkpoint:
// the one at path, or the newest.
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

// findCheckpoint returns the prefix that path stands for: path itself, the prefix of a
// checkpoint's file, or the newest checkpoint of a folder.
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
