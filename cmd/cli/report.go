package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/spf13/cobra"
)

func (a *app) reportCommand() *cobra.Command {
	var dir, out string
	cmd := &cobra.Command{
		Use:   "report --model-dir DIR",
		Short: "make one HTML page of a model_dir: learning curves, metrics, config",
		Long: `Makes one HTML page of a model_dir: learning curves of training and evaluations,
metrics with their best steps, classes with their confusion matrix, histograms,
checkpoints and the config. A loss that spans two decades or more has a
logarithmic axis, unless it is negative anywhere. The page has everything inside
and needs no network.`,
		Example: `  goestimator report --model-dir runs/glyphs --out report.html`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return usage(errors.New("no --model-dir: name the folder of a trained model, for example --model-dir runs/glyphs"))
			}
			return a.report(dir, out)
		},
	}
	cmd.Flags().StringVar(&dir, "model-dir", "", "folder of a trained model")
	cmd.Flags().StringVar(&out, "out", "report.html", "file to write")
	completeFolders(cmd, "model-dir")
	completeFiles(cmd, "out", "html")
	return cmd
}

func (a *app) report(dir, out string) error {
	run, err := report.Collect(dir)
	if err != nil {
		return err
	}
	if run.Config != "" { // a config that cannot be read leaves classes their numbers
		if cfg, err := config.Load(config.LoadOptions{Path: filepath.Join(dir, "config.yaml")}); err == nil {
			run.ClassNames = classNames(cfg)
		}
	}
	if run.Damage != nil {
		a.log.Warn("some events could not be read: the report is of the others", "error", oneLine(run.Damage))
	}
	var page bytes.Buffer
	if err := run.Write(&page); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(atomicfile.OS{}, filepath.Clean(out), page.Bytes()); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = fmt.Fprintf(a.stdout, "report=%s\n", out)
	return err
}
