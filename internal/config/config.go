package config

import (
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/search"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/runconfig"
)

//go:generate go run ./docgen -out ../../docs/config.md

// Config is the whole config file. Its keys are the yaml names of the fields. Every leaf can also be set by --set
// key=value or by the environment variable GOESTIMATOR_KEY, in upper case and with underscores for dots.
type Config struct {
	// Folder for checkpoints, events and exports. It is created if it does not exist. Relative to the working directory. Empty: a temporary folder.
	ModelDir string `yaml:"model_dir,omitempty"`
	// Folder at which relative file names of inputs start. Relative to the working directory, which is also the default. A URL such as s3://bucket/folder works only for the files of inputs; vocabularies and snapshots then need absolute paths.
	DataDir string `yaml:"data_dir,omitempty"`
	// Seed of initial values, dropout, shuffling and augmentation. 0: a new random seed at each start.
	Seed int64 `yaml:"seed"`
	// How canned models read features. Declare a column before the columns that use it.
	FeatureColumns []feature.Spec `yaml:"feature_columns,omitempty"`
	// The model and its parameters.
	Model Model `yaml:"model"`
	// How gradients update the variables of networks, and of registered models that have no optimizer of their own. Canned models have their optimizers in model.params.
	Optimizer optimizers.Spec `yaml:"optimizer"`
	// Training: its data, its length, early stopping.
	Train Train `yaml:"train"`
	// Evaluation: its data, how often it happens, exporters.
	Eval Eval `yaml:"eval"`
	// Prediction: its data and its output.
	Predict Predict `yaml:"predict,omitempty"`
	// The inputs and contents of exported models, for exporters and for the command export.
	Export Export `yaml:"export,omitempty"`
	// The keys that the command sweep varies, and how it searches.
	Sweep search.Spec `yaml:"sweep,omitempty"`
	// Settings of a run: checkpoints, summaries, logs, threads.
	Run runconfig.Spec `yaml:"run"`
	// How training is distributed: where variables are kept, and how gradients are combined.
	Strategy runconfig.Strategy `yaml:"strategy"`
	// Connections between the tasks of a cluster.
	RPC runconfig.RPC `yaml:"rpc"`

	tfConfig    string
	predictFile string // of LoadOptions
}

// Model names a model_fn and its parameters.
type Model struct {
	// A registered model_fn, a network (mlp, cnn, gpt, ...; see docs/training.md), or a canned model over feature_columns (linear_classifier, dnn_linear_combined_classifier, ...; see docs/canned.md).
	Name string `yaml:"name,omitempty"`
	// Parameters of the model_fn, for example classes or hidden_units. Keys are converted to lower case and split at dots.
	Params map[string]any `yaml:"params,omitempty"`
	// Takes initial values from another model's checkpoint or file of weights. Used only while model_dir has no checkpoint.
	WarmStart WarmStart `yaml:"warm_start,omitempty"`
	// Variables that training does not change: regular expressions that match the beginning of their names. Moving averages with such names do not change either.
	Freeze []string `yaml:"freeze,omitempty"`
	// Evaluate, predict and export with the averages of the weights, if the optimizer keeps any (optimizer.averaging). false: use the trained weights.
	Averages bool `yaml:"averages"`
}

// WarmStart takes initial values from the checkpoint of another run, or from weights that another program saved.
type WarmStart struct {
	// The source: a file of weights, the prefix of a checkpoint, or a folder with checkpoints (the newest is used), a SavedModel or safetensors files. The format is recognized by content; docs/weights.md lists the formats. Empty: no warm start.
	From string `yaml:"from,omitempty"`
	// Regular expression that matches the beginning of the names of the variables to take. Empty: all variables; from a TensorFlow checkpoint without map, only the trainable ones.
	Vars string `yaml:"vars,omitempty"`
	// Variables that have another name in the checkpoint: for each, its name here and its name there.
	Renames []Rename `yaml:"renames,omitempty"`
	// Rules for the variables that renames does not name. The first rule whose name matches applies. If no rule matches, the names are the same.
	Map []weights.Rule `yaml:"map,omitempty"`
	// Variables for which no weight is found keep their initial values. false: they are an error, which lists the tensors that may be meant.
	Partial bool `yaml:"partial,omitempty"`
	// Variables that follow a vocabulary, if the checkpoint was made with another vocabulary.
	Vocabularies []VocabInfo `yaml:"vocabularies,omitempty"`
}

// VocabInfo maps the entries of a variable from the checkpoint's vocabulary to this model's. Entries in both keep their
// values. New entries and out-of-vocabulary buckets get backup values.
type VocabInfo struct {
	// Name of the variable in this model.
	Name string `yaml:"name"`
	// File of this model's vocabulary, one entry per line. Relative to data_dir.
	NewVocab string `yaml:"new_vocab"`
	// Number of lines of new_vocab that are used. 0: all.
	NewVocabSize int `yaml:"new_vocab_size,omitempty"`
	// Number of out-of-vocabulary buckets after the entries.
	NumOOVBuckets int `yaml:"num_oov_buckets,omitempty"`
	// File of the checkpoint's vocabulary, one entry per line. Relative to data_dir.
	OldVocab string `yaml:"old_vocab"`
	// Number of lines of old_vocab that were used. 0: all.
	OldVocabSize int `yaml:"old_vocab_size,omitempty"`
	// Initializer of the backup values: its name and its parameters, for example {name: truncated_normal, stddev: 0.1}. Empty: zeros.
	BackupInitializer map[string]any `yaml:"backup_initializer,omitempty"`
	// Dimension of the variable that follows the vocabulary: 0, or 1 for the kernel of an output layer of classes.
	Axis int `yaml:"axis,omitempty"`
}

// Rename maps a variable of this model to a variable of the checkpoint.
type Rename struct {
	// Name of the variable in this model.
	Name string `yaml:"name"`
	// Name of the variable in the checkpoint.
	Previous string `yaml:"previous"`
}

// Default returns the config that an empty file gives.
func Default() Config {
	in := inputs.DefaultSpec()
	return Config{
		Model:     Model{Averages: true},
		Optimizer: optimizers.DefaultSpec(),
		Train:     Train{Input: in, FailOnNaNLoss: true, EarlyStopping: EarlyStopping{CheckEverySecs: 60}},
		Eval:      Eval{Input: in},
		Predict:   Predict{Input: in},
		Run:       runconfig.DefaultSpec(),
		Export:    Export{ServingInput: "auto"},
		Strategy:  runconfig.Strategy{Name: "default"},
		RPC:       runconfig.DefaultRPC(),
	}
}
