package feature

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// Spec declares a column as a config file does. Which fields count depends on Type:
//
//	numeric          key, shape, default or defaults, normalize, allow_nan, sequence
//	bucketized       of, boundaries
//	hash_bucket      key, buckets, dtype, sequence
//	vocabulary       key, vocabulary, dtype, default, oov_buckets, sequence
//	vocabulary_file  key, file, size, dtype, default, oov_buckets, sequence
//	identity         key, buckets, default, sequence
//	crossed          keys, buckets, hash_key
//	weighted         of, weight_key
//	indicator        of
//	embedding        of, dimension, combiner, stddev, max_norm, frozen, checkpoint, tensor
//	shared_embeddings  columns and those of embedding; table
//
// Another one that is set is an error.
type Spec struct {
	// Name is what other declarations and the model call the column; "": TensorFlow's
	// name. A shared_embeddings declaration has none: its columns go by TensorFlow's.
	Name string `yaml:"name,omitempty" json:"name"`
	Type string `yaml:"type" json:"type"`
	Key  string `yaml:"key,omitempty" json:"key"` // of the feature
	Of   string `yaml:"of,omitempty" json:"of"`   // name of the column that this one is made of

	DType    string    `yaml:"dtype,omitempty" json:"dtype"` // of a categorical feature; "": string
	Shape    []int     `yaml:"shape,omitempty" json:"shape"`
	Default  *float64  `yaml:"default,omitempty" json:"default"` // of missing numbers, or the id of unknown values
	Defaults []float64 `yaml:"defaults,omitempty" json:"defaults"`
	// Sequence makes the values of an example steps.
	Sequence  bool          `yaml:"sequence,omitempty" json:"sequence"`
	AllowNaN  bool          `yaml:"allow_nan,omitempty" json:"allow_nan"`
	Normalize NormalizeSpec `yaml:"normalize,omitempty" json:"normalize"`

	Boundaries []float64 `yaml:"boundaries,omitempty" json:"boundaries"`
	Buckets    int       `yaml:"buckets,omitempty" json:"buckets"`
	Vocabulary []string  `yaml:"vocabulary,omitempty" json:"vocabulary"` // integers in decimal where dtype is one
	File       string    `yaml:"file,omitempty" json:"file"`
	Size       int       `yaml:"size,omitempty" json:"size"` // lines of the file that are read; 0: all
	OOVBuckets int       `yaml:"oov_buckets,omitempty" json:"oov_buckets"`
	Keys       []PartOf  `yaml:"keys,omitempty" json:"keys"`
	HashKey    uint64    `yaml:"hash_key,omitempty" json:"hash_key"`
	WeightKey  string    `yaml:"weight_key,omitempty" json:"weight_key"`

	Columns    []string `yaml:"columns,omitempty" json:"columns"` // that share a table
	Dimension  int      `yaml:"dimension,omitempty" json:"dimension"`
	Combiner   string   `yaml:"combiner,omitempty" json:"combiner"`
	Stddev     float64  `yaml:"stddev,omitempty" json:"stddev"`
	MaxNorm    float64  `yaml:"max_norm,omitempty" json:"max_norm"`
	Frozen     bool     `yaml:"frozen,omitempty" json:"frozen"`
	Checkpoint string   `yaml:"checkpoint,omitempty" json:"checkpoint"`
	Tensor     string   `yaml:"tensor,omitempty" json:"tensor"`
	Table      string   `yaml:"table,omitempty" json:"table"`
}

// PartOf is a part of a cross: a feature, or a declared column.
type PartOf struct {
	Key    string `yaml:"key,omitempty" json:"key"`
	Column string `yaml:"column,omitempty" json:"column"`
}

// NormalizeSpec is a Normalizer.
type NormalizeSpec struct {
	Scale float64   `yaml:"scale,omitempty" json:"scale"`
	Log   bool      `yaml:"log,omitempty" json:"log"`
	Mean  []float64 `yaml:"mean,omitempty" json:"mean"`
	Std   []float64 `yaml:"std,omitempty" json:"std"`
}

// Set holds declared columns by name.
type Set struct {
	names   []string
	columns map[string]Column
}

// Build makes the declared columns. A column is declared before those that it is
// a part of. The error names the declaration.
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

// Columns returns columns by name.
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

// id is the default of a categorical column.
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
