package runconfig

import (
	"cmp"
	"slices"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// SessionConfig says how one task runs its programs, like TensorFlow's ConfigProto.
type SessionConfig struct {
	// IntraOpThreads is the number of threads of one step; 0: one per core.
	IntraOpThreads int
	// InterOpThreads is the number of replicas of a process that compute at the same time, each
	// on its device; 0: all. Within a step, ops run in parallel on the threads of IntraOpThreads.
	InterOpThreads int
	// DeviceFilters names the tasks with which this one may communicate. It is not supported
	// yet and must be empty; see [RunConfig.DeviceFilters].
	DeviceFilters []string
	// Precision is float32, float64, tf32 or bf16_mixed; empty: float32.
	Precision string
	// HardPlacement makes it an error if the device does not have an op, instead of running it on the host.
	HardPlacement bool
	// CheckNumerics stops at the first NaN or infinite value.
	CheckNumerics bool
}

// Op is what a device function sees of an operation.
type Op struct {
	// Name of the node, for example dense/MatMul.
	Name string
	// Type is TensorFlow's op name, for example MatMul.
	Type string
}

// settings holds what options set. It is copied by value or cloned.
type settings struct {
	Spec
	modelDir         string
	modelDirGiven    bool
	modelDirWins     bool // ModelDir overrides TF_CONFIG's, instead of an error
	seed             int64
	seedGiven        bool
	stepsGiven       bool
	secsGiven        bool
	workerDelayGiven bool
	trainDistribute  Strategy
	evalDistribute   Strategy
	deviceFn         func(Op) string
	rpc              RPC
}

func newSettings(spec Spec) settings {
	spec.DeviceFilters = slices.Clone(spec.DeviceFilters)
	local := Strategy{Name: noStrategy}
	return settings{Spec: spec, trainDistribute: local, evalDistribute: local, rpc: DefaultRPC()}
}

// Option sets one field of a [RunConfig].
type Option func(*settings)

// ModelDir sets the folder of checkpoints and events. It must not be empty, and must be
// the same as TF_CONFIG's, if that names one.
func ModelDir(dir string) Option {
	return func(s *settings) { s.modelDir, s.modelDirGiven = dir, true }
}

// TFRandomSeed sets the seed of initial values, dropout and shuffling.
func TFRandomSeed(seed int64) Option {
	return func(s *settings) { s.seed, s.seedGiven = seed, true }
}

// SaveSummarySteps sets the steps between two summaries; 0 disables them.
func SaveSummarySteps(n int) Option { return func(s *settings) { s.SaveSummarySteps = n } }

// SaveCheckpointsSteps sets the steps between two checkpoints, and clears the seconds
// unless they are given in the same call. 0 disables checkpoints by steps.
func SaveCheckpointsSteps(n int64) Option {
	return func(s *settings) { s.SaveCheckpointsSteps, s.stepsGiven = n, true }
}

// SaveCheckpointsSecs sets the seconds between two checkpoints, and clears the steps
// unless they are given in the same call. 0 disables checkpoints by time.
func SaveCheckpointsSecs(secs float64) Option {
	return func(s *settings) { s.SaveCheckpointsSecs, s.secsGiven = secs, true }
}

// KeepCheckpointMax sets the number of newest checkpoints to keep; 0: all.
func KeepCheckpointMax(n int) Option { return func(s *settings) { s.KeepCheckpointMax = n } }

// KeepCheckpointEveryNHours keeps one checkpoint for every h hours forever; h must be > 0.
func KeepCheckpointEveryNHours(h float64) Option {
	return func(s *settings) { s.KeepCheckpointEveryNHours = h }
}

// LogStepCountSteps sets the steps between two log lines; 0 disables them.
func LogStepCountSteps(n int) Option { return func(s *settings) { s.LogStepCountSteps = n } }

// TrainDistribute sets the strategy of training.
func TrainDistribute(strategy Strategy) Option {
	return func(s *settings) { s.trainDistribute = strategy }
}

// EvalDistribute sets the strategy of evaluation. A strategy of one process, such as mirrored, applies to Evaluate, also in an
// evaluator task. With multi_worker_mirrored, all workers that train in TrainAndEvaluate evaluate, each its share. If it is not
// set, or default, Evaluate uses the strategy of training if that is one of a single process.
func EvalDistribute(strategy Strategy) Option {
	return func(s *settings) { s.evalDistribute = strategy }
}

// DeviceFn sets a function that chooses the device string of each op. It is not supported yet: fn must be nil.
func DeviceFn(fn func(Op) string) Option { return func(s *settings) { s.deviceFn = fn } }

// Connections sets how the tasks of a cluster connect to each other.
func Connections(rpc RPC) Option { return func(s *settings) { s.rpc = rpc } }

// MaxRestarts sets how often the chief may start again without a new checkpoint after it
// chose to exit; 0: any number of times.
func MaxRestarts(n int) Option { return func(s *settings) { s.MaxRestarts = n } }

// EvaluatorWaitSecs sets how long a chief that is done waits for the evaluator's last
// evaluation, so that the evaluator is not stopped in the middle. 0: not at all.
func EvaluatorWaitSecs(secs float64) Option {
	return func(s *settings) { s.EvaluatorWaitSecs = secs }
}

// JobID names the job, the same in all its tasks, by letters, digits and -_.:/ only. Tasks
// of a job with another name are refused. "": the cluster identifies the job.
func JobID(name string) Option { return func(s *settings) { s.JobID = name } }

// Protocol sets the protocol between tasks: grpc, also when empty.
func Protocol(p string) Option { return func(s *settings) { s.Protocol = p } }

// ExperimentalMaxWorkerDelaySecs limits the delay of a worker's start, even if all tasks
// are on one machine.
func ExperimentalMaxWorkerDelaySecs(secs int) Option {
	return func(s *settings) { s.ExperimentalMaxWorkerDelaySecs, s.workerDelayGiven = secs, true }
}

// SessionCreationTimeoutSecs sets how long a task waits for the others, > 0.
func SessionCreationTimeoutSecs(secs int) Option {
	return func(s *settings) { s.SessionCreationTimeoutSecs = secs }
}

// CheckpointSaveGraphDef says whether the graph is written when training starts.
func CheckpointSaveGraphDef(on bool) Option {
	return func(s *settings) { s.CheckpointSaveGraphDef = on }
}

// Session sets how a task runs its programs.
func Session(c SessionConfig) Option {
	filters := slices.Clone(c.DeviceFilters)
	return func(s *settings) {
		s.IntraOpThreads, s.InterOpThreads = c.IntraOpThreads, c.InterOpThreads
		s.DeviceFilters, s.Precision = filters, cmp.Or(c.Precision, DefaultSpec().Precision)
		s.SoftPlacement, s.CheckNumerics = !c.HardPlacement, c.CheckNumerics
	}
}

// StrictTFConfig refuses the forms of TF_CONFIG that tf.estimator refuses: no
// chief, an evaluator without a cluster, sparse clusters.
func StrictTFConfig(on bool) Option { return func(s *settings) { s.StrictTFConfig = on } }

// apply applies options to the settings. Giving one checkpoint interval clears the other;
// giving both above 0 is a violation.
func (s settings) apply(opts []Option, vs *violation.List) settings {
	s.stepsGiven, s.secsGiven = false, false
	for _, o := range opts {
		o(&s)
	}
	switch {
	case s.stepsGiven && !s.secsGiven:
		s.SaveCheckpointsSecs = 0
	case s.secsGiven && !s.stepsGiven:
		s.SaveCheckpointsSteps = 0
	}
	s.validate(vs)
	return s
}

func (s settings) validate(vs *violation.List) {
	vs.Require(s.modelDir != "" || !s.modelDirGiven, "model_dir", s.modelDir, "model_dir should be non-empty")
	s.Spec.validate(vs)
	vs.Require(s.ExperimentalMaxWorkerDelaySecs != workerDelayNotGiven || !s.workerDelayGiven, "experimental_max_worker_delay_secs", s.ExperimentalMaxWorkerDelaySecs, "expected >= 0")
	vs.Require(s.deviceFn == nil, "device_fn", "a function", "expected none: ops are placed by strategy.device, nothing asks a device function yet")
	s.trainDistribute.validate("train_distribute.", vs)
	s.validateEval(vs)
	s.rpc.validate(vs)
}
