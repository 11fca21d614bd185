package config

import "github.com/goestimator/goestimator/inputs"

// Train describes training: its data and when it ends. Training ends at the first limit that is reached; without limits,
// at the end of the input.
type Train struct {
	// The training examples.
	Input inputs.Spec `yaml:"input"`
	// Global step at which training ends. Steps before a restart count. 0: no limit.
	MaxSteps int64 `yaml:"max_steps,omitempty"`
	// Number of passes over the input, in place of its repeat. 0: as the input says.
	Epochs int `yaml:"epochs,omitempty"`
	// Seconds of training. Time before a restart counts. 0: no limit.
	MaxSecs float64 `yaml:"max_secs,omitempty"`
	// Ends training by a metric of evaluations.
	EarlyStopping EarlyStopping `yaml:"early_stopping"`
	// true: a NaN loss is an error. false: it ends training, and the final state is evaluated, exported and printed. The exit code is 1 in both cases.
	FailOnNaNLoss bool `yaml:"fail_on_nan_loss"`
}

// EarlyStopping ends training by a metric of evaluations.
type EarlyStopping struct {
	// Metric to watch, for example loss or accuracy. Empty: no early stopping.
	Metric string `yaml:"metric,omitempty"`
	// Whether a higher value of the metric is better.
	HigherIsBetter bool `yaml:"higher_is_better,omitempty"`
	// Stop when the best value is this many steps old. 0: no such rule.
	MaxStepsWithoutImprovement int64 `yaml:"max_steps_without_improvement,omitempty"`
	// Stop when the metric is better than this value.
	Threshold *float64 `yaml:"threshold,omitempty"`
	// End with the weights of the evaluation that was best by metric, also if max_steps or the end of the input ends training. The last checkpoint, the exports at the end and later evaluations have these weights. It works without the other rules, but only for training in one process.
	RestoreBest bool `yaml:"restore_best,omitempty"`
	// Do not stop before this step. Evaluations of earlier steps do not count.
	MinSteps int64 `yaml:"min_steps,omitempty"`
	// Seconds between two checks of the evaluations. Ignored if check_every_steps is set.
	CheckEverySecs float64 `yaml:"check_every_secs"`
	// Steps between two checks of the evaluations. 0: check_every_secs decides.
	CheckEverySteps int64 `yaml:"check_every_steps,omitempty"`
}

// Eval describes evaluation: its data, how often it happens, and what is exported after it.
type Eval struct {
	// The evaluation examples.
	Input inputs.Spec `yaml:"input"`
	// Number of batches per evaluation. 0: to the end of the input.
	Steps int64 `yaml:"steps,omitempty"`
	// Name of the evaluation. Its events go to model_dir/eval_<name>; without a name, to model_dir/eval.
	Name string `yaml:"name,omitempty"`
	// Seconds that an evaluator task waits before its first evaluation.
	StartDelaySecs float64 `yaml:"start_delay_secs,omitempty"`
	// Least number of seconds between two evaluations of checkpoints. 0: every checkpoint is evaluated. The last checkpoint is always evaluated.
	ThrottleSecs float64 `yaml:"throttle_secs,omitempty"`
	// Evaluate also after every this many training steps, in the training process and without a checkpoint. 0: do not.
	EverySteps int64 `yaml:"every_steps,omitempty"`
	// What is exported after an evaluation.
	Exporters []Exporter `yaml:"exporters,omitempty"`
}

// Exporter writes models to model_dir/export/<name> after evaluations.
type Exporter struct {
	// Name of the folder below model_dir/export. It must be unique among the exporters.
	Name string `yaml:"name"`
	// When a model is exported. final: once, at the end. latest: after every evaluation. best: after an evaluation that improved metric. steps: at the first evaluation at or after each of steps.
	Kind string `yaml:"kind"`
	// best: the metric. Empty: loss.
	Metric string `yaml:"metric,omitempty"`
	// best: whether a higher value of the metric is better.
	HigherIsBetter bool `yaml:"higher_is_better,omitempty"`
	// latest, best: number of exports to keep. 0: the default, 5. -1: all.
	ExportsToKeep int `yaml:"exports_to_keep,omitempty"`
	// steps: the list of steps.
	Steps []int64 `yaml:"steps,omitempty"`
}

// Export describes exported models: their inputs and contents.
type Export struct {
	// How the model is fed. raw: one tensor per feature. parsing: serialized tf.Examples. auto: parsing if the model has feature columns, otherwise raw.
	ServingInput string `yaml:"serving_input,omitempty"`
	// Number of steps of the longest sequence that an exported recurrent model takes. 0: for models without sequences.
	MaxSequenceLength int `yaml:"max_sequence_length,omitempty"`
	// Number of requests that a server sends to the model before using it. They are made from the first examples of eval.input.
	WarmUpRequests int `yaml:"warm_up_requests,omitempty"`
}

// Predict describes prediction: its data and what is written.
type Predict struct {
	// The examples. Without a format, the examples of eval.input. Labels are not needed.
	Input inputs.Spec `yaml:"input,omitempty"`
	// What to do with a row that cannot be read. fail: end with an error. skip: leave the row out, so that there are fewer predictions than rows. Default: predict.input.on_error; for the examples of eval.input, and for a file that replaces them, fail.
	OnError string `yaml:"on_error,omitempty"`
	// Names of the predictions to return. Empty: all.
	Keys []string `yaml:"keys,omitempty"`
	// Columns of the input to write before the predictions, for example an id. They may be labels, or columns that the model does not read (role: ignore).
	Columns []string `yaml:"columns,omitempty"`
	// Classifiers: number of most probable classes to write, as top_classes and top_probabilities. Without keys they replace the predictions. 0: none.
	TopK int `yaml:"top_k,omitempty"`
}
