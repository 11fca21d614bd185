package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Spec says which keys of the config a search varies, and how it chooses their values.
type Spec struct {
	// Metric of the last evaluation to improve. Empty: loss.
	Metric string `yaml:"metric,omitempty"`
	// Whether a higher value of the metric is better.
	HigherIsBetter bool `yaml:"higher_is_better,omitempty"`
	// How values are chosen. random: at random. grid: all combinations. tpe: ten random trials, then values that are likely in the best trials and unlikely in the others (Bergstra et al. 2011). halving: at random; the better trials continue for more steps (successive halving, Jamieson and Talwalkar 2016). hyperband: several such halvings, which begin with more or fewer steps (Li et al. 2018). All but grid first try the config's own values. Empty: random.
	Algorithm string `yaml:"algorithm,omitempty"`
	// Number of trials. 0: 20; for grid, all combinations.
	Trials int `yaml:"trials,omitempty"`
	// Number of trials that run at the same time. Each is a process with its share of the cores. 0: 1.
	Parallel int `yaml:"parallel,omitempty"`
	// halving, hyperband: the best of every this many trials continues for this many times as many steps, until the last trials reach train.max_steps. 0: 3.
	Reduction int `yaml:"reduction,omitempty"`
	// random, grid, tpe: stop a trial if its best metric so far is worse than the median of the running averages of ended trials, at least three, at the same step (Golovin et al., Google Vizier, 2017). Trials are checked at each evaluation: see eval.every_steps and run.save_checkpoints_steps.
	MedianStopping bool `yaml:"median_stopping,omitempty"`
	// Seed of the search. All trainings use the config's seed.
	Seed int64 `yaml:"seed,omitempty"`
	// The keys to vary, with their values.
	Parameters []Parameter `yaml:"parameters,omitempty"`
}

// Parameter is a key of the config and the values that it may take: a list, or a range of numbers.
type Parameter struct {
	// Key of the config, for example optimizer.learning_rate.
	Key string `yaml:"key"`
	// List of values. Each may be anything that the key takes.
	Values []any `yaml:"values,omitempty"`
	// Smallest number of a range.
	Min float64 `yaml:"min,omitempty"`
	// Largest number of a range.
	Max float64 `yaml:"max,omitempty"`
	// Use a logarithmic scale, on which all orders of magnitude are equally likely, for example for learning rates.
	Log bool `yaml:"log,omitempty"`
	// Use only whole numbers.
	Integer bool `yaml:"integer,omitempty"`
	// grid: number of values to try in a range. 0: 5.
	Points int `yaml:"points,omitempty"`
}

// Algorithms returns the known values of Spec.Algorithm.
func Algorithms() []string { return []string{"random", "grid", "tpe", "halving", "hyperband"} }

// Halves reports whether trials are trained in rounds, from fewer to more steps.
func (s Spec) Halves() bool { return s.Algorithm == "halving" || s.Algorithm == "hyperband" }

// Limits of a search.
const (
	maxTrials = 1 << 16
	maxPoints = 1 << 10
)

// completed returns the spec with its defaults.
func (s Spec) completed() Spec {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	if s.Metric == "" {
		s.Metric = "loss"
	}
	if s.Algorithm == "" {
		s.Algorithm = "random"
	}
	s.Parameters = slices.Clone(s.Parameters)
	all := 1
	for i := range s.Parameters {
		p := &s.Parameters[i]
		set(&p.Points, 5)
		all = min(all*max(1, len(p.grid())), maxTrials+1)
	}
	if s.Algorithm == "grid" && (s.Trials == 0 || s.Trials > all) {
		s.Trials = all
	}
	set(&s.Trials, 20)
	set(&s.Parallel, 1)
	set(&s.Reduction, 3)
	return s
}

// validate returns all errors in a completed spec.
func (s Spec) validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sweep."+format, args...)) }
	if !slices.Contains(Algorithms(), s.Algorithm) {
		add("algorithm: got %q, expected one of %s", s.Algorithm, strings.Join(Algorithms(), ", "))
	}
	if s.Trials < 1 || s.Trials > maxTrials {
		add("trials: got %d, expected 1 to %d", s.Trials, maxTrials)
	}
	if s.Parallel < 1 {
		add("parallel: got %d, expected at least 1", s.Parallel)
	}
	if s.Reduction < 2 {
		add("reduction: got %d, expected at least 2", s.Reduction)
	}
	if s.MedianStopping && s.Halves() {
		add("median_stopping: expected none with %s, which stops trials itself", s.Algorithm)
	}
	if len(s.Parameters) == 0 {
		add("parameters: none, expected at least one, for example {key: optimizer.learning_rate, min: 1e-4, max: 1e-1, log: true}")
	}
	for i, p := range s.Parameters {
		if s.Halves() && strings.EqualFold(p.Key, "train.max_steps") {
			add("parameters[%d]: %s sets train.max_steps itself", i, s.Algorithm)
		}
		if err := p.validate(); err != nil {
			add("parameters[%d] (%s): %w", i, p.Key, err)
		}
		if slices.ContainsFunc(s.Parameters[:i], func(q Parameter) bool { return strings.EqualFold(q.Key, p.Key) }) {
			add("parameters[%d]: %s is there twice", i, p.Key)
		}
	}
	return errors.Join(errs...)
}

func (p Parameter) validate() error {
	finite := !math.IsInf(p.Max-p.Min, 0) && !math.IsNaN(p.Max-p.Min)
	switch {
	case p.Key == "":
		return errors.New("key: expected a key of the config, got none")
	case strings.HasPrefix(strings.ToLower(p.Key), "sweep.") || strings.EqualFold(p.Key, "model_dir"):
		return errors.New("key: the sweep sets this itself")
	case p.listed() && (p.Min != 0 || p.Max != 0 || p.Log || p.Integer):
		return errors.New("expected values, or min and max, got both")
	case p.listed():
		return nil
	case !finite || p.Min >= p.Max:
		return fmt.Errorf("expected values, or min below max, got min %v and max %v", p.Min, p.Max)
	case p.Log && p.Min <= 0:
		return fmt.Errorf("log: expected min above 0, got %v", p.Min)
	case p.Integer && (p.Min != math.Trunc(p.Min) || p.Max != math.Trunc(p.Max) || math.Abs(p.Min) > 1<<53 || math.Abs(p.Max) > 1<<53):
		return fmt.Errorf("integer: expected whole numbers up to 2^53 for min and max, got %v and %v", p.Min, p.Max)
	case p.Points < 2 || p.Points > maxPoints:
		return fmt.Errorf("points: got %d, expected 2 to %d", p.Points, maxPoints)
	}
	return nil
}

func (p Parameter) listed() bool { return len(p.Values) > 0 }
