package runconfig

import (
	"regexp"
	"slices"
)

// SessionConfig says how one task runs its programs; it takes the place of
// TensorFlow's ConfigProto.
type SessionConfig struct {
	// IntraOpThreads is the number of threads of one step; 0: one per core.
	IntraOpThreads int
	// DeviceFilters names the tasks that this one may talk to; nil: by the
	// task's type, see [RunConfig.DeviceFilters].
	DeviceFilters []string
	// Precision is float32, float64, tf32 or bf16_mixed; empty: float32.
	Precision string
	// HardPlacement refuses to run an op on the host that its device does not have.
	HardPlacement bool
	// CheckNumerics stops at the first NaN or infinite value.
	CheckNumerics bool
	// BLAS is go or openblas; empty: go.
	BLAS string
}

// Op is what a device function sees of an operation.
type Op struct {
	// Name of the node, for example dense/MatMul.
	Name string
	// Type is TensorFlow's op name, for example MatMul.
	Type string
}

// settings holds what options set; all of it is copied by value or cloned.
type settings struct {
	modelDir             string
	modelDirGiven        bool
	modelDirWins         bool // over TF_CONFIG's, instead of an error
	seed                 int64
	seedGiven            bool
	saveSummarySteps     int
	saveCheckpointsSteps int64
	saveCheckpointsSecs  float64
	stepsGiven           bool
	secsGiven            bool
	session              SessionConfig
	keepCheckpointMax    int
	keepEveryNHours      float64
	logStepCountSteps    int
	trainDistribute      Strategy
	evalDistribute       Strategy
	deviceFn             func(Op) string
	jobID                string
	protocol             string
	maxWorkerDelaySecs   int
	workerDelayGiven     bool
	sessionTimeoutSecs   int
	saveGraphDef         bool
	strict               bool
	rpc                  RPC
	maxRestarts          int
	evaluatorWaitSecs    float64
}

func defaultSettings() settings {
	run := defaultRun()
	return settings{
		saveSummarySteps:    run.SaveSummarySteps,
		saveCheckpointsSecs: run.SaveCheckpointsSecs,
		keepCheckpointMax:   run.KeepCheckpointMax,
		keepEveryNHours:     run.KeepCheckpointEveryNHours,
		logStepCountSteps:   run.LogStepCountSteps,
		trainDistribute:     Strategy{Name: "default"},
		evalDistribute:      Strategy{Name: "default"},
		maxWorkerDelaySecs:  defaultWorkerDelaySecs,
		sessionTimeoutSecs:  run.SessionCreationTimeoutSecs,
		saveGraphDef:        run.CheckpointSaveGraphDef,
		rpc:                 defaultRPC(),
		maxRestarts:         run.MaxRestarts,
	}
}

// Option sets one field of a [RunConfig].
type Option func(*settings)

// ModelDir sets the folder of checkpoints and events. It must not be empty, and
// must be that of TF_CONFIG where that names one.
func ModelDir(dir string) Option {
	return func(s *settings) { s.modelDir, s.modelDirGiven = dir, true }
}

// TFRandomSeed sets the seed of initial values, dropout and shuffling.
func TFRandomSeed(seed int64) Option {
	return func(s *settings) { s.seed, s.seedGiven = seed, true }
}

// SaveSummarySteps sets the steps between two summaries; 0 disables them.
func SaveSummarySteps(n int) Option { return func(s *settings) { s.saveSummarySteps = n } }

// SaveCheckpointsSteps sets the steps between two checkpoints, and clears the
// seconds unless they are given in the same call. 0 disables.
func SaveCheckpointsSteps(n int64) Option {
	return func(s *settings) { s.saveCheckpointsSteps, s.stepsGiven = n, true }
}

// SaveCheckpointsSecs sets the seconds between two checkpoints, and clears the
// steps unless they are given in the same call. 0 disables.
func SaveCheckpointsSecs(secs float64) Option {
	return func(s *settings) { s.saveCheckpointsSecs, s.secsGiven = secs, true }
}

// KeepCheckpointMax sets how many of the newest checkpoints are kept; 0: all.
func KeepCheckpointMax(n int) Option { return func(s *settings) { s.keepCheckpointMax = n } }

// KeepCheckpointEveryNHours keeps one checkpoint for ever every so many hours, > 0.
func KeepCheckpointEveryNHours(h float64) Option { return func(s *settings) { s.keepEveryNHours = h } }

// LogStepCountSteps sets the steps between two log lines; 0 disables them.
func LogStepCountSteps(n int) Option { return func(s *settings) { s.logStepCountSteps = n } }

// TrainDistribute sets the strategy of training.
func TrainDistribute(strategy Strategy) Option {
	return func(s *settings) { s.trainDistribute = strategy }
}

// EvalDistribute sets the strategy of evaluation.
func EvalDistribute(strategy Strategy) Option {
	return func(s *settings) { s.evalDistribute = strategy }
}

// DeviceFn sets a function that chooses the device string of each op; nil: none.
func DeviceFn(fn func(Op) string) Option { return func(s *settings) { s.deviceFn = fn } }

// Connections sets how tasks of a cluster connect to each other.
func Connections(rpc RPC) Option { return func(s *settings) { s.rpc = rpc } }

// MaxRestarts sets how often the chief may start again without a new checkpoint
// after exits that it chose; 0: any number of times.
func MaxRestarts(n int) Option { return func(s *settings) { s.maxRestarts = n } }

// EvaluatorWaitSecs sets how long a chief that is done waits for the evaluator's
// last evaluation, so that it is not ended in the middle of it. 0: not at all.
func EvaluatorWaitSecs(secs float64) Option {
	return func(s *settings) { s.evaluatorWaitSecs = secs }
}

// JobID names the job, the same in all its tasks, of letters, digits and -_.:/ alone.
// Tasks of jobs of other names are refused; "": tasks know each other by their cluster.
func JobID(name string) Option { return func(s *settings) { s.jobID = name } }

// Protocol sets the protocol between tasks: grpc, also when empty.
func Protocol(p string) Option { return func(s *settings) { s.protocol = p } }

// defaultWorkerDelaySecs is tf.estimator's.
const defaultWorkerDelaySecs = 60

// ExperimentalMaxWorkerDelaySecs bounds by how much a worker delays its start,
// also where all tasks are on one machine.
func ExperimentalMaxWorkerDelaySecs(secs int) Option {
	return func(s *settings) { s.maxWorkerDelaySecs, s.workerDelayGiven = secs, true }
}

// SessionCreationTimeoutSecs sets how long a task waits for the others, > 0.
func SessionCreationTimeoutSecs(secs int) Option {
	return func(s *settings) { s.sessionTimeoutSecs = secs }
}

// CheckpointSaveGraphDef says whether the graph is written when training starts.
func CheckpointSaveGraphDef(on bool) Option { return func(s *settings) { s.saveGraphDef = on } }

// Session sets how a task runs its programs.
func Session(c SessionConfig) Option {
	c.DeviceFilters = slices.Clone(c.DeviceFilters)
	return func(s *settings) { s.session = c }
}

// StrictTFConfig refuses the forms of TF_CONFIG that tf.estimator refuses: no
// chief, an evaluator without a cluster, sparse clusters.
func StrictTFConfig(on bool) Option { return func(s *settings) { s.strict = on } }

// apply lays options over the settings; giving one checkpoint interval clears
// the other, giving both above 0 is a violation.
func (s settings) apply(opts []Option, vs *violations) settings {
	s.stepsGiven, s.secsGiven = false, false
	for _, o := range opts {
		o(&s)
	}
	switch {
	case s.stepsGiven && !s.secsGiven:
		s.saveCheckpointsSecs = 0
	case s.secsGiven && !s.stepsGiven:
		s.saveCheckpointsSteps = 0
	}
	s.validate(vs)
	return s
}

// jobIDs are names of jobs, and none.
var jobIDs = regexp.MustCompile(`^[-_.:/a-zA-Z0-9]{0,128}$`)

func (s settings) validate(vs *violations) {
	vs.require(s.modelDir != "" || !s.modelDirGiven, "model_dir", s.modelDir, "model_dir should be non-empty")
	vs.require(s.saveSummarySteps >= 0, "save_summary_steps", s.saveSummarySteps, "expected >= 0")
	vs.require(s.saveCheckpointsSteps >= 0, "save_checkpoints_steps", s.saveCheckpointsSteps, "expected >= 0")
	vs.require(s.saveCheckpointsSecs >= 0, "save_checkpoints_secs", s.saveCheckpointsSecs, "expected >= 0")
	vs.require(s.saveCheckpointsSteps <= 0 || s.saveCheckpointsSecs <= 0, "save_checkpoints_secs", s.saveCheckpointsSecs,
		"save_checkpoints_steps and save_checkpoints_secs cannot be both set; set one of them to 0")
	vs.require(s.keepCheckpointMax >= 0, "keep_checkpoint_max", s.keepCheckpointMax, "expected >= 0")
	vs.require(s.keepEveryNHours > 0, "keep_checkpoint_every_n_hours", s.keepEveryNHours, "expected > 0")
	vs.require(s.logStepCountSteps >= 0, "log_step_count_steps", s.logStepCountSteps, "expected > 0, or 0 for none")
	vs.require(jobIDs.MatchString(s.jobID), "job_id", s.jobID, "expected at most 128 letters, digits and -_.:/")
	vs.require(s.protocol == "" || s.protocol == "grpc", "protocol", s.protocol, "expected grpc or nothing (grpc+verbs is not available)")
	vs.require(s.maxWorkerDelaySecs >= 0, "experimental_max_worker_delay_secs", s.maxWorkerDelaySecs, "expected >= 0")
	vs.require(s.sessionTimeoutSecs > 0, "session_creation_timeout_secs", s.sessionTimeoutSecs, "expected > 0")
	vs.oneOf("precision", s.session.Precision, "", "float32", "float64", "tf32", "bf16_mixed")
	vs.oneOf("blas", s.session.BLAS, "", "go", "openblas")
	vs.require(s.session.IntraOpThreads >= 0, "intra_op_threads", s.session.IntraOpThreads, "expected >= 0")
	vs.require(s.maxRestarts >= 0, "max_restarts", s.maxRestarts, "expected >= 0")
	vs.require(s.evaluatorWaitSecs >= 0, "evaluator_wait_secs", s.evaluatorWaitSecs, "expected >= 0")
	s.trainDistribute.validate("train_distribute.", vs)
	s.evalDistribute.validate("eval_distribute.", vs)
	s.rpc.validate(vs)
}
