package feature

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
	"github.com/goestimator/goestimator/tensor"
)

// Spec declares a feature column, through which a canned model reads a feature. Adapt, quantiles and missing are computed from the
// training data (in Go, by [Adapt]) and kept in checkpoints. Each type takes the following keys; any other key that is set is an error.
//
//	numeric            key, shape, read (date_order, decimal, unit), default or defaults or missing, normalize, allow_nan, sequence
//	bucketized         of, boundaries or quantiles
//	hash_bucket        key, buckets, dtype, sequence
//	words              key, punctuation, ngrams, buckets, or vocabulary or adapt (size, min_count), oov_buckets
//	vocabulary         key, vocabulary or adapt (size, min_count), dtype, default, oov_buckets, sequence
//	vocabulary_file    key, file, size, dtype, default, oov_buckets, sequence
//	identity           key, buckets, default, sequence
//	crossed            keys, buckets, hash_key
//	weighted           of, weight_key
//	indicator          of, mode
//	embedding          of, dimension, combiner, stddev, max_norm, frozen, checkpoint, tensor
//	shared_embeddings  columns and the params of embedding; table
type Spec struct {
	// What other columns and the model call the column. Empty: TensorFlow's name, which is the key, followed by _bucketized, _embedding and so on. Columns of shared_embeddings always go by TensorFlow's.
	Name string `yaml:"name,omitempty" json:"name"`
	// numeric, bucketized, hash_bucket, words, vocabulary, vocabulary_file, identity, crossed, weighted, indicator, embedding or shared_embeddings.
	Type string `yaml:"type" json:"type"`
	// The feature: a column of the input.
	Key string `yaml:"key,omitempty" json:"key"`
	// Name of the column, declared before, that this one is made of.
	Of string `yaml:"of,omitempty" json:"of"`
	// Type of a categorical feature: string, int32 or int64. Empty: string.
	DType string `yaml:"dtype,omitempty" json:"dtype"`
	// Shape of a numeric feature. Empty: one number.
	Shape []int `yaml:"shape,omitempty" json:"shape"`
	// Number that stands for a missing one, or id of a value outside the vocabulary or range.
	Default *float64 `yaml:"default,omitempty" json:"default"`
	// Numbers that stand for missing ones, as many as the shape has.
	Defaults []float64 `yaml:"defaults,omitempty" json:"defaults"`
	// What stands for a missing number, a null or NaN: mean, median or most_frequent of the training data, default, or largest, the largest number that there is: beside a column with allow_nan, whose missing numbers boosted trees take for small, they can then put them on either side. Empty: default stands for a null, and NaN is an error.
	Missing string `yaml:"missing,omitempty" json:"missing"`
	// What number a text is read as: number ($1,234.50, 12 kg, 3.5 %), or of a date days (since 1970), year, month, day, weekday (0 is Sunday) or hour (with minutes as its fraction). A text that is not written so is NaN. Empty: the feature is a number.
	Read string `yaml:"read,omitempty" json:"read"`
	// read of a date: ymd, dmy (31.12.2024, 31 Dec 2024) or mdy (12/31/2024, December 31st, 2024, Dec-2024). Empty: ymd.
	DateOrder string `yaml:"date_order,omitempty" json:"date_order"`
	// read number: the mark before the fraction, "." or ",". Empty: ".".
	Decimal string `yaml:"decimal,omitempty" json:"decimal"`
	// read number: the unit into which numbers are converted: one (1.2K and 3M are 1200 and 3000000), kg, m, l, day, MB or MHz. A number with a unit of another kind is NaN, one without a unit is taken as it is. Empty: units are not read.
	Unit string `yaml:"unit,omitempty" json:"unit"`
	// The values of an example are the steps of a sequence.
	Sequence bool `yaml:"sequence,omitempty" json:"sequence"`
	// NaN passes, instead of being an error.
	AllowNaN bool `yaml:"allow_nan,omitempty" json:"allow_nan"`
	// What is done to the numbers.
	Normalize NormalizeSpec `yaml:"normalize,omitempty" json:"normalize"`
	// Ascending numbers that separate the buckets.
	Boundaries []float64 `yaml:"boundaries,omitempty" json:"boundaries"`
	// Number of buckets of about equally many training examples each, in place of boundaries.
	Quantiles int `yaml:"quantiles,omitempty" json:"quantiles"`
	// What a column of words makes of ASCII punctuation: words, so that each mark is a word of its own and divides others. Empty: it is left out, and divides nothing, so that a-b is the word ab.
	Punctuation string `yaml:"punctuation,omitempty" json:"punctuation"`
	// Longest run of words that a column of words has an id for, joined by spaces: 2 for words and pairs of them, at most 8. 0: 1, the words.
	NGrams int `yaml:"ngrams,omitempty" json:"ngrams,omitempty"`
	// Number of buckets that values, or the words of texts, are hashed to, or of identity's ids.
	Buckets int `yaml:"buckets,omitempty" json:"buckets"`
	// Values in the order of their ids; integers are written in decimal.
	Vocabulary []string `yaml:"vocabulary,omitempty" json:"vocabulary"`
	// The vocabulary comes from the training data, the most frequent values first.
	Adapt bool `yaml:"adapt,omitempty" json:"adapt"`
	// Values that occur less often in the training data are left out of an adapted vocabulary.
	MinCount int `yaml:"min_count,omitempty" json:"min_count"`
	// File of a value a line, in the order of their ids. Relative to data_dir.
	File string `yaml:"file,omitempty" json:"file"`
	// Lines of the file that are read; values of an adapted vocabulary. 0: all.
	Size int `yaml:"size,omitempty" json:"size"`
	// Ids, after the vocabulary's, for values outside of it, which are hashed to them.
	OOVBuckets int `yaml:"oov_buckets,omitempty" json:"oov_buckets"`
	// Parts of a cross.
	Keys []CrossPart `yaml:"keys,omitempty" json:"keys"`
	// Seed of the hashes of a cross. 0: TensorFlow's default.
	HashKey int64 `yaml:"hash_key,omitempty" json:"hash_key"`
	// The feature of the weights of a weighted column.
	WeightKey string `yaml:"weight_key,omitempty" json:"weight_key"`
	// Columns that share a table.
	Columns []string `yaml:"columns,omitempty" json:"columns"`
	// What an indicator has of each id: count, how often it occurs, or multi_hot, 1 where it does. Empty: count.
	Mode string `yaml:"mode,omitempty" json:"mode,omitempty"`
	// Width of an embedding.
	Dimension int `yaml:"dimension,omitempty" json:"dimension"`
	// How several ids of an example become one vector: mean, sqrtn or sum. Empty: mean.
	Combiner string `yaml:"combiner,omitempty" json:"combiner"`
	// Standard deviation of the table's initial values. 0: 1/sqrt(dimension).
	Stddev float64 `yaml:"stddev,omitempty" json:"stddev"`
	// Rows of a larger L2 norm are scaled to it when they are read. 0: no limit.
	MaxNorm float64 `yaml:"max_norm,omitempty" json:"max_norm"`
	// The table is not trained.
	Frozen bool `yaml:"frozen,omitempty" json:"frozen"`
	// Checkpoint, or a folder of them, whose tensor the table starts from.
	Checkpoint string `yaml:"checkpoint,omitempty" json:"checkpoint"`
	// Name of the tensor in the checkpoint.
	Tensor string `yaml:"tensor,omitempty" json:"tensor"`
	// Name of the table of shared_embeddings. Empty: TensorFlow's.
	Table string `yaml:"table,omitempty" json:"table"`
}

// NormalizeSpec is what a numeric column does to its numbers, in the order of the keys.
type NormalizeSpec struct {
	// Mean and std come from the training data.
	Adapt bool `yaml:"adapt,omitempty" json:"adapt"`
	// Divisor. 0: none.
	Scale float64 `yaml:"scale,omitempty" json:"scale"`
	// Take the natural logarithm.
	Log bool `yaml:"log,omitempty" json:"log"`
	// Subtracted: one number, or as many as the shape has.
	Mean []float64 `yaml:"mean,omitempty" json:"mean"`
	// Divisor after that: as many numbers as mean.
	Std []float64 `yaml:"std,omitempty" json:"std"`
}

// CrossPart is a part of a cross: a feature, or a column that was declared before.
type CrossPart struct {
	// The feature.
	Key string `yaml:"key,omitempty" json:"key"`
	// Name of the column.
	Column string `yaml:"column,omitempty" json:"column"`
}

// ValidateSpecs reports unknown types and names that several columns have;
// [Build] reports all other errors.
func ValidateSpecs(specs []Spec) error {
	var vs violation.List
	seen := map[string]bool{}
	for i, c := range specs {
		field := "[" + strconv.Itoa(i) + "]"
		vs.OneOf(field+".type", c.Type, types()...)
		vs.Require(c.Name == "" || !seen[c.Name], field+".name", c.Name, "expected a name that no other column has")
		seen[c.Name] = true
	}
	return vs.Err()
}

// Set holds declared columns by name.
type Set struct {
	names   []string
	columns map[string]Column
}

// Build makes the declared columns. A column must be declared before the columns that it is
// part of. The error names the declaration.
func Build(specs []Spec) (*Set, error) {
	s := &Set{columns: map[string]Column{}}
	for i, spec := range specs {
		if err := s.declare(spec); err != nil {
			return nil, fmt.Errorf("feature column %d (%s): %w", i+1, spec.label(), err)
		}
	}
	return s, nil
}

func (s Spec) label() string {
	for _, v := range []string{s.Name, s.Key, s.Of} {
		if v != "" {
			return strings.TrimSpace(s.Type + " " + v)
		}
	}
	return s.Type
}

// Names returns the names in the order of declaration.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Columns returns the columns with the given names.
func (s *Set) Columns(names ...string) ([]Column, error) {
	out := make([]Column, len(names))
	for i, n := range names {
		c, ok := s.columns[n]
		if !ok {
			return nil, s.unknown(n)
		}
		out[i] = c
	}
	return out, nil
}

func (s *Set) unknown(name string) error {
	known := "none before it"
	if len(s.names) > 0 {
		known = strings.Join(s.names, ", ")
	}
	return fmt.Errorf("unknown column %q: declared are %s", name, known)
}

func (s *Set) declare(spec Spec) error {
	if err := spec.checkFields(); err != nil {
		return err
	}
	columns, err := s.build(spec)
	if err != nil {
		return err
	}
	for _, c := range columns {
		name := spec.Name
		if name == "" {
			name = c.Name()
		}
		if _, dup := s.columns[name]; dup {
			return fmt.Errorf("name %q is taken: give the column a name", name)
		}
		s.names, s.columns[name] = append(s.names, name), c
	}
	return nil
}

// categorical returns a declared categorical column.
func (s *Set) categorical(name string) (Categorical, error) {
	c, ok := s.columns[name]
	if !ok {
		return nil, s.unknown(name)
	}
	cat, ok := c.(Categorical)
	if !ok {
		return nil, fmt.Errorf("column %q is %v: expected a categorical column", name, c)
	}
	return cat, nil
}

// dtype is the element type of a categorical feature.
func (s Spec) dtype() (tensor.DType, error) {
	for _, d := range []tensor.DType{tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64} {
		if s.DType == d.String() {
			return d, nil
		}
	}
	if s.DType != "" && s.DType != "string" {
		return 0, fmt.Errorf("dtype must be string or an integer type such as int64, got %q", s.DType)
	}
	return 0, nil
}

// id returns the default id of a categorical column.
func (s Spec) id() (*int, error) {
	if s.Default == nil {
		return nil, nil
	}
	id := int(*s.Default)
	if float64(id) != *s.Default {
		return nil, fmt.Errorf("default must be an id, a whole number, got %g", *s.Default)
	}
	return &id, nil
}
