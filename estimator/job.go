package estimator

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// localStrategy is one device of this process.
func (e *Estimator) localStrategy() distribute.Config {
	c := e.strategy
	c.Strategy = runconfig.Strategy{Name: "default", Device: e.strategy.Device}
	return c
}

// inferenceStrategy is the strategy of evaluation and prediction in this process: RunConfig's eval_distribute, or the
// strategy of training with its local replicas.
func (e *Estimator) inferenceStrategy(mode models.Mode) distribute.Config {
	var own runconfig.Strategy
	if mode == models.Eval {
		own = e.config.EvalDistribute()
	}
	return e.strategy.Inference(own)
}

// distributed reports whether several tasks train together.
func (e *Estimator) distributed() bool { return e.config.NumWorkers() > 1 || e.config.NumPS() > 0 }

// elastic reports whether workers may leave and join while the others train on.
func (e *Estimator) elastic() bool { return e.strategy.Elastic.Enabled() && e.config.NumWorkers() > 1 }

// place says whether a task of an elastic job is the chief, since any worker may become it.
type place int

const (
	asConfigured place = iota
	chiefsPlace
	workersPlace
)

// isChief reports whether this task restores and saves.
func (e *Estimator) isChief() bool {
	if e.place != asConfigured {
		return e.place == chiefsPlace
	}
	return e.config.IsChief()
}

// inputRank is the rank under which this task's input position is saved: all workers of an elastic job read the same input.
func (e *Estimator) inputRank() int {
	if e.elastic() {
		return 0
	}
	return e.rank()
}

// rank is this task's number among the tasks that train.
func (e *Estimator) rank() int { return max(e.config.WorkerRank(), 0) }

// joinJob returns the strategy that this task trains with. In a cluster it also makes
// the task a member of the job, which trains to maxSteps, until leave is called.
func (e *Estimator) joinJob(maxSteps int64) (config distribute.Config, leave func() error, err error) {
	config, leave = e.strategy, func() error { return nil }
	if err := fpConnect.Here(); err != nil {
		return config, leave, err
	}
	if !e.distributed() {
		if !e.config.IsChief() {
			return config, leave, mistakef("task %s/%d is not the chief and knows of no other task: expected ps tasks in the cluster, or all its workers",
				e.config.TaskType(), e.config.TaskID())
		}
		return config, leave, nil
	}
	if config.Strategy, err = e.strategy.InCluster(e.config.NumWorkers(), e.config.NumPS()); err != nil {
		return config, leave, err
	}
	if _, seeded := e.config.TFRandomSeed(); e.elastic() && !seeded {
		return config, leave, mistakef("strategy.elastic: no seed is set, by which all workers read the same batches: set seed, or tf_random_seed of the RunConfig")
	}
	config.Job, err = distribute.Join(e.config, e.log)
	if err != nil {
		return config, leave, err
	}
	if e.place = asConfigured; e.elastic() && e.config.IsChief() && !config.Job.FindLeader(context.Background()) {
		e.log.Info("another worker has taken the chief's place: this task trains as a worker")
		e.place = workersPlace
	}
	config.Sessions, config.Ends = distribute.SessionFile{Dir: e.modelDir}, e.ends(maxSteps)
	return config, config.Job.Close, nil
}

// mistakef returns the error of an invalid cluster or strategy.
func mistakef(format string, args ...any) error {
	return runconfig.Mistake(fmt.Errorf(format, args...))
}
