package config

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/platform/violation"
)

// FeatureColumn declares a feature column, by which a canned model reads the
// features. Which keys count depends on the type; another one that is set is an
// error:
//
//	numeric            key, shape, default or defaults, normalize, allow_nan, sequence
//	bucketized         of, boundaries
//	hash_bucket        key, buckets, dtype, sequence
//	vocabulary         key, vocabulary, dtype, default, oov_buckets, sequence
//	vocabulary_file    key, file, size, dtype, default, oov_buckets, sequence
//	identity           key, buckets, default, sequence
//	crossed            keys, buckets, hash_key
//	weighted           of, weight_key
//	indicator          of
//	embedding          of, dimension, combiner, stddev, max_norm, frozen, checkpoint, tensor
//	shared_embeddings  columns and those of embedding; table
type FeatureColumn struct {
	// What other columns and the model call the column. Empty: TensorFlow's name, which is the key, followed by _bucketized, _embedding and so on. Columns of shared_embeddings always go by TensorFlow's.
	Name string `yaml:"name,omitempty"`
	// numeric, bucketized, hash_bucket, vocabulary, vocabulary_file, identity, crossed, weighted, indicator, embedding or shared_embeddings.
	Type string `yaml:"type"`
	// The feature: a column of the input.
	Key string `yaml:"key,omitempty"`
	// Name of the column, declared before, that this one is made of.
	Of string `yaml:"of,omitempty"`
	// Type of a categorical feature: string, int32 or int64. Empty: string.
	DType string `yaml:"dtype,omitempty"`
	// Shape of a numeric feature. Empty: one number.
	Shape []int `yaml:"shape,omitempty"`
	// Number that stands for a missing one, or id of a value outside the vocabulary or range.
	Default *float64 `yaml:"default,omitempty"`
	// Numbers that stand for missing ones, as many as the shape has.
	Defaults []float64 `yaml:"defaults,omitempty"`
	// The values of an example are the steps of a sequence.
	Sequence bool `yaml:"sequence,omitempty"`
	// NaN passes, instead of being an error.
	AllowNaN bool `yaml:"allow_nan,omitempty"`
	// What is done to the numbers.
	Normalize Normalize `yaml:"normalize,omitempty"`
	// Ascending numbers that separate the buckets.
	Boundaries []float64 `yaml:"boundaries,omitempty"`
	// Number of buckets that values are hashed to, or of identity's ids.
	Buckets int `yaml:"buckets,omitempty"`
	// Values in the order of their ids; integers are written in decimal.
	Vocabulary []string `yaml:"vocabulary,omitempty"`
	// File of a value a line, in the order of their ids. Relative to data_dir.
	File string `yaml:"file,omitempty"`
	// Lines of the file that are read. 0: all.
	Size int `yaml:"size,omitempty"`
	// Ids, after those of the vocabulary, that values outside of it are hashed to.
	OOVBuckets int `yaml:"oov_buckets,omitempty"`
	// Parts of a cross.
	Keys []CrossPart `yaml:"keys,omitempty"`
	// Seed of the hashes of a cross. 0: TensorFlow's default.
	HashKey int64 `yaml:"hash_key,omitempty"`
	// The feature of the weights of a weighted column.
	WeightKey string `yaml:"weight_key,omitempty"`
	// Columns that share a table.
	Columns []string `yaml:"columns,omitempty"`
	// Width of an embedding.
	Dimension int `yaml:"dimension,omitempty"`
	// How several ids of an example become one vector: mean, sqrtn or sum. Empty: mean.
	Combiner string `yaml:"combiner,omitempty"`
	// Standard deviation of the table's initial values. 0: 1/sqrt(dimension).
	Stddev float64 `yaml:"stddev,omitempty"`
	// Rows of a larger L2 norm are scaled to it when they are read. 0: no limit.
	MaxNorm float64 `yaml:"max_norm,omitempty"`
	// The table is not trained.
	Frozen bool `yaml:"frozen,omitempty"`
	// Checkpoint, or a folder of them, whose tensor the table starts from.
	Checkpoint string `yaml:"checkpoint,omitempty"`
	// Name of the tensor in the checkpoint.
	Tensor string `yaml:"tensor,omitempty"`
	// Name of the table of shared_embeddings. Empty: TensorFlow's.
	Table string `yaml:"table,omitempty"`
}

// Normalize is what a numeric column does to its numbers, in the order of the keys.
type Normalize struct {
	// Divisor. 0: none.
	Scale float64 `yaml:"scale,omitempty"`
	// Take the natural logarithm.
	Log bool `yaml:"log,omitempty"`
	// Subtracted: one number, or as many as the shape has.
	Mean []float64 `yaml:"mean,omitempty"`
	// Divisor after that: as many numbers as mean.
	Std []float64 `yaml:"std,omitempty"`
}

// CrossPart is a part of a cross: a feature, or a column that was declared before.
type CrossPart struct {
	// The feature.
	Key string `yaml:"key,omitempty"`
	// Name of the column.
	Column string `yaml:"column,omitempty"`
}

// columnTypes are the types of feature columns.
var columnTypes = []string{"numeric", "bucketized", "hash_bucket", "vocabulary", "vocabulary_file", "identity", "crossed", "weighted",
	"indicator", "embedding", "shared_embeddings"}

func validateColumns(list []FeatureColumn, vs *violation.List) {
	seen := map[string]bool{}
	for i, c := range list {
		field := "feature_columns[" + strconv.Itoa(i) + "]"
		vs.OneOf(field+".type", c.Type, columnTypes...)
		vs.Require(c.Name == "" || !seen[c.Name], field+".name", c.Name, "expected a name that no other column has")
		seen[c.Name] = true
	}
}
