package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
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
JSON (.jsonl, .json), Arrow (.arrow) or Parquet (.parquet). Labels are not
needed. predict.keys chooses among the model's predictions.

With --input, the examples come from that file, all of them: split, skip and
take of the config do not apply. A .csv, .parquet, .arrow, .jsonl or .tfrecord
file is taken as its extension says.`,
		Example: `  goestimator predict --config configs/iris.yaml --input flowers.csv
  goestimator predict --config configs/glyphs.yaml --output predictions.parquet --set predict.keys=class_ids`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.predict(cmd.Context(), cfg, f)
		},
	}
	f.add(cmd)
	cmd.Flags().Lookup("json").Usage = "with --output, print the summary as JSON"
	cmd.Flags().StringVar(&f.input, "input", "", "file of examples, in place of those of the config")
	cmd.Flags().StringVar(&f.output, "output", "", "file to write (.jsonl, .json, .arrow or .parquet); it appears once it is whole")
	completeFiles(cmd, "input", "csv", "parquet", "arrow", "jsonl", "tfrecord", "gz")
	completeFiles(cmd, "output", "jsonl", "json", "arrow", "parquet")
	addCheckpointFlag(cmd, &f.checkpoint)
	return cmd
}

func (a *app) predict(ctx context.Context, cfg *config.Config, f predictFlags) error {
	if err := checkOutput(f.output); err != nil {
		return usage(err)
	}
	in, err := a.predictInput(cfg, f.input)
	if err != nil {
		return usage(err)
	}
	j, prefix, err := a.trainedJob(ctx, cfg, f.checkpoint)
	if err != nil {
		return err
	}
	defer j.est.Close()
	input, err := j.input(in, "predict")
	if err != nil {
		return err
	}
	opts := []estimator.PredictOption{estimator.CheckpointPath(prefix), estimator.PredictKeys(cfg.Predict.Keys...)}
	if f.output == "" {
		_, err := writePredictions(newJSONLines(a.stdout), j.est.Predict(ctx, input, opts...))
		return err
	}
	n, err := writeFile(f.output, func(w predictionWriter) (int64, error) {
		return writePredictions(w, j.est.Predict(ctx, input, opts...))
	})
	if err != nil {
		return err
	}
	return a.printPredicted(f, n)
}

func (a *app) printPredicted(f predictFlags, n int64) error {
	if f.json {
		return json.NewEncoder(a.stdout).Encode(struct {
			Predictions int64  `json:"predictions"`
			Output      string `json:"output"`
		}{n, f.output})
	}
	_, err := fmt.Fprintf(a.stdout, "predictions=%d\noutput=%s\n", n, f.output)
	return err
}

// tables are the formats of a file of rows, by extension.
var tables = map[string]string{".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".jsonl": "jsonl", ".tfrecord": "tfrecord"}

// predictInput is the config's input of prediction: one pass in order, over file where that is given.
func (a *app) predictInput(cfg *config.Config, file string) (inputs.Spec, error) {
	in := cfg.PredictInput()
	in.Repeat, in.Shuffle, in.DropRemainder = false, 0, false
	if file == "" {
		return in, nil
	}
	if a.inputs.Has(in.Format) || in.Format == "glyphs" {
		return in, fmt.Errorf("--input %s: the input %s reads no file: set predict.input.format", file, in.Format)
	}
	in.Split, in.Skip, in.Take = inputs.SplitSpec{}, 0, 0
	if in.Format == "idx" {
		in.Images, in.Labels = file, ""
		return in, nil
	}
	in.Files = []string{file}
	ext := filepath.Ext(strings.TrimSuffix(file, ".gz"))
	if format, ok := tables[ext]; ok && slices.Contains([]string{"", "csv", "parquet", "arrow", "jsonl", "tfrecord"}, in.Format) {
		in.Format = format
	}
	if in.Format == "" {
		return in, errors.New("predict.input.format is not set: say what the file is, for example --set predict.input.format=csv")
	}
	return in, nil
}
