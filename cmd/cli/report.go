package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/spf13/cobra"
)

// reportFlags are the flags of report.
type reportFlags struct {
	configFlags
	dir, out string
	evaluationFlags
}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report {--config FILE | --model-dir DIR}",
		Short: "make one HTML page of a model: learning curves, metrics, what it does on the evaluation data",
		Long: `Makes one HTML page of a trained model. From its model_dir come the learning curves
of training and evaluations, metrics with their best steps, classes with their
confusion matrix, histograms, the time of a step (train --profile), checkpoints
and the config. A loss that spans two decades or more has a logarithmic axis,
unless it is negative anywhere.

With --config, the newest checkpoint, or the one that --checkpoint names, predicts
eval.input, and the page has besides: ROC, precision and recall, calibration and
confusion matrix of a classifier, residuals of a regression, the worst
predictions with their inputs, and the importance of each input by permutation.

The page has everything inside and needs no network. --json prints the numbers.`,
		Example: `  goestimator report --config configs/iris.yaml --set data_dir=data/iris
  goestimator report --model-dir runs/glyphs --out report.html`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.dir == "" && f.path == "" {
				return usage(errors.New("neither --config nor --model-dir: name a config, for example --config configs/iris.yaml, or the folder of a trained model, for example --model-dir runs/glyphs"))
			}
			return a.report(cmd.Context(), f)
		},
	}
	f.configFlags.add(cmd)
	cmd.Flags().StringVar(&f.dir, "model-dir", "", "folder of a trained model (default: model_dir of the config)")
	cmd.Flags().StringVar(&f.out, "out", "report.html", "file to write")
	f.evaluationFlags.add(cmd)
	completeFolders(cmd, "model-dir")
	completeFiles(cmd, "out", "html")
	return cmd
}

func (a *app) report(ctx context.Context, f reportFlags) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	var cfg *config.Config
	if f.path != "" {
		var err error
		if cfg, err = f.load(); err != nil {
			return err
		}
		if f.dir != "" {
			cfg.ModelDir = f.dir
		}
		if f.dir = cfg.ModelDir; f.dir == "" {
			return usage(errors.New("model_dir is not set: give it in the config, by --set model_dir=DIR or by --model-dir"))
		}
	}
	if err := checkFolder("--out", f.out); err != nil {
		return err
	}
	run, err := report.Collect(f.dir)
	if err != nil {
		return err
	}
	if cfg != nil {
		if err := a.assessed(ctx, cfg, f.evaluationFlags, run); err != nil {
			return err
		}
	} else if run.Config != "" { // without a readable config, classes keep their numbers
		if cfg, err := config.Load(config.LoadOptions{Path: filepath.Join(f.dir, "config.yaml")}); err == nil {
			run.ClassNames = classNames(cfg)
		}
	}
	if run.Damage != nil {
		a.log.Warn("some files could not be read: the report is of the others", "error", oneLine(run.Damage))
	}
	var page bytes.Buffer
	if err := run.Write(&page); err != nil {
		return err
	}
	if err := atomicfile.Rewrite(filepath.Clean(f.out), page.Bytes()); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if f.json {
		return json.NewEncoder(a.stdout).Encode(run.Numbers(f.out))
	}
	_, err = fmt.Fprintf(a.stdout, "report=%s\n", f.out)
	return err
}
