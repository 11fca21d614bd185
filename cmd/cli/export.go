package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models"
	"github.com/spf13/cobra"
)

// exportFlags are the flags of export.
type exportFlags struct {
	configFlags
	to, format, checkpoint string
	modes                  []string
	text                   bool
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --config FILE --to DIR",
		Short: "write a trained model as a SavedModel or as ONNX",
		Long: `Writes the newest checkpoint in model_dir, or the one that --checkpoint names, to
a new folder DIR/<Unix time>, which appears whole: a SavedModel, which
goestimator serve, TensorFlow and TensorFlow Serving load, or model.onnx, whose
inputs are raw and whose outputs are those of the signature predict.

export.serving_input says how the model is fed: raw, a tensor for each feature of
eval.input (as its columns say, after its transformations); parsing, serialized
tf.Examples; auto: parsing for models of feature columns, else raw. Requests to
classify and to regress are answered by models that parse examples.

--modes adds the graphs of training and evaluation, tagged "train" and "eval",
which TensorFlow goes on with: a train_op, the loss, metrics and their updates.`,
		Example: `  goestimator export --config configs/glyphs.yaml --to exports/glyphs
  goestimator export --config configs/adult_wide_deep.yaml --to exports/adult --set export.serving_input=raw
  goestimator export --config configs/glyphs.yaml --to exports/glyphs_onnx --format onnx
  goestimator export --config configs/glyphs.yaml --to exports/glyphs --modes infer,eval,train`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.export(cmd.Context(), cfg, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.to, "to", "", "folder that gets the export, in a folder of its own")
	cmd.Flags().StringVar(&f.format, "format", "savedmodel", "savedmodel or onnx")
	cmd.Flags().StringSliceVar(&f.modes, "modes", []string{"infer"}, "graphs of the SavedModel: infer, and with it eval, train")
	cmd.Flags().BoolVar(&f.text, "text", false, "write saved_model.pbtxt instead of saved_model.pb")
	completeFolders(cmd, "to")
	completeValues(cmd, "format", "savedmodel", "onnx")
	completeValues(cmd, "modes", "infer", "infer,eval", "infer,eval,train")
	addCheckpointFlag(cmd, &f.checkpoint)
	return cmd
}

func (a *app) export(ctx context.Context, cfg *config.Config, f exportFlags) error {
	switch {
	case f.to == "":
		return usage(errors.New("no folder: give --to DIR"))
	case f.format != "savedmodel" && f.format != "onnx":
		return usage(fmt.Errorf("--format %s: expected savedmodel or onnx", f.format))
	case f.format == "onnx" && f.text:
		return usage(errors.New("--text: ONNX has no text form: leave it out"))
	case f.format == "onnx" && cfg.Export.ServingInput == "parsing":
		return usage(errors.New("export.serving_input: ONNX parses no examples: expected raw or auto"))
	}
	modes, err := exportedModes(f.modes)
	switch {
	case err != nil:
		return usage(err)
	case f.format == "onnx" && len(modes) > 0:
		return usage(errors.New("--modes: ONNX has the graph of infer alone: leave it out"))
	case f.format == "onnx":
		cfg.Export.ServingInput = "raw"
	}
	j, prefix, err := a.trainedJob(ctx, cfg, f.checkpoint)
	if err != nil {
		return err
	}
	defer j.est.Close()
	if g, ok := j.fn.(generating); ok {
		return a.exportGenerator(ctx, j.est, g.Generator(), prefix, f)
	}
	serving, opts, err := j.serving(ctx, modes...)
	if err != nil {
		return err
	}
	opts = append(opts, estimator.ExportCheckpoint(prefix))
	if f.text {
		opts = append(opts, estimator.ExportText())
	}
	write := j.est.ExportSavedModel
	if f.format == "onnx" {
		write = j.est.ExportONNX
	}
	dir, err := write(ctx, f.to, serving, opts...)
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(map[string]string{"export": dir, "format": f.format, "serving_input": serving.String()})
	}
	_, err = fmt.Fprintf(a.stdout, "export=%s\nserving_input=%s\n", dir, serving)
	return err
}

// generating is a model_fn that generates text.
type generating interface{ Generator() estimator.Generator }

// exportGenerator exports a model that generates text, with the signature generate.
func (a *app) exportGenerator(ctx context.Context, est *estimator.Estimator, g estimator.Generator, prefix string, f exportFlags) error {
	if f.format != "savedmodel" || len(f.modes) != 1 {
		return usage(errors.New("a language model is exported as a SavedModel that writes texts: leave --format and --modes out"))
	}
	opts := []estimator.ExportOption{estimator.ExportCheckpoint(prefix)}
	if f.text {
		opts = append(opts, estimator.ExportText())
	}
	dir, err := est.ExportGenerator(ctx, f.to, g, opts...)
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(map[string]string{"export": dir, "format": f.format, "signature": "generate"})
	}
	_, err = fmt.Fprintf(a.stdout, "export=%s\nsignature=generate\n", dir)
	return err
}

// exportedModes are the modes whose graphs are written besides the one of infer.
func exportedModes(names []string) ([]models.Mode, error) {
	known := map[string]models.Mode{"infer": models.Predict, "eval": models.Eval, "train": models.Train}
	var out []models.Mode
	for _, name := range names {
		mode, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("--modes: got %q, expected infer, eval or train", name)
		}
		if mode != models.Predict && !slices.Contains(out, mode) {
			out = append(out, mode)
		}
	}
	if !slices.Contains(names, "infer") {
		return nil, errors.New("--modes: a SavedModel has the graph of infer: expected it among them")
	}
	return out, nil
}

// serving says how the model of a config is exported, with the graphs of these modes besides the one of infer.
func (j *job) serving(ctx context.Context, modes ...models.Mode) (estimator.ServingInput, []estimator.ExportOption, error) {
	c := j.cfg.Export
	var none estimator.ServingInput
	opts := []estimator.ExportOption{estimator.ExportModes(modes...)}
	if c.MaxSequenceLength > 0 {
		opts = append(opts, estimator.ExportSequenceLength(c.MaxSequenceLength))
	}
	planned := planOf(j.fn) != nil
	raw := c.ServingInput == "raw" || c.ServingInput == "auto" && !planned
	input, err := j.exampleInput()
	if err != nil {
		return none, nil, err
	}
	columns, err := j.est.ServingColumns(ctx, input, modes...)
	if err != nil {
		return none, nil, fmt.Errorf("what the model is fed with follows from eval.input: %w", err)
	}
	serving := estimator.ParsingServingInput(columns...)
	if raw {
		serving = estimator.RawServingInput(columns...)
	}
	if c.WarmUpRequests > 0 {
		requests, err := j.est.WarmUpRequests(ctx, serving, input, c.WarmUpRequests)
		if err != nil {
			return none, nil, fmt.Errorf("export.warm_up_requests: %w", err)
		}
		opts = append(opts, estimator.ExportWarmUp(requests...))
	}
	return serving, opts, nil
}

// exampleInput is the input_fn of examples that resemble what an exported model is fed.
func (j *job) exampleInput() (estimator.InputFn, error) {
	in := j.cfg.Eval.Input
	if in.Format == "" {
		in = j.cfg.Train.Input
	}
	return j.input(j.cfg.Resolve(in), "eval")
}

// exporters are the exporters that eval.exporters lists.
func (j *job) exporters(ctx context.Context) ([]estimator.Exporter, error) {
	if len(j.cfg.Eval.Exporters) == 0 {
		return nil, nil
	}
	if _, ok := j.fn.(generating); ok {
		return nil, usage(errors.New("eval.exporters: a language model has none: goestimator export writes it"))
	}
	serving, opts, err := j.serving(ctx)
	if err != nil {
		return nil, err
	}
	var out []estimator.Exporter
	for _, c := range j.cfg.Eval.Exporters {
		o := estimator.ExporterOptions{Name: c.Name, Serving: serving, Options: opts, Keep: c.ExportsToKeep}
		x, err := newExporter(c, o)
		if err != nil {
			return nil, usage(fmt.Errorf("eval.exporters: %w", err))
		}
		out = append(out, x)
	}
	return out, nil
}

func newExporter(c config.Exporter, o estimator.ExporterOptions) (estimator.Exporter, error) {
	switch c.Kind {
	case "final":
		return estimator.NewFinalExporter(o)
	case "latest":
		return estimator.NewLatestExporter(o)
	case "best":
		return estimator.NewBestExporter(o, c.Metric, c.HigherIsBetter)
	case "steps":
		return estimator.NewStepsExporter(o, c.Steps...)
	}
	return nil, fmt.Errorf("kind %q: expected final, latest, best or steps", c.Kind)
}
