package distribute

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/runconfig"
)

// kind is what is known about a strategy from its name, before one is made.
type kind struct {
	make func(Config) (Strategy, error)
	// replicas returns how many replicas make one step, with that many workers; nil: one.
	replicas func(c Config, workers int) int
	lockstep bool // every task takes part in every step
	servers  bool // the variables are on parameter servers
}

// The kinds of several processes. The second is the default for a cluster with parameter servers.
const (
	multiWorkerName     = "multi_worker_mirrored"
	parameterServerName = "parameter_server"
)

// kinds are the strategies by name.
var kinds = map[string]kind{
	"":                  {make: newOneDevice},
	"default":           {make: newOneDevice},
	"one_device":        {make: newOneDevice},
	"mirrored":          {make: newMirrored, replicas: Config.devicesInSync},
	"central_storage":   {make: newCentralStorage, replicas: Config.devicesInSync},
	multiWorkerName:     {make: newMultiWorker, replicas: Config.workersInSync, lockstep: true},
	parameterServerName: {make: newParameterServer, replicas: Config.aggregated, servers: true},
	"tpu":               {make: newTPU},
}

func newTPU(Config) (Strategy, error) {
	return nil, errors.New("strategy tpu: no TPU runtime is present: choose default")
}

func (c Config) devicesInSync(int) int         { return c.localReplicas() }
func (c Config) workersInSync(workers int) int { return workers * c.localReplicas() }

// aggregated returns how many replicas make one step with that many workers: the replicas of one worker, or of all
// workers whose gradients are aggregated.
func (c Config) aggregated(workers int) int {
	switch {
	case !c.Sync:
		workers = 1
	case c.ReplicasToAggregate > 0:
		workers = c.ReplicasToAggregate
	}
	return workers * c.localReplicas()
}

// ReplicasInSync returns how many replicas, at least 1, make one step with that many workers.
func (c Config) ReplicasInSync(workers int) int {
	if n := kinds[c.Name].replicas; n != nil {
		return n(c, workers)
	}
	return 1
}

// Lockstep reports whether all workers take part in every step.
func (c Config) Lockstep() bool { return kinds[c.Name].lockstep }

// Inference returns the config of evaluation and prediction in this process: own, if it names a strategy; else training's
// local replicas or, if the variables are on parameter servers, one device.
func (c Config) Inference(own runconfig.Strategy) Config {
	c.Job = nil
	if own.Name != "" && own.Name != "default" {
		c.Strategy = own
	}
	if kinds[c.Name].servers {
		c.Strategy = runconfig.Strategy{Name: "default", Device: c.Device}
	}
	return c
}

// InCluster returns the strategy for a cluster with these numbers of workers and
// parameter servers. As in tf.estimator, parameter servers are used if there are any and
// nothing else was chosen. A strategy of a single process is a mistake.
func (c Config) InCluster(workers, servers int) (runconfig.Strategy, error) {
	k, s := kinds[c.Name], c.Strategy
	var err error
	switch {
	case k.servers && servers == 0:
		err = errors.New("strategy parameter_server: the cluster has no ps task: add one, or choose multi_worker_mirrored")
	case k.lockstep && servers > 0:
		err = fmt.Errorf("strategy multi_worker_mirrored: the cluster has %d ps tasks, which it has no use for: leave them out, or choose parameter_server", servers)
	case c.Elastic.Enabled():
		err = c.Elastic.InCluster(workers)
	case k.servers || k.lockstep:
	case (c.Name == "" || c.Name == "default") && servers > 0:
		s.Name = parameterServerName
	default:
		err = fmt.Errorf("strategy %s trains in one process, but the cluster has %d tasks that train: choose multi_worker_mirrored, or parameter_server and ps tasks", c.Name, workers)
	}
	return s, runconfig.Mistake(err)
}
