package runconfig

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// RunConfig describes one task of a run, like tf.estimator.RunConfig: the user's
// choices, and the task's place in the cluster. It is immutable: [RunConfig.With]
// makes a copy with changes, and callers may modify what accessors return. Make it by
// [New], [FromTFConfig], [FromCluster] or [Config.RunConfig]; the zero value is not
// usable.
type RunConfig struct {
	s        settings
	tf       tfConfig
	r        role
	modelDir string
}

// New returns the configuration of this process: [FromTFConfig] with the environment
// variable TF_CONFIG.
func New(opts ...Option) (RunConfig, error) {
	return FromTFConfig(os.Getenv("TF_CONFIG"), opts...)
}

// FromTFConfig returns the configuration of the task that a TF_CONFIG describes. An
// empty text means a process without a cluster. All violations are reported together,
// as a [*ViolationsError].
//
// In addition to tf.estimator's forms it accepts TFJob's: an evaluator inside or outside
// of the cluster, "ps": null, sparse clusters, and clusters without a chief, in which
// worker 0 takes the chief's place. [StrictTFConfig] refuses these.
func FromTFConfig(text string, opts ...Option) (RunConfig, error) {
	vs := &violation.List{}
	tf := parseTFConfig(text, vs)
	return build(newSettings(DefaultSpec()), tf, opts, vs)
}

// FromCluster is FromTFConfig for a cluster that the program knows. job and index are
// this process's task in the cluster.
func FromCluster(cluster ClusterSpec, job string, index int, opts ...Option) (RunConfig, error) {
	type task struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	jobs := map[string][]string{}
	for _, job := range cluster.Jobs() {
		jobs[job] = cluster.Addresses(job)
	}
	text, err := json.Marshal(map[string]any{"cluster": jobs, "task": task{job, index}})
	if err != nil {
		return RunConfig{}, err
	}
	return FromTFConfig(string(text), opts...)
}

// With returns a copy with some fields replaced. Replacing one of the two
// checkpoint intervals clears the other.
func (c RunConfig) With(opts ...Option) (RunConfig, error) {
	return build(c.s, c.tf, opts, &violation.List{})
}

func build(s settings, tf tfConfig, opts []Option, vs *violation.List) (RunConfig, error) {
	c := RunConfig{s: s.apply(opts, vs), tf: tf}
	c.modelDir = cmp.Or(c.s.modelDir, tf.modelDir)
	if tf.modelDir != "" && c.s.modelDirGiven && !c.s.modelDirWins {
		vs.Require(c.s.modelDir == tf.modelDir, "model_dir", c.s.modelDir, "expected the model_dir of TF_CONFIG, "+violation.Quote(tf.modelDir))
	}
	// If TF_CONFIG could not be read, there is no role to check.
	if !slices.ContainsFunc(vs.Found, func(v Violation) bool { return v.Field == "TF_CONFIG" }) {
		c.r = deriveRole(tf, c.s.StrictTFConfig, vs)
	}
	if err := vs.Err(); err != nil {
		return RunConfig{}, err
	}
	return c, nil
}

// ModelDir returns the folder of checkpoints and events; empty: none given.
func (c RunConfig) ModelDir() string { return c.modelDir }

// TFRandomSeed returns the seed, and whether one was given.
func (c RunConfig) TFRandomSeed() (int64, bool) { return c.s.seed, c.s.seedGiven }

// SaveSummarySteps returns the steps between two summaries; 0: none.
func (c RunConfig) SaveSummarySteps() int { return c.s.SaveSummarySteps }

// SaveCheckpointsSteps returns the steps between two checkpoints; 0: not by steps.
func (c RunConfig) SaveCheckpointsSteps() int64 { return c.s.SaveCheckpointsSteps }

// SaveCheckpointsSecs returns the seconds between two checkpoints; 0: not by time.
func (c RunConfig) SaveCheckpointsSecs() float64 { return c.s.SaveCheckpointsSecs }

// KeepCheckpointMax returns the number of newest checkpoints to keep; 0: all.
func (c RunConfig) KeepCheckpointMax() int { return c.s.KeepCheckpointMax }

// KeepCheckpointEveryNHours returns the hours between checkpoints that are never
// deleted.
func (c RunConfig) KeepCheckpointEveryNHours() float64 { return c.s.KeepCheckpointEveryNHours }

// LogStepCountSteps returns the steps between two log lines; 0: none.
func (c RunConfig) LogStepCountSteps() int { return c.s.LogStepCountSteps }

// TrainDistribute returns the strategy of training.
func (c RunConfig) TrainDistribute() Strategy { return c.s.trainDistribute }

// EvalDistribute returns the strategy of evaluation: the one that the option of that name
// has set, or the strategy of training if it has distributed_eval.
func (c RunConfig) EvalDistribute() Strategy { return c.s.evalStrategy() }

// DeviceFn returns the function that chooses devices; nil: none.
func (c RunConfig) DeviceFn() func(Op) string { return c.s.deviceFn }

// Connections returns how tasks of the cluster connect to each other.
func (c RunConfig) Connections() RPC { return c.s.rpc }

// MaxRestarts returns how often the chief may start again without a new checkpoint after
// it chose to exit; 0: any number of times.
func (c RunConfig) MaxRestarts() int { return c.s.MaxRestarts }

// EvaluatorWaitSecs returns how long a chief that is done waits for the
// evaluator's last evaluation.
func (c RunConfig) EvaluatorWaitSecs() float64 { return c.s.EvaluatorWaitSecs }

// JobID returns the name of the job; empty: none was given.
func (c RunConfig) JobID() string { return c.s.JobID }

// Protocol returns the protocol between tasks: grpc.
func (c RunConfig) Protocol() string { return cmp.Or(c.s.Protocol, "grpc") }

// ExperimentalMaxWorkerDelaySecs returns the longest delay of a worker's start. If it was
// not set it is 60, as in tf.estimator, or 0 if all tasks of the cluster are on one
// machine.
func (c RunConfig) ExperimentalMaxWorkerDelaySecs() int {
	switch {
	case c.s.ExperimentalMaxWorkerDelaySecs != workerDelayNotGiven:
		return c.s.ExperimentalMaxWorkerDelaySecs
	case c.r.cluster.Len() > 0 && c.r.cluster.OneMachine():
		return 0
	}
	return defaultWorkerDelaySecs
}

// SessionCreationTimeoutSecs returns how long a task waits for the others.
func (c RunConfig) SessionCreationTimeoutSecs() int { return c.s.SessionCreationTimeoutSecs }

// CheckpointSaveGraphDef reports whether the graph is written when training starts.
func (c RunConfig) CheckpointSaveGraphDef() bool { return c.s.CheckpointSaveGraphDef }

// Session returns how the task runs its programs. Precision is never empty;
// DeviceFilters are as given, see [RunConfig.DeviceFilters].
func (c RunConfig) Session() SessionConfig {
	sc := c.s.session()
	sc.Precision = cmp.Or(sc.Precision, DefaultSpec().Precision)
	return sc
}

// StrictTFConfig reports whether only tf.estimator's forms of TF_CONFIG are accepted.
func (c RunConfig) StrictTFConfig() bool { return c.s.StrictTFConfig }
