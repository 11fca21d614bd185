package runconfig

import (
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// Strategy says how training is distributed: where variables are kept, and how gradients are combined.
type Strategy struct {
	// The strategy: default, one_device, mirrored, central_storage, multi_worker_mirrored, parameter_server or tpu.
	Name string `yaml:"name"`
	// Device on which this process computes: /gpu:N or /cpu:0. Empty: its GPUs if there are any, otherwise /cpu:0. default and one_device use the first GPU, the others all visible GPUs. Several workers on a machine divide its GPUs (see docs/gpu.md).
	Device string `yaml:"device,omitempty"`
	// Number of replicas in this process, for mirrored, central_storage, and each worker of multi_worker_mirrored and parameter_server. Each replica takes a batch of its own in every step. 0: one per GPU, or one if there is none. More replicas than GPUs are an error, unless device names a device for all of them; without GPUs they share the host.
	Replicas int `yaml:"replicas,omitempty"`
	// multi_worker_mirrored: number of bytes of gradients to reduce in one message. 0: the default, 4 MiB.
	BytesPerPack int `yaml:"bytes_per_pack,omitempty"`
	// parameter_server: train synchronously: each update applies the mean of the workers' gradients. false: each gradient is applied when it arrives.
	Sync bool `yaml:"sync,omitempty"`
	// parameter_server, synchronous: number of gradients per update. The other workers are backups. 0: one gradient per worker.
	ReplicasToAggregate int `yaml:"replicas_to_aggregate,omitempty"`
	// parameter_server, asynchronous: drop gradients that are more than this many updates behind. 0: drop none.
	StalenessBound int64 `yaml:"staleness_bound,omitempty"`
	// parameter_server: type in which values and gradients are sent: float32, bfloat16 or float16. Variables keep their type.
	Transfer string `yaml:"transfer,omitempty"`
	// parameter_server: how variables are split.
	Partitioner Partitioner `yaml:"partitioner,omitempty"`
	// parameter_server: how variables and their parts are placed on the servers. by_size: the largest first, each on the server with the fewest bytes so far. round_robin: in the order in which the model creates them, as in TensorFlow. Empty: by_size.
	Placement string `yaml:"placement,omitempty"`
	// multi_worker_mirrored: evaluate on all workers, each on its share of the data, instead of in the evaluator task.
	DistributedEval bool `yaml:"distributed_eval,omitempty"`
	// multi_worker_mirrored: workers may leave and join while the others continue to train.
	Elastic Elastic `yaml:"elastic,omitempty"`
}

// The values of Strategy.Placement.
const (
	BySize     = "by_size"
	RoundRobin = "round_robin"
)

// strategies are the names of all strategies.
var strategies = []string{"default", "one_device", "mirrored", "central_storage", "multi_worker_mirrored", "parameter_server", "tpu"}

// validate reports an unknown name, and fields that the named strategy does not have
// or cannot use. It prepends prefix to their names.
func (s Strategy) validate(prefix string, vs *violation.List) {
	vs.OneOf(prefix+"name", s.Name, strategies...)
	s.validateOwners(prefix, vs)
	vs.Require(s.Replicas >= 0 && s.Replicas <= 1024, prefix+"replicas", s.Replicas, "expected 0 to 1024")
	vs.Require(s.BytesPerPack >= 0, prefix+"bytes_per_pack", s.BytesPerPack, "expected >= 0")
	vs.Require(s.ReplicasToAggregate >= 0, prefix+"replicas_to_aggregate", s.ReplicasToAggregate, "expected >= 0")
	vs.Require(s.StalenessBound >= 0, prefix+"staleness_bound", s.StalenessBound, "expected >= 0")
	vs.Require(s.Sync || s.ReplicasToAggregate == 0, prefix+"replicas_to_aggregate", s.ReplicasToAggregate, "which only strategy.sync: true has")
	vs.Require(!s.Sync || s.StalenessBound == 0, prefix+"staleness_bound", s.StalenessBound, "which only strategy.sync: false has")
	if s.Transfer != "" {
		vs.OneOf(prefix+"transfer", s.Transfer, "float32", "bfloat16", "float16")
	}
	s.Partitioner.validate(prefix+"partitioner.", vs)
	if s.Placement != "" {
		vs.OneOf(prefix+"placement", s.Placement, BySize, RoundRobin)
	}
	s.Elastic.validate(prefix+"elastic.", vs)
	vs.Require(s.Replicas <= 1 || !s.Elastic.Enabled(), prefix+"replicas", s.Replicas, "expected 1: workers of strategy.elastic have one replica")
	vs.Require(!s.DistributedEval || !s.Elastic.Enabled(), prefix+"distributed_eval", s.DistributedEval, "which strategy.elastic does not have: leave the evaluation to an evaluator task")
}

// validateOwners reports fields of other strategies.
func (s Strategy) validateOwners(prefix string, vs *violation.List) {
	only := func(given bool, field string, value any, names ...string) {
		ok := !given
		for _, n := range names {
			ok = ok || s.Name == n
		}
		text := "which only strategy.name " + names[0] + " has"
		if last := len(names) - 1; last > 0 {
			text = "which only strategy.name " + strings.Join(names[:last], ", ") + " and " + names[last] + " have"
		}
		vs.Require(ok, prefix+field, value, text)
	}
	const ps = "parameter_server"
	only(s.Replicas != 0, "replicas", s.Replicas, "mirrored", "central_storage", "multi_worker_mirrored", ps)
	only(s.BytesPerPack != 0, "bytes_per_pack", s.BytesPerPack, "multi_worker_mirrored")
	only(s.DistributedEval, "distributed_eval", s.DistributedEval, "multi_worker_mirrored")
	only(s.Elastic != Elastic{}, "elastic.min", s.Elastic.Min, "multi_worker_mirrored")
	only(s.Sync, "sync", s.Sync, ps)
	only(s.ReplicasToAggregate != 0, "replicas_to_aggregate", s.ReplicasToAggregate, ps)
	only(s.StalenessBound != 0, "staleness_bound", s.StalenessBound, ps)
	only(s.Transfer != "", "transfer", s.Transfer, ps)
	only(s.Partitioner.set(), "partitioner.kind", s.Partitioner.Kind, ps)
	only(s.Placement != "", "placement", s.Placement, ps)
}
