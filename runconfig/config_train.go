package runconfig

// Train says what is trained on and until when. The first of its limits to be
// reached ends training; with none, the end of the input does.
type Train struct {
	// The training examples.
	Input Input `yaml:"input"`
	// Global step at which training ends, counted over restarts. 0: no limit.
	MaxSteps int64 `yaml:"max_steps,omitempty"`
	// Passes over the input; the input is then repeated that often, whatever its repeat says. 0: as the input says.
	Epochs int `yaml:"epochs,omitempty"`
	// Seconds of training, counted over restarts. 0: no limit.
	MaxSecs float64 `yaml:"max_secs,omitempty"`
	// End training as soon as evaluation says so.
	EarlyStopping EarlyStopping `yaml:"early_stopping"`
	// A NaN loss is an error (true), or ends training (false): its end is evaluated, exported and printed. The exit code is 1 either way.
	FailOnNaNLoss bool `yaml:"fail_on_nan_loss"`
}

// EarlyStopping ends training by a metric of evaluation.
type EarlyStopping struct {
	// Metric that is watched, for example loss or accuracy. Empty: no early stopping.
	Metric string `yaml:"metric,omitempty"`
	// Whether a higher value of the metric is better.
	HigherIsBetter bool `yaml:"higher_is_better,omitempty"`
	// Stop when the best value is this many steps old. 0: no such rule.
	MaxStepsWithoutImprovement int64 `yaml:"max_steps_without_improvement,omitempty"`
	// Stop when the metric is better than this value.
	Threshold *float64 `yaml:"threshold,omitempty"`
	// Never stop before this step.
	MinSteps int64 `yaml:"min_steps,omitempty"`
	// Seconds between two looks at the evaluations. Not used where check_every_steps is set.
	CheckEverySecs float64 `yaml:"check_every_secs"`
	// Steps between two looks at the evaluations. 0: by time.
	CheckEverySteps int64 `yaml:"check_every_steps,omitempty"`
}

// Eval says what is evaluated on, how often, and what is exported afterwards.
type Eval struct {
	// The evaluation examples.
	Input Input `yaml:"input"`
	// Batches of one evaluation. 0: to the end of the input.
	Steps int64 `yaml:"steps,omitempty"`
	// Name of the evaluation; its events go to model_dir/eval_<name>, without a name to model_dir/eval.
	Name string `yaml:"name,omitempty"`
	// Seconds that an evaluator task waits before its first evaluation.
	StartDelaySecs float64 `yaml:"start_delay_secs,omitempty"`
	// Least seconds between two evaluations of checkpoints. 0: every checkpoint is evaluated. The last one always is.
	ThrottleSecs float64 `yaml:"throttle_secs,omitempty"`
	// Evaluate also every this many training steps, in the training process, without a checkpoint. 0: no.
	EverySteps int64 `yaml:"every_steps,omitempty"`
	// What is exported after an evaluation.
	Exporters []Exporter `yaml:"exporters,omitempty"`
}

// Exporter writes models to model_dir/export/<name> after evaluations.
type Exporter struct {
	// Folder below model_dir/export; unique among the exporters.
	Name string `yaml:"name"`
	// final: once, at the end; latest: after every evaluation; best: when the metric improved; steps: at the first evaluation at or after each of steps.
	Kind string `yaml:"kind"`
	// Metric of best. Empty: loss.
	Metric string `yaml:"metric,omitempty"`
	// Whether a higher value of the metric is better.
	HigherIsBetter bool `yaml:"higher_is_better,omitempty"`
	// Number of exports kept by latest and best. 0: the default, 5; -1: all.
	ExportsToKeep int `yaml:"exports_to_keep,omitempty"`
	// Steps of the kind steps.
	Steps []int64 `yaml:"steps,omitempty"`
}

// Export says what an exported model takes and contains.
type Export struct {
	// How the model is fed: raw, a tensor for each feature; parsing, serialized tf.Examples; auto: parsing where the model has feature columns, else raw.
	ServingInput string `yaml:"serving_input,omitempty"`
	// Steps of the longest sequence that an exported recurrent model takes.
	MaxSequenceLength int `yaml:"max_sequence_length,omitempty"`
	// Requests, made of the first examples of eval.input, that a server sends to the model before it is used.
	WarmUpRequests int `yaml:"warm_up_requests,omitempty"`
}

// Predict says what predictions are made of.
type Predict struct {
	// The examples; where its format is left out, those of eval.input. Labels are not needed.
	Input Input `yaml:"input,omitempty"`
	// Names of the predictions that are returned. Empty: all.
	Keys []string `yaml:"keys,omitempty"`
}

// Run holds the fields of [RunConfig] and of its session that a file can set.
type Run struct {
	// Steps between two summaries. 0: none.
	SaveSummarySteps int `yaml:"save_summary_steps"`
	// Steps between two checkpoints. 0: none by steps. Giving it clears save_checkpoints_secs; only one of the two may be above 0.
	SaveCheckpointsSteps int64 `yaml:"save_checkpoints_steps"`
	// Seconds between two checkpoints. 0: none by time. Giving it clears save_checkpoints_steps; with both 0 there are no checkpoints.
	SaveCheckpointsSecs float64 `yaml:"save_checkpoints_secs"`
	// Newest checkpoints that are kept. 0: all.
	KeepCheckpointMax int `yaml:"keep_checkpoint_max"`
	// Hours between checkpoints that are kept for ever, besides the newest.
	KeepCheckpointEveryNHours float64 `yaml:"keep_checkpoint_every_n_hours"`
	// Steps between two log lines. 0: none.
	LogStepCountSteps int `yaml:"log_step_count_steps"`
	// Write graph.pbtxt and the graph's meta data when training starts.
	CheckpointSaveGraphDef bool `yaml:"checkpoint_save_graph_def"`
	// Name of the job, the same in all its tasks: tasks of another job are refused. Empty: tasks know each other by their cluster. `goestimator launch` sets it.
	JobID string `yaml:"job_id,omitempty"`
	// Protocol between tasks: grpc, also when empty.
	Protocol string `yaml:"protocol,omitempty"`
	// Longest seconds by which a worker delays its start, which is (index+1)*5 otherwise. -1: 60, and 0 where all tasks are on one machine (addresses of loopback, as with launch).
	ExperimentalMaxWorkerDelaySecs int `yaml:"experimental_max_worker_delay_secs"`
	// Seconds that a task waits for the others before it fails.
	SessionCreationTimeoutSecs int `yaml:"session_creation_timeout_secs"`
	// Where the cluster and this task's place in it come from: tf_config (the environment variable) or slurm (those of a Slurm step).
	ClusterResolver string `yaml:"cluster_resolver"`
	// Starts of the chief without a new checkpoint after exits that it chose, before it gives up with exit code 1. 0: no limit.
	MaxRestarts int `yaml:"max_restarts"`
	// Seconds that a chief which is done waits for the evaluator's last evaluation. 0: not at all.
	EvaluatorWaitSecs float64 `yaml:"evaluator_wait_secs,omitempty"`
	// Tasks that this one may talk to, for example /job:ps. Empty: by the task's type.
	DeviceFilters []string `yaml:"device_filters,omitempty"`
	// Threads of one step. 0: as many as there are cores.
	IntraOpThreads int `yaml:"intra_op_threads,omitempty"`
	// float32, float64, tf32 or bf16_mixed. Variables stay float32 (float64 for float64).
	Precision string `yaml:"precision"`
	// Run an op on the host where its device does not have it, instead of an error.
	SoftPlacement bool `yaml:"soft_placement"`
	// Stop at the first NaN or infinite value, naming file, row and column where the input holds it, else the op that made it. Slow.
	CheckNumerics bool `yaml:"check_numerics,omitempty"`
	// Matrix products by go (built-in kernels) or openblas (a shared library, loaded at start).
	BLAS string `yaml:"blas"`
	// Refuse the forms of TF_CONFIG that tf.estimator refuses.
	StrictTFConfig bool `yaml:"strict_tf_config,omitempty"`
	// Steps between two profiles (timeline-<step>.json in model_dir). 0: none.
	ProfileSteps int64 `yaml:"profile_steps,omitempty"`
	// Add histograms of variables and gradients to the summaries.
	SummaryHistograms bool `yaml:"summary_histograms,omitempty"`
	// Input images added to each summary.
	SummaryImages int `yaml:"summary_images,omitempty"`
}

// workerDelayNotGiven leaves run.experimental_max_worker_delay_secs to the cluster.
const workerDelayNotGiven = -1

func defaultRun() Run {
	return Run{
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
		BLAS:                           "go",
	}
}
