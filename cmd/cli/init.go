package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/spf13/cobra"
)

// initFlags are the flags of init.
type initFlags struct {
	label, out, modelDir, task string
	force, noSearch            bool
	texts                      bool // the table comes from a folder of texts
	searchSecs                 float64
	leaveOut                   []string
}

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init {FILE --label COLUMN | DIR}",
		Short: "write a config that trains a model of a table or of a folder of images, sounds or texts",
		Long: `Looks at a table (CSV, JSON lines, Parquet or Arrow; a file, a folder or a glob of
files, or the URL of objects such as s3://bucket/houses.csv): separators, types,
missing values, categories, ids. Then it tries a few models on a part that it holds out, and
writes a config of the best one, with comments that say why. Nothing has to be
edited before "goestimator train". With --label alone it infers the task: words and
few whole numbers are classes, other numbers are predicted as numbers.

Of a folder that has a folder of images for each class (or such folders named train
and test) it writes the config of a convolutional network, of sounds (.wav) that of
one over their spectrograms. Of one with a folder of
texts (.txt) for each class it makes a table, and a config for that.`,
		Example: `  goestimator init houses.csv --label price
  goestimator init people.parquet --label income --out people.yaml
  goestimator init 'clicks/**/*.parquet' --label clicked
  goestimator init titanic3.csv --label survived --leave-out boat,body
  goestimator init flowers/
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
	cmd.Flags().StringSliceVar(&f.leaveOut, "leave-out", nil, "names of columns that the model does not get")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite the file")
	cmd.Flags().BoolVar(&f.noSearch, "no-search", false, "try no models: boosted trees with usual settings")
	cmd.Flags().Float64Var(&f.searchSecs, "search-secs", 60, "seconds that the search takes at most (0: no search)")
	completeFiles(cmd, "out", "yaml", "yml")
	completeFolders(cmd, "model-dir")
	completeValues(cmd, "task", "auto", "classification", "regression")
	return cmd
}

func (a *app) init(ctx context.Context, path string, f initFlags) error {
	if _, known := tasks[f.task]; !known {
		return usage(fmt.Errorf("--task %s: expected auto, classification or regression", f.task))
	}
	if _, err := os.Stat(f.out); err == nil && !f.force {
		return usage(fmt.Errorf("%s exists: give another name by --out, or overwrite it by --force", f.out))
	}
	if err := checkFolder("--out", f.out); err != nil {
		return err
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() && !tabular.IsFolder(path) {
		return a.initFolder(ctx, path, f)
	}
	return a.initTable(ctx, path, f)
}

// initFolder writes the config of a folder of images, sounds or texts.
func (a *app) initFolder(ctx context.Context, dir string, f initFlags) error {
	if f.label != "" || len(f.leaveOut) > 0 {
		return usage(fmt.Errorf("%s is a folder, whose folders are the classes: give neither --label nor --leave-out", dir))
	}
	if f.task == "regression" {
		return usage(fmt.Errorf("--task regression: %s is a folder, whose folders are the classes; for numbers make a table of it", dir))
	}
	texts, err := textsOf(dir)
	if err != nil {
		return err
	}
	if texts == nil {
		sounds, err := soundsOf(dir)
		if err != nil {
			return err
		}
		if sounds != nil {
			return a.initSounds(sounds, dir, f)
		}
		return a.initImages(dir, f)
	}
	path, err := a.tableOfTexts(texts, dir, f)
	if err != nil {
		return err
	}
	f.label, f.task, f.texts = classColumn, "classification", true
	if err := a.initTable(ctx, path, f); err != nil {
		return errors.Join(err, os.Remove(path)) // a file left behind would make the next attempt fail
	}
	return nil
}

// tasks are the values of --task.
var tasks = map[string]tabular.Task{"auto": "", "classification": tabular.Multiclass, "regression": tabular.Regression}

// initTable writes the config of a table.
func (a *app) initTable(ctx context.Context, path string, f initFlags) error {
	p, err := tabular.Read(ctx, path, tabular.Options{Label: f.label, Task: tasks[f.task]})
	var unknown *tabular.UnknownLabelError
	switch {
	case errors.As(err, &unknown):
		return usage(fmt.Errorf("--label: %w", err))
	case err != nil:
		return err
	case f.label == "":
		return usage(fmt.Errorf("--label: %w", &tabular.UnknownLabelError{Names: p.Names()}))
	}
	if err := p.Drop(f.leaveOut); err != nil {
		return usage(fmt.Errorf("--leave-out: %w", err))
	}
	if f.texts {
		p.TakeForText(textColumn)
	}
	if f.modelDir == "" {
		f.modelDir = "runs/" + tableName(withoutGlob(path))
	}
	d, err := newDraft(p, f.modelDir)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: %d rows, %d columns\nlabel %s: %s\n", printable.Text(path), p.Rows, len(p.Columns), printable.Text(f.label), printable.Text(d.labelText()))
	if err := a.chooseModel(ctx, d, f); err != nil {
		return err
	}
	d.trainOnMore()
	text := d.text()
	if err := atomicfile.Rewrite(filepath.Clean(f.out), []byte(text)); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for _, line := range d.notes() {
		fmt.Fprintln(a.stdout, printable.Text(line))
	}
	_, err = fmt.Fprintf(a.stdout, "wrote %s: a model %s; now run\n  %s train --config %s\n", f.out, d.model.name, a.name, f.out)
	return err
}

// tableName is the name of a file without its extensions.
func tableName(path string) string {
	name, _, _ := strings.Cut(inputs.BaseName(path), ".")
	if name == "" || name == "/" {
		return "model"
	}
	return name
}

// withoutGlob is the folder before a glob. A file that exists is no glob, even if its name looks like one.
func withoutGlob(path string) string {
	if _, err := os.Stat(path); err == nil {
		return path
	}
	for strings.ContainsAny(inputs.BaseName(path), "*[") {
		path = filepath.Dir(path)
	}
	return path
}

// folderName is the name of a folder, also if the path is "." or "..".
func folderName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return tableName(filepath.Clean(dir))
}

// initImages writes the config of a folder of images.
func (a *app) initImages(dir string, f initFlags) error {
	t, err := imagesOf(dir)
	if err != nil {
		return err
	}
	if f.modelDir == "" {
		f.modelDir = "runs/" + folderName(dir)
	}
	size := "all of one size"
	if t.height > 0 {
		size = fmt.Sprintf("resized to %d x %d", t.height, t.width)
	}
	fmt.Fprintf(a.stdout, "%s: %d images to train on, %s\n%d classes: %s\n", printable.Text(t.train), t.images(), size, len(t.classes), printable.Text(strings.Join(t.classes[:min(len(t.classes), 10)], ", ")))
	if err := atomicfile.Rewrite(filepath.Clean(f.out), []byte(t.config(f.modelDir))); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = fmt.Fprintf(a.stdout, "wrote %s: a convolutional network; now run\n  %s train --config %s\n", f.out, a.name, f.out)
	return err
}
