package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/spf13/cobra"
)

// trainFlags are the flags of train.
type trainFlags struct {
	configFlags
	dry, profile bool
}

func (a *app) trainCommand() *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train --config FILE",
		Short: "train and evaluate in the role that TF_CONFIG gives",
		Long: `Trains the model of a config and evaluates its checkpoints as they are written,
in the role that TF_CONFIG gives. Training goes on from the newest checkpoint in
model_dir. SIGTERM or Ctrl-C stops it after a checkpoint; a second signal stops
it at once.

Exit codes: 0 done, also where max_steps was reached before; 1 an error, or a
last loss that is not finite; 2 a mistake in the command line or the config; 138 another task of the cluster or the GPU was lost,
to be started again; 143 interrupted after a checkpoint;
130 ended by a second signal, without one.`,
		Example: `  goestimator train --config configs/glyphs.yaml
  goestimator train --config configs/iris.yaml --set data_dir=data/iris --set train.max_steps=500 --json
  goestimator train --config configs/cifar10_resnet.yaml --fast-dev-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			switch {
			case err == nil && f.dry:
				return a.dryRun(cmd.Context(), cfg, f)
			case f.dry: // a dry run is no task of a job
				return err
			case err == nil:
				err = a.train(cmd.Context(), cfg, f)
			}
			a.tellFailure(cmd.Context(), cfg, err)
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "fast-dev-run", false, "one batch of training, evaluation and prediction in a temporary model_dir: does everything fit together?")
	cmd.Flags().BoolVar(&f.profile, "profile", false, "print in the end where the time went, op by op, and write the trace of one step to model_dir/profile.json")
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unexpected argument %q", args[0])
	if ext := filepath.Ext(args[0]); cmd.Flags().Lookup("config") != nil && (ext == ".yaml" || ext == ".yml") {
		err = fmt.Errorf("%w; did you mean --config %s?", err, args[0])
	}
	return usage(err)
}

// tellFailure reports an error that ends this task to the other tasks of the cluster.
// Without a config, only TF_CONFIG says which tasks these are.
func (a *app) tellFailure(ctx context.Context, cfg *config.Config, err error) {
	if err == nil {
		return
	}
	rc, rerr := runconfig.FromTFConfig(os.Getenv("TF_CONFIG"))
	if cfg != nil {
		rc, rerr = cfg.RunConfig()
	}
	if rerr == nil {
		estimator.ReportFailure(ctx, rc, a.log, err)
	}
}

// train runs train_and_evaluate and prints the result.
func (a *app) train(ctx context.Context, cfg *config.Config, f trainFlags) error {
	j, err := a.newJob(ctx, cfg, columnSource{trains: true})
	if err != nil {
		return err
	}
	j.profile = f.profile
	defer j.est.Close()
	if err := checkWritable(j.est.ModelDir()); err != nil {
		return err
	}
	began := time.Now()
	res, err := j.trainAndEvaluate(ctx)
	if err == nil {
		if err := j.writeProjector(); err != nil { // training has succeeded, whether or not this fails
			a.log.Warn("run.projector: the embedding tables could not be written", "error", err)
		}
	}
	end := err
	if err == nil {
		end = blownUp(res.TrainResult)
	}
	a.notify(ctx, j, res, began, end)
	if blown := new(hooks.NaNLossError); f.json && errors.As(err, &blown) {
		return errors.Join(err, a.printResult(newSummary(j, res), true))
	}
	if err != nil {
		return err
	}
	return errors.Join(a.printResult(newSummary(j, res), f.json), blownUp(res.TrainResult))
}

// blownUp is the error for training whose last loss is not finite.
func blownUp(res estimator.TrainResult) error {
	if !res.LossRead || isFinite(res.Loss) {
		return nil
	}
	return fmt.Errorf("training blew up: the loss is %v at step %d: lower the learning rate, clip gradients, or look for bad input; run.check_numerics names the first node", notFinite(res.Loss), res.GlobalStep)
}

func (j *job) trainAndEvaluate(ctx context.Context) (res estimator.Result, err error) {
	defer func() {
		err = errors.Join(err, j.hparams.ended(errors.Join(err, blownUp(res.TrainResult))), j.metrics.close())
	}()
	defer j.app.stderr.detach()
	in := j.cfg.Train.Input
	if err := j.checkStdin(); err != nil {
		return estimator.Result{}, usage(err)
	}
	j.warnEndless()
	trainInput, err := j.trainInput(in)
	if err != nil {
		return estimator.Result{}, err
	}
	hs, err := j.hooks()
	if err != nil {
		return estimator.Result{}, usage(err)
	}
	if j.cfg.Eval.Input.Format == "" {
		return j.trainAlone(ctx, trainInput, hs)
	}
	evalInput, err := j.input(j.cfg.Resolve(j.cfg.Eval.Input), "eval")
	if err != nil {
		return estimator.Result{}, err
	}
	exporters, err := j.exporters(ctx)
	if err != nil {
		return estimator.Result{}, err
	}
	train := estimator.TrainSpec{Input: trainInput, MaxSteps: j.cfg.Train.MaxSteps, Hooks: hs}
	if s := j.cfg.Train.EarlyStopping; s.RestoreBest {
		train.RestoreBest = &estimator.RestoreBest{Metric: s.Metric, HigherIsBetter: s.HigherIsBetter, MinSteps: s.MinSteps}
	}
	eval := estimator.EvalSpec{Input: evalInput, Steps: j.cfg.Eval.Steps, Name: j.cfg.Eval.Name,
		StartDelay: seconds(j.cfg.Eval.StartDelaySecs), Throttle: seconds(j.cfg.Eval.ThrottleSecs), EverySteps: j.cfg.Eval.EverySteps,
		AfterEval: estimator.LogEvals(j.app.log, j.metrics.evaluated), Exporters: exporters}
	return estimator.TrainAndEvaluate(ctx, j.est, train, eval)
}

// trainAlone trains without evaluation; a parameter server serves variables instead.
func (j *job) trainAlone(ctx context.Context, in estimator.InputFn, hs []hooks.Hook) (estimator.Result, error) {
	if j.est.Config().TaskType() == runconfig.PS {
		none := estimator.TrainResult{GlobalStep: -1, Loss: math.NaN()}
		return estimator.Result{TrainResult: none}, j.est.RunParameterServer(ctx)
	}
	opts := []estimator.TrainOption{estimator.WithHooks(hs...)}
	if j.cfg.Train.MaxSteps > 0 {
		opts = append(opts, estimator.MaxSteps(j.cfg.Train.MaxSteps))
	}
	tr, err := j.est.Train(ctx, in, opts...)
	return estimator.Result{TrainResult: tr}, err
}

// warnEndless warns if only a signal will end the training.
func (j *job) warnEndless() {
	in := j.cfg.Train.Input
	if !j.cfg.Train.Endless() || j.app.inputs.Has(in.Format) || !j.est.Config().IsChief() {
		return
	}
	why := "repeat: true"
	if !in.Repeat {
		why = "no count"
	}
	j.app.log.Warn("training has no end: train.input has " + why + ", and there is no limit: set train.max_steps, epochs, max_secs or early_stopping, or end it with Ctrl-C")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// hooks are the hooks that the config adds to the estimator's own.
func (j *job) hooks() ([]hooks.Hook, error) {
	c := j.cfg
	nan := hooks.NewNaN("loss")
	nan.FailOnNaN = c.Train.FailOnNaNLoss
	j.hparams = &hparams{job: j}
	hs := []hooks.Hook{nan, configWriter{job: j}}
	if c.Run.SaveSummarySteps > 0 {
		hs = append(hs, j.hparams)
	}
	if !j.app.logs.quiet {
		hs = append(hs, &variableTable{app: j.app})
	}
	if n := int64(c.Run.LogStepCountSteps); n > 0 {
		hs = append(hs, j.lines(n)...)
	}
	if len(c.Run.MetricsLog) > 0 && j.est.Config().IsChief() {
		j.metrics = &metricsLog{job: j, every: int64(c.Run.LogStepCountSteps)}
		hs = append(hs, j.metrics)
	}
	if c.Train.MaxSecs > 0 {
		h, err := hooks.NewTimeLimit(j.est.ModelDir(), seconds(c.Train.MaxSecs))
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	if c.Run.ProfileSteps > 0 {
		h, err := hooks.NewProfiler(j.est.ModelDir(), hooks.Every{Steps: c.Run.ProfileSteps})
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	if j.profile {
		hs = append(hs, newOpProfile(j.app, j.est.ModelDir()))
	}
	early, err := j.earlyStopping()
	if err != nil {
		return nil, err
	}
	return append(hs, early...), nil
}

// lines are hooks that report progress every few steps, if the estimator's own log lines are not enough.
func (j *job) lines(every int64) []hooks.Hook {
	a := j.app
	switch {
	case a.logs.json:
		return []hooks.Hook{hooks.NewLogging(a.log, every, "loss").Structured()}
	case !a.logs.quiet && isTerminal(a.stderr.out):
		// The bar replaces log lines.
		bar := newProgress(a.stderr, j.cfg.Train.MaxSteps)
		bar.color = a.logs.color
		return []hooks.Hook{bar, hooks.NewLogging(slog.New(slog.DiscardHandler), every, "loss")}
	}
	return nil
}

// earlyStopping are the hooks of train.early_stopping.
func (j *job) earlyStopping() ([]hooks.Hook, error) {
	s := j.cfg.Train.EarlyStopping
	if s.Metric == "" {
		return nil, nil
	}
	every := hooks.Every{Secs: s.CheckEverySecs}
	if s.CheckEverySteps > 0 {
		every = hooks.Every{Steps: s.CheckEverySteps}
	}
	w := hooks.Watch{EvalDir: j.est.EvalDir(j.cfg.Eval.Name), Metric: s.Metric, HigherIsBetter: s.HigherIsBetter, MinSteps: s.MinSteps, Every: every}
	var hs []hooks.Hook
	if s.MaxStepsWithoutImprovement > 0 {
		h, err := hooks.NewStopIfNoImprovement(w, s.MaxStepsWithoutImprovement)
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	if s.Threshold != nil {
		h, err := hooks.NewStopIfBetter(w, *s.Threshold)
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	return hs, nil
}

// checkExporters checks that a dry run's evaluation has the metrics of exporters, which a dry run leaves out.
func checkExporters(list []config.Exporter, res *estimator.EvalResult) error {
	if res == nil { // another task evaluates
		return nil
	}
	for _, x := range list {
		if _, ok := res.Scalar(x.Metric); ok || x.Kind != "best" {
			continue
		}
		err := &estimator.UnknownMetricError{By: "exporter " + x.Name, Metric: x.Metric}
		for _, name := range sortedNames(res.Metrics) {
			if _, ok := res.Scalar(name); ok {
				err.Known = append(err.Known, name)
			}
		}
		return err
	}
	return nil
}

// dryRun runs one batch of everything in this process, in a temporary folder.
func (a *app) dryRun(ctx context.Context, cfg *config.Config, f trainFlags) error {
	dir, err := os.MkdirTemp("", "goestimator-fast-dev-run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	short := cfg.Local()
	short.ModelDir = dir
	short.Train.MaxSteps, short.Train.Epochs = 1, 0
	short.Eval.Steps, short.Eval.Exporters = 1, nil
	j, err := a.newJob(ctx, &short, columnSource{rows: dryRows, trains: true})
	if err != nil {
		return err
	}
	j.profile = f.profile
	defer j.est.Close()
	res, err := j.trainAndEvaluate(ctx)
	if err != nil {
		return err
	}
	if err := checkExporters(cfg.Eval.Exporters, res.Eval); err != nil {
		return err
	}
	in := short.PredictInput()
	if in.Format != "" {
		input, err := j.input(in, "predict")
		if err != nil {
			return err
		}
		for _, err := range j.est.Predict(ctx, input, estimator.Steps(1), estimator.PredictKeys(short.Predict.Keys...)) {
			if err != nil {
				return err
			}
		}
	}
	a.log.Info("fast-dev-run: one batch of " + string(models.Train) + ", eval and predict went through; nothing was kept")
	s := newSummary(j, res)
	s.modelDir = ""
	return errors.Join(a.printResult(s, f.json), blownUp(res.TrainResult))
}
