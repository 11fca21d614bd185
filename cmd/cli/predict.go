package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/platform/bucket"
	"github.com/spf13/cobra"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	configFlags
	input, output, checkpoint string
}

func (a *app) predictCommand() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict --config FILE",
		Short: "run a trained model on examples",
		Long: `Runs the newest checkpoint in model_dir, or the one that --checkpoint names, on
predict.input (else eval.input) and writes one prediction for each example: as
lines of JSON to standard output or, by the extension of --output, as lines of
JSON (.jsonl, .json), CSV (.csv), Arrow (.arrow) or Parquet (.parquet). Labels are not
needed. predict.keys chooses among the model's predictions.

With --input, the examples come from that file, or from the files of a folder or
a glob, all of them: split, skip and take of the config do not apply. A .csv,
.parquet, .arrow, .jsonl, .tfrecord, .npy or .npz file is taken as its extension
says. --input - reads standard input, as CSV or lines of JSON, whichever the
config says, and writes the predictions of each batch as soon as it is complete;
batch_size sets how many rows that takes. --output -.csv writes CSV to standard
output.

A row that cannot be read ends the command, since predictions and rows would no
longer match; predict.on_error: skip leaves such rows out, and counts them.

Columns of the input that predict.columns names, for example an id, are written
before the predictions. predict.top_k writes the most probable classes.

Where the last part of --output has a star, each file that --input matches, or
that lies below the folder that it names, has a file of its own. Its name takes
the place of the star, with the folders that --input leaves open. Files that are
there already are passed over: the same command goes on where another one was
interrupted.

Both may be URLs of objects, such as s3://bucket/days/*.csv.`,
		Example: `  goestimator predict --config configs/iris.yaml --input flowers.csv
  goestimator predict --config configs/glyphs.yaml --output predictions.parquet --set predict.keys=class_ids
  tail -f flowers.csv | goestimator predict --config configs/iris.yaml --input - --set eval.input.batch_size=1
  goestimator predict --config configs/iris.yaml --input 'days/*.csv' --output 'predicted/*.csv' --set predict.top_k=2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.loadPredicted(f.input)
			if err != nil {
				return err
			}
			return a.predict(cmd.Context(), cfg, f)
		},
	}
	f.add(cmd)
	cmd.Flags().Lookup("json").Usage = "with --output, print the summary as JSON"
	cmd.Flags().StringVar(&f.input, "input", "", "file, folder or glob of examples, or - for standard input, in place of those of the config")
	cmd.Flags().StringVar(&f.output, "output", "", "file to write (.jsonl, .json, .csv, .arrow or .parquet; it appears once it is whole), or - or -.csv for standard output")
	completeFiles(cmd, "input", "csv", "parquet", "arrow", "jsonl", "tfrecord", "npy", "npz", "gz")
	completeFiles(cmd, "output", "jsonl", "json", "csv", "arrow", "parquet")
	addCheckpointFlag(cmd, &f.checkpoint)
	return cmd
}

func (a *app) predict(ctx context.Context, cfg *config.Config, f predictFlags) error {
	output, err := bucket.Local(f.output)
	if err != nil {
		return usage(fmt.Errorf("--output %s: %w", f.output, err))
	}
	if err := checkOutput(output); err != nil {
		return usage(err)
	}
	if err := checkTop(cfg.Predict.TopK); err != nil {
		return usage(err)
	}
	if cfg.Predict.TopK > 0 && cfg.Model.Params["head"] == "multi_label" {
		return usage(errors.New("predict.top_k: the head multi_label says of each class by itself whether it holds: see probabilities, in the order of classes"))
	}
	if stdoutFormat(output) == nil && (inputs.IsURL(output) || !strings.Contains(output, "*")) {
		if err := a.checkPlace(ctx, "--output", output); err != nil {
			return err
		}
	}
	format := cfg.PredictInput().Format
	files, passed, err := a.filesToPredict(ctx, f.input, output, format == "images" || format == "audio")
	if err != nil {
		return usage(err)
	}
	if _, err := a.rowsToPredict(cfg, f.input); err != nil {
		return usage(err)
	}
	j, prefix, err := a.trainedJob(ctx, cfg, f.checkpoint)
	if err != nil {
		return err
	}
	defer j.est.Close()
	if passed > 0 {
		a.log.Info("files that have predictions are passed over", "files", passed)
	}
	total := int64(0)
	for _, file := range files {
		n, err := j.predictFile(ctx, file, prefix)
		if err != nil {
			return unpredictable(cfg, err)
		}
		total += n
	}
	if stdoutFormat(output) != nil {
		return nil
	}
	return a.printPredicted(f, total, j.skipped.counts())
}

// predictFile writes the predictions for a file.
func (j *job) predictFile(ctx context.Context, file predictedFile, prefix string) (int64, error) {
	in, err := j.app.rowsToPredict(j.cfg, file.input)
	if err != nil {
		return 0, usage(err)
	}
	columns, err := passColumns(&in, j.cfg.Predict.Columns)
	if err != nil {
		return 0, usage(err)
	}
	input, err := j.input(in, "predict")
	if err != nil {
		return 0, err
	}
	rows := func(input estimator.InputFn) iter.Seq2[[]namedValue, error] {
		return predictedRows{columns, j.cfg.Predict.Keys, j.cfg.Predict.TopK}.of(ctx, j.est, input, prefix)
	}
	if format := stdoutFormat(file.output); format != nil {
		return j.app.toStdout(format, input, rows, in.Stdin())
	}
	if file.ofMany && !inputs.IsURL(file.output) { // the star may contain folders
		if err := os.MkdirAll(filepath.Dir(file.output), 0o755); err != nil {
			return 0, fmt.Errorf("--output: %w", err)
		}
	}
	n, err := j.app.writePlace(ctx, file.output, func(w predictionWriter) (int64, error) { return writePredictions(w, rows(input)) })
	if file.ofMany && errors.Is(err, inputs.ErrEmpty) { // an empty input gives an empty output
		j.app.log.Warn("no examples", "input", file.input)
		return j.app.writePlace(ctx, file.output, func(w predictionWriter) (int64, error) { return 0, w.Close() })
	}
	return n, err
}

func (a *app) printPredicted(f predictFlags, n int64, skipped map[string]int64) error {
	if f.json {
		return json.NewEncoder(a.stdout).Encode(struct {
			Predictions int64            `json:"predictions"`
			Output      string           `json:"output"`
			Skipped     map[string]int64 `json:"skipped_rows,omitempty"`
		}{n, f.output, skipped})
	}
	_, err := fmt.Fprintf(a.stdout, "predictions=%d\noutput=%s\n", n, f.output)
	a.printSkipped(skipped)
	return err
}

// tables are the formats of files with rows, by extension.
var tables = map[string]string{".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".jsonl": "jsonl", ".tfrecord": "tfrecord", ".npy": "npy", ".npz": "npz"}

// predictInput is the config's input for predictions: one pass in order, over file if it is given.
func (a *app) predictInput(cfg *config.Config, file string) (inputs.Spec, error) {
	return a.onePass(cfg.PredictInput(), "predict.input", file)
}

// onePass makes one pass in order over an input, whose key in the config is key. If file is given, it reads all rows of file instead.
func (a *app) onePass(in inputs.Spec, key, file string) (inputs.Spec, error) {
	in.Repeat, in.Shuffle, in.DropRemainder = false, 0, false
	if file == "" {
		return in, nil
	}
	if a.inputs.Has(in.Format) || in.Format == "glyphs" || in.Format == "sql" || in.Format == "flight" {
		return in, fmt.Errorf("--input %s: the input %s reads no file: set %s.format", file, in.Format, key)
	}
	in.Split, in.Skip, in.Take = inputs.SplitSpec{}, 0, 0
	if in.Format == "idx" {
		in.Images, in.Labels = file, ""
		return in, nil
	}
	in.Files = []string{file}
	ext := filepath.Ext(plainName(inputs.BaseName(file)))
	if format, ok := tables[ext]; ok && slices.Contains([]string{"", "csv", "parquet", "arrow", "jsonl", "tfrecord", "npy", "npz"}, in.Format) {
		in.Format = format
	}
	if in.Format == "" {
		return in, fmt.Errorf("%s.format is not set: say what the file is, for example --set %s.format=csv", key, key)
	}
	return in, nil
}
