package runconfig

import (
	"maps"
	"strconv"
)

// ClusterSpec returns the cluster; it is empty for a local process and for an
// evaluator.
func (c RunConfig) ClusterSpec() ClusterSpec { return c.r.cluster }

// TaskType returns chief, master, worker, ps or evaluator (or another job of the
// cluster); a local process is a worker.
func (c RunConfig) TaskType() string { return c.r.taskType }

// TaskID returns the task's index in its job.
func (c RunConfig) TaskID() int { return c.r.taskID }

// Master returns the address of the session's server: empty for an in-process server,
// else session_master of TF_CONFIG, or grpc:// and the task's own address.
func (c RunConfig) Master() string { return c.r.master }

// EvaluationMaster returns eval_session_master of TF_CONFIG.
func (c RunConfig) EvaluationMaster() string { return c.r.evalMaster }

// IsChief reports whether this task writes checkpoints: the chief, the legacy
// master, a local process, or worker 0 of a cluster without a chief.
func (c RunConfig) IsChief() bool { return c.r.isChief }

// NumPS returns the number of parameter servers; 0 for an evaluator.
func (c RunConfig) NumPS() int { return c.r.numPS }

// NumWorkers returns the number of tasks that train, including the chief; 0 for an
// evaluator. In a sparse cluster only this task and the listed ones count.
func (c RunConfig) NumWorkers() int { return c.r.numWorkers }

// GlobalID returns the task's number in the cluster: 0 for the chief, then the other
// jobs in alphabetical order, parameter servers last. ok is false for an evaluator and
// in a sparse cluster. To share data use [RunConfig.WorkerRank] instead: with TFJob,
// GlobalID counts evaluators.
func (c RunConfig) GlobalID() (id int, ok bool) { return max(c.r.globalID, 0), c.r.globalID >= 0 }

// WorkerRank returns the task's number among the tasks that train: 0 for the chief and
// i+1 for worker i or, without a chief, i for worker i. It is -1 for a task that does
// not train.
func (c RunConfig) WorkerRank() int { return c.r.workerRank }

// DeviceFilters returns the tasks with which a task of this type may communicate in tf.estimator; nil: all.
func (c RunConfig) DeviceFilters() []string {
	if c.r.cluster.Len() == 0 {
		return nil
	}
	switch c.r.taskType {
	case Master, Chief:
		return []string{"/job:ps", "/job:" + c.r.taskType}
	case Worker:
		return []string{"/job:ps", "/job:worker/task:" + strconv.Itoa(c.r.taskID)}
	case PS:
		return []string{"/job:ps", "/job:worker", "/job:chief", "/job:master"}
	}
	return nil
}

// Service returns the service entry of TF_CONFIG; nil: none.
func (c RunConfig) Service() map[string]any { return maps.Clone(c.tf.service) }

// Environment returns the environment of TF_CONFIG, by default cloud. With google no
// in-process server is started.
func (c RunConfig) Environment() string { return c.tf.environment }

// RPCLayer returns the scheme of addresses: grpc, or "" if TF_CONFIG says
// "rpc_layer": null.
func (c RunConfig) RPCLayer() string { return c.tf.rpcLayer }
