package estimator

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/runconfig"
)

// localStrategy is the strategy of evaluation and prediction: one device of this process.
func (e *Estimator) localStrategy() distribute.Config {
	return distribute.Config{Strategy: runconfig.Strategy{Name: "default"}, Threads: e.strategy.Threads, CheckNumerics: e.strategy.CheckNumerics}
}

// joinJob returns the strategy that this task trains with and, in a cluster,
// makes it a member of the job until leave is called.
func (e *Estimator) joinJob(context.Context) (config distribute.Config, leave func() error, err error) {
	if e.config.NumWorkers() > 1 || e.config.NumPS() > 0 || !e.config.IsChief() {
		return e.strategy, nil, fmt.Errorf("task %s/%d of a cluster: distributed training needs a strategy that this build does not have: unset TF_CONFIG to train in one process",
			e.config.TaskType(), e.config.TaskID())
	}
	return e.strategy, func() error { return nil }, nil
}
