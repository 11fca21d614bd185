package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/search"
	"github.com/spf13/cobra"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	configFlags
	dir, html string
}

func (a *app) sweepCommand() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep --config FILE",
		Short: "train with many values of some keys and find the best",
		Long: `Trains a config again and again, each time with other values of the keys that
its section sweep names, and compares the last evaluations. Each trial is a
process of its own, with a model_dir and a log in the folder of the sweep:

  trials/0007       model_dir of trial 7; what it says is in trials/0007.log
  sweep.jsonl       what has begun and ended: the same command goes on there
  best.yaml         the config of the best trial, ready to train, export or serve

Ctrl-C interrupts the trials after a checkpoint. A trial that fails does not end
the sweep, unless the first three do.`,
		Example: `  goestimator sweep --config configs/iris.yaml --set sweep.trials=20 --set sweep.algorithm=tpe --set 'sweep.parameters=[{key: optimizer.learning_rate, min: 1e-4, max: 1, log: true}]'`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return a.sweep(cmd.Context(), cfg, f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder of the sweep (default: the config's model_dir and _sweep)")
	cmd.Flags().StringVar(&f.html, "html", "", "file of an HTML page: table, parallel coordinates, importance, the best so far")
	completeFolders(cmd, "dir")
	completeFiles(cmd, "html", "html")
	return cmd
}

func (a *app) sweep(ctx context.Context, cfg *config.Config, f sweepFlags) error {
	if err := checkFolder("--html", f.html); err != nil {
		return err
	}
	if f.dir == "" {
		f.dir = cfg.ModelDir + "_sweep"
	}
	s, err := search.New(cfg.Sweep, cfg.Train.MaxSteps)
	if err == nil {
		err = checkSweep(cfg, f)
	}
	if err == nil {
		err = checkParameters(s.Spec(), f)
	}
	if err != nil {
		return usage(err)
	}
	identity, err := sweepIdentity(*cfg)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(f.dir, "trials"), 0o777); err != nil {
		return fmt.Errorf("the folder of the sweep: %w", err)
	}
	journal, results, begun, err := search.OpenJournal(filepath.Join(f.dir, "sweep.jsonl"), identity)
	if errors.Is(err, search.ErrOther) {
		return usage(fmt.Errorf("%w: its config is another one: name another folder by --dir, or delete this one", err))
	}
	if err != nil {
		return err
	}
	defer journal.Close()
	own, err := ownValues(cfg, s.Spec())
	if err != nil {
		return err
	}
	s.Begin(own)
	s.Resume(results, begun)
	if len(results) > 0 {
		a.log.Info("the sweep goes on", "dir", f.dir, "ended", len(results))
	}
	t := &trials{app: a, search: s, journal: journal, watch: s.Spec().MedianStopping, args: f.trainArgs, most: hopeless,
		log: func(t search.Trial) string { return f.trialDir(t) + ".log" }, read: func(r *search.Result, sum jsonSummary) error { return readMetric(s.Spec().Metric, r, sum) }}
	if err := t.run(ctx); err != nil {
		return err
	}
	return a.sweepResult(cfg, s, f)
}

// checkSweep fails for a config or flags that no trial can run with.
func checkSweep(cfg *config.Config, f sweepFlags) error {
	rc, err := cfg.RunConfig()
	switch {
	case err != nil:
		return err
	case rc.ClusterSpec().Len() > 1:
		return errors.New("sweep runs on one machine: unset TF_CONFIG")
	case cfg.Eval.Input.Format == "":
		return errors.New("eval.input.format is not set: trials are compared by their evaluations")
	case f.dir == "_sweep":
		return errors.New("no model_dir and no --dir: say where the sweep is to be kept")
	}
	return nil
}

// checkParameters loads the config with each value of a list, and with both ends of each range.
func checkParameters(s search.Spec, f sweepFlags) error {
	for _, p := range s.Parameters {
		for _, v := range p.Ends() {
			one := search.Trial{Values: map[string]any{p.Key: v}}
			if _, err := config.Load(config.LoadOptions{Path: f.path, Sets: append(f.sets[:len(f.sets):len(f.sets)], one.Sets()...)}); err != nil {
				return fmt.Errorf("sweep.parameters, %s: %w", p.Key, err)
			}
		}
	}
	return nil
}

// sweepIdentity identifies a sweep by its config, except for the number of trials and how many run at a time.
func sweepIdentity(cfg config.Config) (string, error) {
	cfg.Sweep.Parallel, cfg.ModelDir, cfg.Run.JobID = 0, "", ""
	if !cfg.Sweep.Halves() { // the rounds of a halving depend on the number of trials
		cfg.Sweep.Trials = 0
	}
	b, err := cfg.Marshal()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// hopeless is the number of failed trials, without a successful one, that ends the sweep.
const hopeless = 3

// trialDir is the model_dir of a trial.
func (f sweepFlags) trialDir(t search.Trial) string {
	return filepath.Join(f.dir, "trials", fmt.Sprintf("%04d", t.Number))
}

// trainArgs are the arguments of the command train for a trial.
func (f sweepFlags) trainArgs(t search.Trial) []string {
	sets := append(f.sets[:len(f.sets):len(f.sets)], t.Sets()...)
	sets = append(sets, "model_dir="+f.trialDir(t))
	if t.Steps > 0 {
		sets = append(sets, fmt.Sprintf("train.max_steps=%d", t.Steps))
	}
	args := []string{"--config", f.path}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	return args
}

// readMetric takes the metric of a sweep from the output of train.
func readMetric(metric string, r *search.Result, s jsonSummary) error {
	r.Metrics = s.numbers()
	v, ok := s.Metrics[metric]
	if !ok {
		return usage(fmt.Errorf("sweep.metric: no metric %s in the evaluation: expected one of %s", metric, strings.Join(sortedNames(s.Metrics), ", ")))
	}
	if x, ok := v.(float64); ok {
		r.Value = &x
		return nil
	}
	r.Error = fmt.Sprintf("%s is %v", metric, cmp.Or(s.NotFinite["metrics."+metric], "no number"))
	return nil
}
