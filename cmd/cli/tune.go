package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/spf13/cobra"
)

// rateFlags are the flags of tune lr.
type rateFlags struct {
	configFlags
	low, high float64
	steps     int64
	html      string
}

// batchFlags are the flags of tune batch.
type batchFlags struct {
	configFlags
	low, high int
	steps     int64
	html      string
}

func (a *app) tuneCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tune lr|batch",
		Short: "find a learning rate or a batch size for a config",
		Args:  onlyCommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tuneRateCommand(), a.tuneBatchCommand())
	return cmd
}

func (a *app) tuneRateCommand() *cobra.Command {
	var f rateFlags
	cmd := &cobra.Command{
		Use:   "lr --config FILE",
		Short: "find a learning rate: the rate grows while the loss is watched",
		Long: `Trains for some steps while the learning rate grows exponentially (Smith's range
test), until the loss blows up, and suggests the rate at which the smoothed loss
falls fastest. A schedule or a warm-up of the config does not apply meanwhile, and
its model_dir is not touched.`,
		Example: `  goestimator tune lr --config configs/iris.yaml --set data_dir=data/iris
  goestimator tune lr --config configs/fashion_mnist.yaml --steps 200 --html rate.html`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.tuneRate(cmd.Context(), cfg, f)
		},
	}
	f.add(cmd)
	cmd.Flags().Float64Var(&f.low, "min", 1e-6, "first rate")
	cmd.Flags().Float64Var(&f.high, "max", 10, "last rate")
	cmd.Flags().Int64Var(&f.steps, "steps", 100, "number of steps")
	cmd.Flags().StringVar(&f.html, "html", "", "file of an HTML page with the plot")
	completeFiles(cmd, "html", "html")
	return cmd
}

func (a *app) tuneBatchCommand() *cobra.Command {
	var f batchFlags
	cmd := &cobra.Command{
		Use:   "batch --config FILE",
		Short: "find a batch size: it doubles while examples per second grow",
		Long: `Trains some steps with batches of a size that doubles until twice the size no
longer makes more than 5 % more examples per second, or the next size would not
fit into memory, and suggests the largest size that did. Numbers depend on the
machine and on what else runs there. model_dir is not touched.`,
		Example: `  goestimator tune batch --config configs/iris.yaml --set data_dir=data/iris --max 1024 --html batch.html`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.tuneBatch(cmd.Context(), cfg, f)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.low, "min", 8, "first batch size")
	cmd.Flags().IntVar(&f.high, "max", 1<<16, "last batch size")
	cmd.Flags().Int64Var(&f.steps, "steps", 20, "least number of steps that are timed, for at least half a second, after as many that are not")
	cmd.Flags().StringVar(&f.html, "html", "", "file of an HTML page with the plot")
	completeFiles(cmd, "html", "html")
	return cmd
}

// trainBriefly trains a copy of a config for some steps with a hook, in a temporary folder.
func (a *app) trainBriefly(ctx context.Context, cfg config.Config, steps int64, hook hooks.Hook) (err error) {
	dir, err := os.MkdirTemp("", "goestimator-tune-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg.ModelDir = dir
	cfg.Train.Epochs, cfg.Train.MaxSteps = 0, steps
	cfg.Run.SaveCheckpointsSteps, cfg.Run.SaveCheckpointsSecs = 0, 0
	cfg.Run.SaveSummarySteps, cfg.Run.LogStepCountSteps = 0, 0
	if !a.inputs.Has(cfg.Train.Input.Format) {
		cfg.Train.Input.Repeat = true
	}
	j, err := a.newJob(ctx, &cfg, columnSource{trains: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.est.Close()) }()
	in, err := j.trainInput(cfg.Train.Input)
	if err != nil {
		return err
	}
	nan := hooks.NewNaN("loss")
	nan.FailOnNaN = false
	_, err = j.est.Train(ctx, in, estimator.MaxSteps(steps), estimator.WithHooks(nan, hook))
	return err
}

// alone is the config for a cluster of only this process, which tune requires.
func alone(cfg *config.Config) (config.Config, error) {
	rc, err := cfg.RunConfig()
	if err != nil {
		return config.Config{}, usage(err)
	}
	if rc.ClusterSpec().Len() > 1 {
		return config.Config{}, usage(errors.New("tune runs on one machine: unset TF_CONFIG"))
	}
	return cfg.Local(), nil
}

// setRate gives a config a learning rate that grows by a constant factor each step, and returns the key of the rate.
func setRate(cfg *config.Config, low, high float64, steps int64) (key string, err error) {
	rate := optimizers.LearningRateSpec{Schedule: "exponential", Initial: low, DecaySteps: max(1, steps-1), DecayRate: high / low}
	if !slices.Contains(canned.Names(), cfg.Model.Name) {
		cfg.Optimizer.LearningRate = rate
		return "optimizer.learning_rate", nil
	}
	name := "optimizer"
	if strings.HasPrefix(cfg.Model.Name, "dnn_linear_combined") {
		name = "dnn_optimizer"
	}
	key = "model.params." + name + ".learning_rate"
	own := map[string]any{}
	switch o := cfg.Model.Params[name].(type) {
	case map[string]any:
		for k, v := range o {
			own[k] = v
		}
	case string:
		own["name"] = o
	default:
		return key, fmt.Errorf("%s: model %s has no model.params.%s: set it, for example to {name: Adam}", key, cfg.Model.Name, name)
	}
	own["learning_rate"] = map[string]any{"schedule": rate.Schedule, "initial": low, "decay_steps": int(rate.DecaySteps), "decay_rate": rate.DecayRate}
	params := map[string]any{}
	for k, v := range cfg.Model.Params {
		params[k] = v
	}
	params[name] = own
	cfg.Model.Params = params
	return key, nil
}

// positive reports whether x is a finite number above 0.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
