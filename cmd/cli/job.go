package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/spf13/cobra"
)

// job is a loaded config and the estimator it describes.
type job struct {
	app     *app
	cfg     *config.Config
	est     *estimator.Estimator
	fn      estimator.ModelFn
	profile bool // train reports where its time goes
	skipped skippedRows
	metrics *metricsLog // nil: none
	hparams *hparams
}

// configFlags are the flags common to commands with a config.
type configFlags struct {
	path string
	sets []string
	json bool
}

func (f *configFlags) add(cmd *cobra.Command) {
	f.addSources(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object on the last line")
}

// addSources adds the flags that determine the config.
func (f *configFlags) addSources(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "config", "", "config file (YAML)")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "key=value: overrides a key of the config; may be repeated")
	completeFiles(cmd, "config", "yaml", "yml")
	completeKeys(cmd, "set")
}

// load reads the config.
func (f *configFlags) load() (*config.Config, error) { return f.loadPredicted("") }

// loadPredicted loads a config to predict a file; "": the files that the config names.
func (f *configFlags) loadPredicted(predicted string) (*config.Config, error) {
	if f.path == "" {
		return nil, errNoConfig
	}
	cfg, err := config.Load(config.LoadOptions{Path: f.path, Sets: f.sets, PredictFile: predicted})
	if err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}

// newJob makes the estimator of a config.
func (a *app) newJob(ctx context.Context, cfg *config.Config, columns columnSource) (*job, error) {
	rc, err := cfg.RunConfig()
	if err != nil {
		return nil, usage(err)
	}
	set, adapted, err := a.columnSet(ctx, cfg, rc, columns)
	if err != nil {
		err = fmt.Errorf("feature_columns: %w", err)
		if !feature.Adapts(cfg.FeatureColumns) {
			err = usage(err)
		}
		return nil, err
	}
	if err := a.weighClasses(ctx, cfg, rc, columns); err != nil {
		return nil, fmt.Errorf("model.params.%s: %w", paramWeights, err)
	}
	fn, err := a.modelFn(cfg, set)
	if err != nil {
		return nil, usage(err)
	}
	opts, err := a.registeredOptimizer(cfg)
	if err != nil {
		return nil, usage(err)
	}
	opts = append(opts, adapted, estimator.WithRunConfig(rc), estimator.WithParams(cfg.Model.Params), estimator.WithLogger(a.log),
		estimator.WithAutoSummaries(estimator.AutoSummaries{Histograms: cfg.Run.SummaryHistograms, Images: cfg.Run.SummaryImages}))
	if !cfg.Model.Averages {
		opts = append(opts, estimator.WithTrainedWeights())
	}
	if len(cfg.Model.Freeze) > 0 {
		opts = append(opts, estimator.WithFrozen(cfg.Model.Freeze...))
	}
	if cfg.Model.WarmStart.From != "" {
		ws, err := warmStart(cfg)
		if err != nil {
			return nil, usage(fmt.Errorf("model.warm_start.%w", err))
		}
		opts = append(opts, estimator.WithWarmStart(ws))
	}
	est, err := estimator.New(fn, opts...)
	if err != nil {
		return nil, usage(err)
	}
	return &job{app: a, cfg: cfg, est: est, fn: fn}, nil
}

// configWriter writes the chief's resolved config beside the checkpoints, once it is
// certain that the model_dir is this model's. Configs of other tasks may name other files.
type configWriter struct {
	hooks.Base
	job *job
}

// AfterCreateSession writes the config, on the chief.
func (h configWriter) AfterCreateSession(context.Context, hooks.Run) error {
	if !h.job.est.Config().IsChief() {
		return nil
	}
	path := filepath.Join(h.job.est.ModelDir(), "config.yaml")
	cfg := *h.job.cfg
	cfg.Run.JobID = ""  // only for this job
	cfg.Run.Notify = "" // it may hold a key
	if err := cfg.WriteFile(path); err != nil {
		return fmt.Errorf("writing the resolved config: %w", err)
	}
	return nil
}

// input is the input_fn of one section of the config.
func (j *job) input(in inputs.Spec, section string) (estimator.InputFn, error) {
	return j.inputRepeated(in, section, 0)
}

func (j *job) inputRepeated(in inputs.Spec, section string, epochs int) (estimator.InputFn, error) {
	in.Epochs = epochs
	fn, notRegistered := j.app.inputs.Lookup(in.Format)
	switch known := j.app.formats(); {
	case notRegistered == nil:
	case in.Format == "":
		return nil, usage(fmt.Errorf("%s.input.format is not set: expected one of %s", section, strings.Join(known, ", ")))
	case !slices.Contains(known, in.Format):
		return nil, usage(fmt.Errorf("%s.input: %w", section, unknownName("format", in.Format, known)))
	}
	if err := j.app.checkTransforms(in, section); err != nil {
		return nil, err
	}
	damaged := j.damaged(section, in)
	return estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ic.GlobalBatch, ic.Damaged, ic.Stdin = in.BatchSize, damaged, j.app.stdin
		if notRegistered == nil {
			own := in // an input_fn may modify it
			ic.Spec = &own
			return fn.Input(ctx, ic)
		}
		ic.Transforms = j.app.transforms()
		return inputs.Open(ctx, in, ic)
	}), nil
}

// trainInput is the input_fn of training; train.epochs, if set, is the number of passes over the data.
func (j *job) trainInput(in inputs.Spec) (estimator.InputFn, error) {
	in = j.cfg.Resolve(in)
	if j.cfg.Train.Epochs > 0 && j.app.inputs.Has(in.Format) {
		return nil, usage(fmt.Errorf("train.epochs: the input_fn %s repeats its data itself: use train.max_steps", in.Format))
	}
	return j.inputRepeated(in, "train", j.cfg.Train.Epochs)
}
