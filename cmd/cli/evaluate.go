package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/spf13/cobra"
)

func (a *app) evaluateCommand() *cobra.Command {
	var f configFlags
	var prefix string
	cmd := &cobra.Command{
		Use:   "evaluate --config FILE",
		Short: "compute loss and metrics of a trained model on eval.input",
		Long: `Computes loss and metrics of the newest checkpoint in model_dir, or of the one
that --checkpoint names, over eval.input, and adds them to the events in
model_dir/eval. Prints a line name=value for each metric, or one JSON object.`,
		Example: `  goestimator evaluate --config configs/iris.yaml --set data_dir=data/iris
  goestimator evaluate --config configs/glyphs.yaml --checkpoint runs/glyphs/model.ckpt-500 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.evaluate(cmd.Context(), cfg, prefix, f.json)
		},
	}
	f.add(cmd)
	addCheckpointFlag(cmd, &prefix)
	return cmd
}

func addCheckpointFlag(cmd *cobra.Command, prefix *string) {
	cmd.Flags().StringVar(prefix, "checkpoint", "", "prefix of a checkpoint, for example runs/glyphs/model.ckpt-500 (default: the newest in model_dir)")
}

func (a *app) evaluate(ctx context.Context, cfg *config.Config, prefix string, asJSON bool) error {
	j, prefix, err := a.trainedJob(cfg, prefix)
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
	if loss, ok := res.Scalar("loss"); ok && asJSON {
		s.loss = &loss
	}
	return a.printResult(s, asJSON)
}

// trainedJob makes the estimator of a trained model and chooses its checkpoint: the
// one at path, or the newest.
func (a *app) trainedJob(cfg *config.Config, path string) (*job, string, error) {
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
	j, err := a.newJob(&at)
	if err != nil {
		return nil, "", err
	}
	if prefix == "" {
		newest, err := j.est.LatestCheckpoint()
		if err != nil {
			return nil, "", err
		}
		if newest == "" {
			return nil, "", fmt.Errorf("%w in model_dir: %s: train first, or name a --checkpoint", estimator.ErrNoCheckpoint, j.est.ModelDir())
		}
	}
	return j, prefix, nil
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
