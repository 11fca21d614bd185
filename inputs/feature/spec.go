package feature

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
	"github.com/goestimator/goestimator/tensor"
)

// Spec declares a feature column, through which a canned model reads a feature. What adapt, quantiles and missing need
// is computed from the training data (in Go, by [Adapt]) and stored in checkpoints. Each type takes the following keys.
// Any other key that is set is an error.
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
	// Name by which other columns and the model refer to this column. Empty: TensorFlow's name, which is the key followed by _bucketized, _embedding and so on. Columns of shared_embeddings always have TensorFlow's names.
	Name string `yaml:"name,omitempty" json:"name"`
	// The type: numeric, bucketized, hash_bucket, words, vocabulary, vocabulary_file, identity, crossed, weighted, indicator, embedding or shared_embeddings.
	Type string `yaml:"type" json:"type"`
	// Name of the feature, which is a column of the input.
	Key string `yaml:"key,omitempty" json:"key"`
	// Name of the column that this one is made of. It must be declared before.
	Of string `yaml:"of,omitempty" json:"of"`
	// Type of a categorical feature: string, or an integer type such as int32 or int64. Empty: string.
	DType string `yaml:"dtype,omitempty" json:"dtype"`
	// Shape of a numeric feature. Empty: a single number.
	Shape []int `yaml:"shape,omitempty" json:"shape"`
	// numeric: the number that replaces a missing one. vocabulary, vocabulary_file, identity: the id of a value outside the vocabulary or range.
	Default *float64 `yaml:"default,omitempty" json:"default"`
	// Numbers that replace missing ones, as many as the shape has.
	Defaults []float64 `yaml:"defaults,omitempty" json:"defaults"`
	// What replaces a missing number, that is, a null or NaN. mean, median, most_frequent: this statistic of the training data. default: the key default or defaults. largest: the largest number; boosted trees treat NaN (allow_nan) as small, and with a second column with largest they can put missing numbers on either side of a split. Empty: default replaces a null, and NaN is an error.
	Missing string `yaml:"missing,omitempty" json:"missing"`
	// How a text is read as a number. number: a number such as $1,234.50, 12 kg or 3.5 %. For dates: days (since 1970), year, month, day, weekday (0 is Sunday) or hour (with minutes as its fraction). Any other text is NaN. Empty: the feature is a number.
	Read string `yaml:"read,omitempty" json:"read"`
	// read of a date: the order of its parts: ymd, dmy (31.12.2024, 31 Dec 2024) or mdy (12/31/2024, December 31st, 2024, Dec-2024). Empty: ymd.
	DateOrder string `yaml:"date_order,omitempty" json:"date_order"`
	// read number: the decimal mark, "." or ",". Empty: ".".
	Decimal string `yaml:"decimal,omitempty" json:"decimal"`
	// read number: the unit to convert numbers to: one (1.2K is 1200, 3M is 3000000), kg, m, l, day, MB or MHz. A number with a unit of another kind is NaN; a number without a unit is taken unchanged. Empty: units are ignored.
	Unit string `yaml:"unit,omitempty" json:"unit"`
	// The values of an example are the steps of a sequence.
	Sequence bool `yaml:"sequence,omitempty" json:"sequence"`
	// Accept NaN. false: NaN is an error.
	AllowNaN bool `yaml:"allow_nan,omitempty" json:"allow_nan"`
	// How the numbers are normalized.
	Normalize NormalizeSpec `yaml:"normalize,omitempty" json:"normalize"`
	// Ascending boundaries between the buckets.
	Boundaries []float64 `yaml:"boundaries,omitempty" json:"boundaries"`
	// Number of buckets with about equally many training examples each, in place of boundaries.
	Quantiles int `yaml:"quantiles,omitempty" json:"quantiles"`
	// How a column of words treats ASCII punctuation. words: each mark is a separate word, and separates other words. Empty: marks are removed and separate nothing, so that a-b is the word ab.
	Punctuation string `yaml:"punctuation,omitempty" json:"punctuation"`
	// Largest number of consecutive words, joined by spaces, that have an id in a column of words: 2 for words and pairs of words, at most 8. 0: 1, only words.
	NGrams int `yaml:"ngrams,omitempty" json:"ngrams,omitempty"`
	// Number of buckets to which values, or the words of texts, are hashed. identity: number of ids.
	Buckets int `yaml:"buckets,omitempty" json:"buckets"`
	// Values in the order of their ids. Integers are written in decimal.
	Vocabulary []string `yaml:"vocabulary,omitempty" json:"vocabulary"`
	// Take the vocabulary from the training data, the most frequent values first.
	Adapt bool `yaml:"adapt,omitempty" json:"adapt"`
	// adapt: leave out values that occur less often than this in the training data.
	MinCount int `yaml:"min_count,omitempty" json:"min_count"`
	// File with one value per line, in the order of their ids. Relative to data_dir.
	File string `yaml:"file,omitempty" json:"file"`
	// vocabulary_file: number of lines to read. adapt: largest number of values in the vocabulary. 0: all.
	Size int `yaml:"size,omitempty" json:"size"`
	// Number of ids after the vocabulary's. Values outside the vocabulary are hashed to them.
	OOVBuckets int `yaml:"oov_buckets,omitempty" json:"oov_buckets"`
	// crossed: the features or columns to cross.
	Keys []CrossPart `yaml:"keys,omitempty" json:"keys"`
	// crossed: seed of the hashes. 0: TensorFlow's default.
	HashKey int64 `yaml:"hash_key,omitempty" json:"hash_key"`
	// weighted: name of the feature with the weights.
	WeightKey string `yaml:"weight_key,omitempty" json:"weight_key"`
	// shared_embeddings: the columns that share a table.
	Columns []string `yaml:"columns,omitempty" json:"columns"`
	// indicator: count (how often each id occurs) or multi_hot (1 if it occurs). Empty: count.
	Mode string `yaml:"mode,omitempty" json:"mode,omitempty"`
	// Width of the embedding vectors.
	Dimension int `yaml:"dimension,omitempty" json:"dimension"`
	// How the embedding vectors of an example's ids are combined: mean, sqrtn or sum. Empty: mean.
	Combiner string `yaml:"combiner,omitempty" json:"combiner"`
	// Standard deviation of the table's initial values. 0: 1/sqrt(dimension).
	Stddev float64 `yaml:"stddev,omitempty" json:"stddev"`
	// Largest L2 norm of a row. Longer rows are scaled to it when they are read. 0: no limit.
	MaxNorm float64 `yaml:"max_norm,omitempty" json:"max_norm"`
	// Do not train the table.
	Frozen bool `yaml:"frozen,omitempty" json:"frozen"`
	// Checkpoint, or folder of checkpoints, with the initial values of the table.
	Checkpoint string `yaml:"checkpoint,omitempty" json:"checkpoint"`
	// Name of the table's tensor in the checkpoint.
	Tensor string `yaml:"tensor,omitempty" json:"tensor"`
	// shared_embeddings: name of the table. Empty: TensorFlow's.
	Table string `yaml:"table,omitempty" json:"table"`
}

// NormalizeSpec says how a numeric column normalizes its numbers. It applies scale, log, mean and std, in this order.
type NormalizeSpec struct {
	// Compute mean and std from the training data.
	Adapt bool `yaml:"adapt,omitempty" json:"adapt"`
	// Divide by this number. 0: do not divide.
	Scale float64 `yaml:"scale,omitempty" json:"scale"`
	// Take the natural logarithm.
	Log bool `yaml:"log,omitempty" json:"log"`
	// Subtract these: one number, or as many as the shape has.
	Mean []float64 `yaml:"mean,omitempty" json:"mean"`
	// Divide by these after subtracting mean: as many numbers as mean.
	Std []float64 `yaml:"std,omitempty" json:"std"`
}

// CrossPart is one part of a cross: a feature, or a column that is declared before.
type CrossPart struct {
	// Name of the feature.
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
