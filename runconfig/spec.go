package runconfig

import (
	"net/url"
	"regexp"
	"slices"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// Spec holds the fields of [RunConfig] and of its session that a file can set.
type Spec struct {
	// Steps between two summaries. 0: none.
	SaveSummarySteps int `yaml:"save_summary_steps"`
	// Steps between two checkpoints. 0: none by steps. Setting it clears save_checkpoints_secs; only one of the two may be above 0.
	SaveCheckpointsSteps int64 `yaml:"save_checkpoints_steps"`
	// Seconds between two checkpoints. 0: none by time. Setting it clears save_checkpoints_steps; if both are 0, there are no checkpoints.
	SaveCheckpointsSecs float64 `yaml:"save_checkpoints_secs"`
	// Number of newest checkpoints to keep. 0: all.
	KeepCheckpointMax int `yaml:"keep_checkpoint_max"`
	// Besides the newest checkpoints, keep one checkpoint per this many hours forever.
	KeepCheckpointEveryNHours float64 `yaml:"keep_checkpoint_every_n_hours"`
	// Steps between two log lines. 0: none.
	LogStepCountSteps int `yaml:"log_step_count_steps"`
	// Write graph.pbtxt and the graph's metadata when training starts.
	CheckpointSaveGraphDef bool `yaml:"checkpoint_save_graph_def"`
	// Name of the job, the same in all its tasks. Tasks refuse tasks of another job. Empty: tasks recognize each other by their cluster. `goestimator launch` sets it.
	JobID string `yaml:"job_id,omitempty"`
	// Protocol between tasks: grpc, also if empty.
	Protocol string `yaml:"protocol,omitempty"`
	// Largest delay of a worker's start in seconds. A worker waits (index+1)*5 seconds, but at most this long. -1: 60, or 0 if all tasks are on one machine (loopback addresses, as with launch).
	ExperimentalMaxWorkerDelaySecs int `yaml:"experimental_max_worker_delay_secs"`
	// Seconds that a task waits for the other tasks before it fails.
	SessionCreationTimeoutSecs int `yaml:"session_creation_timeout_secs"`
	// Where a task finds the cluster and its place in it. tf_config: the environment variable TF_CONFIG. slurm: the variables of a Slurm step.
	ClusterResolver string `yaml:"cluster_resolver"`
	// Number of times that the chief may end with exit code 138 without a new checkpoint. Its next start then ends with exit code 1. 0: no limit.
	MaxRestarts int `yaml:"max_restarts"`
	// Seconds that the chief, when it is done, waits for the evaluator's last evaluation. 0: it does not wait.
	EvaluatorWaitSecs float64 `yaml:"evaluator_wait_secs,omitempty"`
	// Tasks that this task may talk to, for example /job:ps. Filters have no effect yet, so only an empty list is accepted.
	DeviceFilters []string `yaml:"device_filters,omitempty"`
	// Number of threads in one step. 0: one per core.
	IntraOpThreads int `yaml:"intra_op_threads,omitempty"`
	// Number of replicas of a process that compute at the same time. 0: all.
	InterOpThreads int `yaml:"inter_op_threads,omitempty"`
	// Precision of the computation: float32, float64, tf32 or bf16_mixed. Variables are float32, or float64 with float64.
	Precision string `yaml:"precision"`
	// Run an op on the host if its device does not have it. false: that is an error.
	SoftPlacement bool `yaml:"soft_placement"`
	// Stop at the first NaN or infinite value. The error names the file, row and column of a value from the input, otherwise the op that made it. Slow.
	CheckNumerics bool `yaml:"check_numerics,omitempty"`
	// Refuse the forms of TF_CONFIG that tf.estimator refuses.
	StrictTFConfig bool `yaml:"strict_tf_config,omitempty"`
	// Steps between two profiles, which are written to timeline-<step>.json in model_dir. 0: none.
	ProfileSteps int64 `yaml:"profile_steps,omitempty"`
	// Add histograms of variables and gradients to the summaries.
	SummaryHistograms bool `yaml:"summary_histograms,omitempty"`
	// Number of input images in each summary.
	SummaryImages int `yaml:"summary_images,omitempty"`
	// When training ends, write the embedding tables of the last checkpoint and the words of their vocabularies for TensorBoard's projector: projector_config.pbtxt in model_dir, and files in its folder projector.
	Projector bool `yaml:"projector,omitempty"`
	// Files in model_dir to which the chief adds each of its logged steps and evaluations: csv for metrics.csv, jsonl for metrics.jsonl, or both.
	MetricsLog []string `yaml:"metrics_log,omitempty"`
	// Address (http or https) to which the result is sent as JSON when training ends or fails. If sending fails, training does not. The config beside the checkpoints leaves it out, because it may contain a key.
	Notify string `yaml:"notify,omitempty"`
}

const (
	// workerDelayNotGiven leaves experimental_max_worker_delay_secs to the cluster.
	workerDelayNotGiven = -1
	// defaultWorkerDelaySecs is tf.estimator's.
	defaultWorkerDelaySecs = 60
)

// DefaultSpec returns the spec that an empty file gives.
func DefaultSpec() Spec {
	return Spec{
		SaveSummarySteps:               100,
		SaveCheckpointsSecs:            600,
		KeepCheckpointMax:              5,
		KeepCheckpointEveryNHours:      10000,
		LogStepCountSteps:              100,
		CheckpointSaveGraphDef:         true,
		ExperimentalMaxWorkerDelaySecs: workerDelayNotGiven,
		SessionCreationTimeoutSecs:     7200,
		ClusterResolver:                "tf_config",
		MaxRestarts:                    10,
		Precision:                      "float32",
		SoftPlacement:                  true,
	}
}

// FromSpec is [FromTFConfig] with the values of a spec, which options override. A
// ModelDir option overrides TF_CONFIG's model_dir.
func FromSpec(spec Spec, tfConfig string, opts ...Option) (RunConfig, error) {
	vs := &violation.List{}
	s := newSettings(spec)
	s.modelDirWins = true
	return build(s, parseTFConfig(tfConfig, vs), opts, vs)
}

// session returns the part of the spec that says how a task runs its programs.
func (s Spec) session() SessionConfig {
	return SessionConfig{IntraOpThreads: s.IntraOpThreads, InterOpThreads: s.InterOpThreads, DeviceFilters: slices.Clone(s.DeviceFilters), Precision: s.Precision,
		HardPlacement: !s.SoftPlacement, CheckNumerics: s.CheckNumerics}
}

// jobIDs matches names of jobs, and "".
var jobIDs = regexp.MustCompile(`^[-_.:/a-zA-Z0-9]{0,128}$`)

func (s Spec) validate(vs *violation.List) {
	vs.Require(s.SaveSummarySteps >= 0, "save_summary_steps", s.SaveSummarySteps, "expected >= 0")
	vs.Require(s.SaveCheckpointsSteps >= 0, "save_checkpoints_steps", s.SaveCheckpointsSteps, "expected >= 0")
	vs.Require(s.SaveCheckpointsSecs >= 0, "save_checkpoints_secs", s.SaveCheckpointsSecs, "expected >= 0")
	vs.Require(s.SaveCheckpointsSteps <= 0 || s.SaveCheckpointsSecs <= 0, "save_checkpoints_secs", s.SaveCheckpointsSecs,
		"save_checkpoints_steps and save_checkpoints_secs cannot be both set; set one of them to 0")
	vs.Require(s.KeepCheckpointMax >= 0, "keep_checkpoint_max", s.KeepCheckpointMax, "expected >= 0")
	vs.Require(s.KeepCheckpointEveryNHours > 0, "keep_checkpoint_every_n_hours", s.KeepCheckpointEveryNHours, "expected > 0")
	vs.Require(s.LogStepCountSteps >= 0, "log_step_count_steps", s.LogStepCountSteps, "expected > 0, or 0 for none")
	vs.Require(jobIDs.MatchString(s.JobID), "job_id", s.JobID, "expected at most 128 letters, digits and -_.:/")
	vs.Require(s.Protocol == "" || s.Protocol == "grpc", "protocol", s.Protocol, "expected grpc or nothing (grpc+verbs is not available)")
	vs.Require(s.ExperimentalMaxWorkerDelaySecs >= workerDelayNotGiven, "experimental_max_worker_delay_secs", s.ExperimentalMaxWorkerDelaySecs, "expected >= 0")
	vs.Require(s.SessionCreationTimeoutSecs > 0, "session_creation_timeout_secs", s.SessionCreationTimeoutSecs, "expected > 0")
	vs.Require(len(s.DeviceFilters) == 0, "device_filters", s.DeviceFilters, "expected none: nothing heeds filters yet, a task talks to all that its strategy needs")
	vs.OneOf("precision", s.Precision, "", "float32", "float64", "tf32", "bf16_mixed")
	vs.Require(s.IntraOpThreads >= 0, "intra_op_threads", s.IntraOpThreads, "expected >= 0")
	vs.Require(s.InterOpThreads >= 0, "inter_op_threads", s.InterOpThreads, "expected >= 0")
	vs.Require(s.MaxRestarts >= 0, "max_restarts", s.MaxRestarts, "expected >= 0")
	vs.Require(s.EvaluatorWaitSecs >= 0, "evaluator_wait_secs", s.EvaluatorWaitSecs, "expected >= 0")
	vs.Require(s.ProfileSteps >= 0, "profile_steps", s.ProfileSteps, "expected >= 0")
	vs.Require(s.SummaryImages >= 0, "summary_images", s.SummaryImages, "expected >= 0")
	for _, kind := range s.MetricsLog {
		vs.OneOf("metrics_log", kind, "csv", "jsonl")
	}
	if u, err := url.Parse(s.Notify); s.Notify != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		vs.Add("notify", "...", "expected an address such as https://host/path")
	}
	vs.OneOf("cluster_resolver", s.ClusterResolver, "tf_config", "slurm")
}
