package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/search"
	"github.com/spf13/cobra"
)

// crossvalFlags are the flags of crossval.
type crossvalFlags struct {
	configFlags
	folds, parallel              int
	by, dir, predictions, export string
}

func (a *app) crossvalCommand() *cobra.Command {
	var f crossvalFlags
	cmd := &cobra.Command{
		Use:   "crossval --config FILE",
		Short: "train on all folds of the data but one, for each fold",
		Long: `Divides the rows of train.input into folds, trains the config on all of them but
one and evaluates it on that one, for each fold. Prints the metrics of each fold,
their mean and their standard deviation. eval.input is not read.

--by says how rows are divided:
  stratified      each fold has the shares of the label's classes; stratified:COLUMN
                  of another column's. The default for classifiers.
  plain           row i is in fold i mod folds. The default for other models.
  group:COLUMN    equal values of a column stay in one fold
  time            by the order of the rows, or time:COLUMN by a column: blocks follow
                  each other, a fold is trained on all blocks before its own

Each fold is a process with a model_dir of its own, DIR/fold_0 and so on, and what
it says is in DIR/logs. The same command goes on where one was interrupted.

--predictions writes what each model says of the fold that it has not seen: a row
for each row of the data, with its number, fold and label, and the columns that
predict.columns names.

--export writes one SavedModel of the models of all folds, which answers with the
mean of their predictions, to a new folder below the one that it names.`,
		Example: `  goestimator crossval --config configs/iris.yaml --set data_dir=data/iris --predictions oof.csv
  goestimator crossval --config configs/iris.yaml --folds 10 --by plain --parallel 2 --json
  goestimator crossval --config configs/iris.yaml --set data_dir=data/iris --export exports/iris`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.crossval(cmd.Context(), cfg, f)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.folds, "folds", 5, "number of folds")
	cmd.Flags().IntVar(&f.parallel, "parallel", 1, "folds that are trained at a time")
	cmd.Flags().StringVar(&f.by, "by", "", "stratified, plain, group:COLUMN, time or time:COLUMN")
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder of the folds (default: the config's model_dir and _crossval)")
	cmd.Flags().StringVar(&f.predictions, "predictions", "", "file of the predictions for held out rows (.csv, .jsonl, .json, .arrow or .parquet)")
	cmd.Flags().StringVar(&f.export, "export", "", "folder that gets a SavedModel of all folds, in a folder of its own")
	completeFolders(cmd, "dir", "export")
	completeFiles(cmd, "predictions", "csv", "jsonl", "json", "arrow", "parquet")
	return cmd
}

// crossval is a cross-validation of a config.
type crossval struct {
	app    *app
	cfg    *config.Config
	flags  crossvalFlags
	by     inputs.Folding
	counts foldRows // once they are counted
}

func (a *app) crossval(ctx context.Context, cfg *config.Config, f crossvalFlags) error {
	if f.dir == "" {
		f.dir = cfg.ModelDir + "_crossval"
	}
	keepClasses(cfg)
	c := &crossval{app: a, cfg: cfg, flags: f}
	err := c.check(ctx)
	if err != nil {
		return usage(err)
	}
	c.counts, err = c.count(ctx)
	if err == nil {
		err = c.counts.check(c)
	}
	if err != nil {
		return err
	}
	results, err := c.train(ctx)
	if err != nil {
		return err
	}
	sum := c.summary(results)
	if len(sum.failed()) == 0 && f.predictions != "" {
		if sum.Predictions, err = c.writePredictions(ctx); err != nil {
			return err
		}
	}
	if len(sum.failed()) == 0 && f.export != "" {
		if sum.Export, sum.OutOfFold, err = c.export(ctx); err != nil {
			return fmt.Errorf("--export: %w", err)
		}
	}
	return c.print(sum)
}

// check sets by, and returns an error for a config or flags that no fold can run with.
func (c *crossval) check(ctx context.Context) error {
	rc, err := c.cfg.RunConfig()
	in := c.cfg.Train.Input
	switch {
	case err != nil:
		return err
	case rc.ClusterSpec().Len() > 1:
		return errors.New("crossval runs on one machine: unset TF_CONFIG")
	case c.flags.dir == "_crossval":
		return errors.New("no model_dir and no --dir: say where the folds are to be kept")
	case in.Format == "":
		return errors.New("train.input.format is not set: its rows are divided into folds")
	case c.app.inputs.Has(in.Format):
		return fmt.Errorf("train.input: the input_fn %s reads its section itself, its rows cannot be divided", in.Format)
	case in.Skip > 0 || in.Take > 0 && !c.inMemory():
		return errors.New("train.input has skip or take: crossval divides all rows of the input, leave them out")
	case c.flags.folds < 2 || c.flags.folds > 1<<10:
		return fmt.Errorf("--folds: expected 2 to 1024, got %d", c.flags.folds)
	case c.flags.parallel < 1:
		return fmt.Errorf("--parallel: expected at least 1, got %d", c.flags.parallel)
	}
	if err := checkOutput(c.flags.predictions); err != nil {
		return fmt.Errorf("%s", strings.Replace(err.Error(), "--output", "--predictions", 1))
	}
	if err := c.app.checkPlace(ctx, "--predictions", c.flags.predictions); err != nil {
		return err
	}
	if err := c.checkRows(); err != nil {
		return err
	}
	c.by, err = c.folding()
	return err
}

// checkRows refuses settings that change the number of rows of a fold, where each row must be known.
func (c *crossval) checkRows() error {
	in := c.cfg.Train.Input
	needs := ""
	switch {
	case c.flags.predictions != "":
		needs = "--predictions"
	case c.inMemory():
		needs = "model.params.train_in_memory"
	default:
		return nil
	}
	for i, t := range in.Transforms {
		if slices.Contains([]string{"window", "unbatch", "dedupe", "take", "skip", "filter"}, t.Kind) {
			return fmt.Errorf("%s: train.input.transforms[%d] (%s) makes other rows than the data has: leave one of them out", needs, i, t.Kind)
		}
	}
	return nil
}

// folding is what --by says.
func (c *crossval) folding() (inputs.Folding, error) {
	f := inputs.Folding{Folds: c.flags.folds}
	kind, column, named := strings.Cut(c.flags.by, ":")
	label, known := labelColumn(c.cfg)
	if kind == "" && !named {
		kind = "plain"
		if _, classifies := classesOf(c.cfg.Model.Name, c.cfg.Model.Params); classifies || known {
			kind = "stratified"
		}
	}
	if named && column == "" {
		return f, fmt.Errorf("--by %s: expected the name of a column behind the colon", c.flags.by)
	}
	switch {
	case kind == "plain" && !named:
	case kind == "stratified" && named:
		f.Stratify = column
	case kind == "stratified":
		if f.Stratify = label.Name; f.Stratify == "" {
			f.Stratify = "label" // of formats without columns
		}
	case kind == "group" && named:
		f.Group = column
	case kind == "time" && named:
		f.Time = column
	case kind == "time":
		f.Time = inputs.FileOrder
	default:
		return f, fmt.Errorf("--by: expected stratified, plain, group:COLUMN, time or time:COLUMN, got %q", c.flags.by)
	}
	return f, nil
}

// split selects the rows that a fold trains on, or the rows that it is evaluated on.
func (c *crossval) split(fold int, part string) inputs.SplitSpec {
	return inputs.SplitSpec{Folds: c.by.Folds, HeldOut: fold, Part: part, Stratify: c.by.Stratify, Group: c.by.Group, Time: c.by.Time}
}

// fold is the config of a fold.
func (c *crossval) fold(k int) config.Config {
	cfg := c.cfg.Local()
	in := cfg.Train.Input
	cfg.Train.Input.Split = c.split(k, "train")
	in.Split, in.Shuffle, in.Repeat, in.DropRemainder = c.split(k, "eval"), 0, false, false
	if cfg.Eval.Input.Format != "" {
		in.BatchSize = cfg.Eval.Input.BatchSize
	}
	if c.inMemory() {
		n := int64(c.counts.trained(k, c.by.Time != ""))
		if in.Take > 0 { // the limit that memory allows
			n = min(n, in.Take)
		}
		cfg.Train.Input.Take, cfg.Train.Input.BatchSize, in.Take = n, int(n), 0
	}
	cfg.Eval.Input, cfg.Predict.Input = in, inputs.DefaultSpec()
	cfg.ModelDir, cfg.Sweep = c.modelDir(k), search.Spec{}
	return cfg
}

// inMemory reports whether the model trains on all rows at once. Then take and batch_size count rows, and differ between folds.
func (c *crossval) inMemory() bool {
	all, _ := c.cfg.Model.Params["train_in_memory"].(bool)
	return all
}

func (c *crossval) modelDir(fold int) string {
	return filepath.Join(c.flags.dir, "fold_"+strconv.Itoa(fold))
}

func (c *crossval) configFile(fold int) string {
	return filepath.Join(c.flags.dir, "configs", "fold_"+strconv.Itoa(fold)+".yaml")
}

// train trains the folds that have no result yet, and returns the results of all folds.
func (c *crossval) train(ctx context.Context) ([]search.Result, error) {
	var folds []any
	for k := range c.by.Folds {
		folds = append(folds, k)
	}
	s, err := search.New(search.Spec{Algorithm: "grid", Parallel: c.flags.parallel, Parameters: []search.Parameter{{Key: "fold", Values: folds}}}, 0)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"logs", "configs"} {
		if err := os.MkdirAll(filepath.Join(c.flags.dir, dir), 0o777); err != nil {
			return nil, fmt.Errorf("the folder of the folds: %w", err)
		}
	}
	journal, err := c.journal(s)
	if err != nil {
		return nil, err
	}
	defer journal.Close()
	for k := range c.by.Folds {
		cfg := c.fold(k)
		if err := cfg.WriteFile(c.configFile(k)); err != nil {
			return nil, err
		}
	}
	t := &trials{app: c.app, search: s, journal: journal, most: 2, read: readMetrics,
		args: func(t search.Trial) []string {
			return []string{"--config", c.configFile(t.Number), "--set", "model_dir=" + c.modelDir(t.Number)}
		},
		log: func(t search.Trial) string {
			return filepath.Join(c.flags.dir, "logs", "fold_"+strconv.Itoa(t.Number)+".log")
		}}
	err = t.run(ctx)
	return s.Results(), err
}

// journal opens the journal of an earlier run. A fold that failed is trained again.
func (c *crossval) journal(s *search.Search) (*search.Journal, error) {
	first := c.fold(0)
	first.Predict, first.Export = config.Default().Predict, config.Default().Export
	identity, err := sweepIdentity(first)
	if err != nil {
		return nil, err
	}
	journal, results, begun, err := search.OpenJournal(filepath.Join(c.flags.dir, "crossval.jsonl"), identity)
	if errors.Is(err, search.ErrOther) {
		return nil, usage(fmt.Errorf("%s: the folds there are of another config or other folds: name another folder by --dir, or delete this one", c.flags.dir))
	}
	if err != nil {
		return nil, err
	}
	results = slices.DeleteFunc(results, func(r search.Result) bool { return r.Error != "" })
	s.Resume(results, begun)
	if len(results) > 0 {
		c.app.log.Info("the cross-validation goes on", "dir", c.flags.dir, "ended", len(results))
	}
	return journal, nil
}

// readMetrics takes all metrics that train printed.
func readMetrics(r *search.Result, s jsonSummary) error {
	r.Metrics = s.numbers()
	if len(s.Metrics) == 0 {
		r.Error = "it was not evaluated"
	}
	if loss, ok := r.Metrics["loss"]; ok {
		r.Value = &loss
	}
	return nil
}
