package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/spf13/cobra"
)

// initFlags are the flags of init.
type initFlags struct {
	label, out, modelDir, task string
	force, noSearch            bool
	searchSecs                 float64
}

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init FILE --label COLUMN",
		Short: "write a config that trains a model of a table",
		Long: `Looks at a table (CSV, JSON lines, Parquet or Arrow): separators, types, missing
values, categories, ids. Then it tries a few models on a part that it holds out, and
writes a config of the best one, with comments that say why. Nothing has to be
edited before "goestimator train". With --label alone it infers the task: words and
few whole numbers are classes, other numbers are predicted as numbers.`,
		Example: `  goestimator init houses.csv --label price
  goestimator init people.parquet --label income --out people.yaml
  goestimator train --config config.yaml`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.init(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.label, "label", "", "name of the column to predict")
	cmd.Flags().StringVarP(&f.out, "out", "o", "config.yaml", "file to write")
	cmd.Flags().StringVar(&f.modelDir, "model-dir", "", "model_dir of the config (default: runs/ and the name of the table)")
	cmd.Flags().StringVar(&f.task, "task", "auto", "what the label is: auto, classification or regression")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite the file")
	cmd.Flags().BoolVar(&f.noSearch, "no-search", false, "try no models: boosted trees with usual settings")
	cmd.Flags().Float64Var(&f.searchSecs, "search-secs", 40, "seconds after which no further model is tried")
	completeFiles(cmd, "out", "yaml", "yml")
	completeFolders(cmd, "model-dir")
	completeValues(cmd, "task", "auto", "classification", "regression")
	return cmd
}

func (a *app) init(ctx context.Context, path string, f initFlags) error {
	task := map[string]tabular.Task{"auto": "", "classification": tabular.Multiclass, "regression": tabular.Regression}
	if _, known := task[f.task]; !known {
		return usage(fmt.Errorf("--task %s: expected auto, classification or regression", f.task))
	}
	if _, err := os.Stat(f.out); err == nil && !f.force {
		return usage(fmt.Errorf("%s exists: give another name by --out, or overwrite it by --force", f.out))
	}
	p, err := tabular.Read(ctx, path, tabular.Options{Label: f.label, Task: task[f.task]})
	var unknown *tabular.UnknownLabelError
	switch {
	case errors.As(err, &unknown):
		return usage(fmt.Errorf("--label: %w", err))
	case err != nil:
		return err
	case f.label == "":
		return usage(fmt.Errorf("--label: %w", &tabular.UnknownLabelError{Names: p.Names()}))
	}
	if f.modelDir == "" {
		f.modelDir = "runs/" + tableName(path)
	}
	d, err := newDraft(p, f.modelDir)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %d rows, %d columns\nlabel %s: %s\n", path, p.Rows, len(p.Columns), f.label, d.labelText())
	if err := a.chooseModel(ctx, d, f); err != nil {
		return err
	}
	text := d.text()
	if err := atomicfile.WriteFile(atomicfile.OS{}, filepath.Clean(f.out), []byte(text)); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for _, line := range d.notes() {
		fmt.Fprintln(a.stdout, line)
	}
	_, err = fmt.Fprintf(a.stdout, "wrote %s: a model %s; now run\n  %s train --config %s\n", f.out, d.model.name, a.name, f.out)
	return err
}

// tableName is the name of a file without its endings.
func tableName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	if name == "" {
		return "model"
	}
	return name
}

// chooseModel tries candidates and takes the best one.
func (a *app) chooseModel(ctx context.Context, d *draft, f initFlags) error {
	candidates := d.candidates()
	d.model = candidates[0]
	if f.noSearch {
		d.why = "Usual settings; no other model was tried."
		return nil
	}
	quiet := &app{name: a.name, gpus: a.gpus, models: a.models, inputs: a.inputs, stdout: io.Discard, stderr: &console{out: io.Discard},
		log: slog.New(slog.DiscardHandler), logs: logs{quiet: true}}
	began := time.Now()
	best, tried := -1, 0
	for i := range candidates {
		if tried > 0 && time.Since(began).Seconds() > f.searchSecs {
			break
		}
		score, err := quiet.try(ctx, d, candidates[i])
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if i == 0 {
				return fmt.Errorf("a first model %s could not be trained: %w", candidates[0].name, err)
			}
			a.log.Warn("a model could not be trained", "model", candidates[i].what, "error", oneLine(err))
			continue
		}
		tried++
		candidates[i].score = score
		fmt.Fprintf(a.stdout, "tried %s: %s %.5g\n", candidates[i].what, d.metric(), score)
		if best < 0 || score < candidates[best].score {
			best = i
		}
	}
	d.model = candidates[best]
	d.tried = candidates
	d.why = fmt.Sprintf("Of %d models that were tried on held out rows it had the least %s, %.5g.", tried, d.metric(), d.model.score)
	return nil
}
