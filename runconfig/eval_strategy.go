package runconfig

import "github.com/goestimator/goestimator/runconfig/violation"

// noStrategy is the name of the strategy if none was chosen.
const noStrategy = "default"

// evalStrategy returns the strategy of evaluation: the one that was set, or the strategy of training if it has distributed_eval.
func (s settings) evalStrategy() Strategy {
	if s.evalDistribute.Name == noStrategy && s.trainDistribute.DistributedEval {
		return s.trainDistribute
	}
	return s.evalDistribute
}

// validateEval reports a strategy of evaluation that does not fit the strategy of training.
func (s settings) validateEval(vs *violation.List) {
	const lockstep = "multi_worker_mirrored"
	train, eval := s.trainDistribute, s.evalDistribute
	eval.validate("eval_distribute.", vs)
	if eval.Name == noStrategy {
		return
	}
	vs.Require(eval.Name != "parameter_server", "eval_distribute.name", eval.Name,
		"expected a strategy of one process: beside parameter servers an evaluator task evaluates, or functions on workers do (distribute.Coordinator.Evaluate)")
	vs.Require(eval.Name != lockstep || train.Name == lockstep && !train.Elastic.Enabled(), "eval_distribute.name", eval.Name,
		"which evaluates on the workers that train: expected train_distribute.name "+lockstep+", not elastic")
	vs.Require(!train.DistributedEval || eval.Name == lockstep, "eval_distribute.name", eval.Name,
		"expected "+lockstep+", or none, as train_distribute.distributed_eval is true")
}
