package config

import "github.com/goestimator/goestimator/inputs"

// Train says what is trained on and until when. The first of its limits to be
// reached ends training; with none, the end of the input does.
type Train struct {
	// The training examples.
	Input inputs.Spec `yaml:"input"`
	// Global step at which training ends, counted over restarts. 0: no limit.
	MaxSteps int64 `yaml:"max_steps,omitempty"`
	// Passes over the input; the input is then repeated that often, and its repeat is ignored. 0: as the input
	// says.
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
	// End with the weights of the best evaluation by the metric, also where max_steps or the input ends training: the last checkpoint, what is
	// exported at the end, and later evaluations have them. No other rule is needed beside it. For training in one process.
	RestoreBest bool `yaml:"restore_best,omitempty"`
	// Never stop before this step; evaluations of earlier steps do not count.
	MinSteps int64 `yaml:"min_steps,omitempty"`
	// Seconds between two looks at the evaluations. Not used where check_every_steps is set.
	CheckEverySecs float64 `yaml:"check_every_secs"`
	// Steps between two looks at the evaluations. 0: by time.
	CheckEverySteps int64 `yaml:"check_every_steps,omitempty"`
}

// Eval says what is evaluated on, how often, and what is exported afterwards.
type Eval struct {
	// The evaluation examples.
	Input inputs.Spec `yaml:"input"`
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
	// The examples; where its format is left out, the examples of eval.input. Labels are not
	// needed.
	Input inputs.Spec `yaml:"input,omitempty"`
	// What is done about a row that cannot be read: fail, or skip, which leaves it out, so that there are fewer predictions than rows. Default: as predict.input.on_error says; of the examples of eval.input, and of a file that replaces them, fail.
	OnError string `yaml:"on_error,omitempty"`
	// Names of the predictions that are returned. Empty: all.
	Keys []string `yaml:"keys,omitempty"`
	// Columns of the input that are written before the predictions, for example an id. They may be columns that the model does not read
	// (role: ignore), and labels.
	Columns []string `yaml:"columns,omitempty"`
	// Classifiers: how many of the most probable classes are written, as top_classes and top_probabilities; without keys they take the place of
	// the predictions. 0: none.
	TopK int `yaml:"top_k,omitempty"`
}
