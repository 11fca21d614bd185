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

// Config is the whole config file. Keys are the yaml names of the fields; every
// leaf can also be given as --set key=value or in the environment variable
// GOESTIMATOR_KEY (dots become underscores, letters upper case).
type Config struct {
	// Folder of checkpoints, events and exports; it is made where absent. Relative to the working directory. Empty: a temporary folder.
	ModelDir string `yaml:"model_dir,omitempty"`
	// Folder that relative file names of inputs start from. Relative to the working directory, which is also the default. It may be a URL such as s3://bucket/folder, for the files of inputs alone.
	DataDir string `yaml:"data_dir,omitempty"`
	// Seed of initial values, dropout, shuffling and augmentation. 0: none given, a fresh one is drawn at each start.
	Seed int64 `yaml:"seed"`
	// How canned models read the features. A column is declared before the columns that use it.
	FeatureColumns []feature.Spec `yaml:"feature_columns,omitempty"`
	// The network.
	Model Model `yaml:"model"`
	// How gradients become updates in networks, and in registered models without an optimizer of their own. Canned models have theirs among model.params.
	Optimizer optimizers.Spec `yaml:"optimizer"`
	// Training.
	Train Train `yaml:"train"`
	// Evaluation.
	Eval Eval `yaml:"eval"`
	// Prediction.
	Predict Predict `yaml:"predict,omitempty"`
	// What an exported model takes and contains: of exporters and of the command export.
	Export Export `yaml:"export,omitempty"`
	// Values of other keys that the command sweep tries.
	Sweep search.Spec `yaml:"sweep,omitempty"`
	// How the run is made: checkpoints, summaries, logs, threads.
	Run runconfig.Spec `yaml:"run"`
	// Where variables live and how gradients travel.
	Strategy runconfig.Strategy `yaml:"strategy"`
	// Connections between the tasks of a cluster.
	RPC runconfig.RPC `yaml:"rpc"`

	tfConfig    string
	predictFile string // of LoadOptions
}

// Model names a model_fn and its parameters.
type Model struct {
	// A registered model_fn, a network (mlp, cnn, gpt, ...; docs/training.md) or a canned model over feature_columns (linear_classifier, dnn_linear_combined_classifier, ...; docs/canned.md).
	Name string `yaml:"name,omitempty"`
	// The model_fn's own parameters, for example classes or hidden_units. Keys are lower-cased and split at dots.
	Params map[string]any `yaml:"params,omitempty"`
	// Initial values from another model's checkpoint or file of weights; used only where model_dir holds no checkpoint yet.
	WarmStart WarmStart `yaml:"warm_start,omitempty"`
	// Variables that training leaves as they are: regular expressions that match the beginning of their names. Moving averages among them stay, too.
	Freeze []string `yaml:"freeze,omitempty"`
	// Evaluate, predict and export with the averages of the weights, where the optimizer keeps some (optimizer.averaging). false: with the weights as they were trained.
	Averages bool `yaml:"averages"`
}

// WarmStart takes initial values from the checkpoint of another run, or from weights that another program saved.
type WarmStart struct {
	// A checkpoint prefix; a file of weights (docs/weights.md lists the formats, which are found by content); a folder with checkpoints, whose newest is taken, with a SavedModel or with safetensors. Empty: no warm start.
	From string `yaml:"from,omitempty"`
	// Regular expression that matches the beginning of the names of the variables to take. Empty: all; of a TensorFlow checkpoint without map, all trainable ones.
	Vars string `yaml:"vars,omitempty"`
	// Renamed variables, each with its name here and its name in the checkpoint.
	Renames []Rename `yaml:"renames,omitempty"`
	// Rules for variables that renames does not name: the first whose name matches holds. Where none does, the names are the same.
	Map []weights.Rule `yaml:"map,omitempty"`
	// Let variables that find no weight keep their initial values; without it they are an error, which tells the nearest names.
	Partial bool `yaml:"partial,omitempty"`
	// Variables whose rows follow a vocabulary that was another one in the checkpoint.
	Vocabularies []VocabInfo `yaml:"vocabularies,omitempty"`
}

// VocabInfo maps the entries of a variable from one vocabulary to another: an
// entry of both keeps its values; new ones and out-of-vocabulary buckets get backup values.
type VocabInfo struct {
	// Name of the variable in this model.
	Name string `yaml:"name"`
	// File of this model's vocabulary, an entry a line. Relative to data_dir.
	NewVocab string `yaml:"new_vocab"`
	// Lines of it that are used. 0: all.
	NewVocabSize int `yaml:"new_vocab_size,omitempty"`
	// Out-of-vocabulary buckets after the entries.
	NumOOVBuckets int `yaml:"num_oov_buckets,omitempty"`
	// File of the checkpoint's vocabulary. Relative to data_dir.
	OldVocab string `yaml:"old_vocab"`
	// Lines of it that were used. 0: all.
	OldVocabSize int `yaml:"old_vocab_size,omitempty"`
	// Initializer of values that the checkpoint does not have: its name and parameters, for example {name:
	// truncated_normal, stddev: 0.1}. Empty: zeros.
	BackupInitializer map[string]any `yaml:"backup_initializer,omitempty"`
	// Dimension that follows the vocabulary: 0, or 1 for the kernel of an output layer of classes.
	Axis int `yaml:"axis,omitempty"`
}

// Rename maps a variable of this model to one of a checkpoint.
type Rename struct {
	// Name of the variable in this model.
	Name string `yaml:"name"`
	// Its name in the checkpoint.
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
