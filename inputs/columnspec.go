package inputs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// Ignore is the role of a column of a file that is not read.
const Ignore Role = "ignore"

// ColumnSpec describes one column of the data.
type ColumnSpec struct {
	// Name of the column, and of the feature.
	Name string `yaml:"name"`
	// numeric or categorical. Default: categorical if the column has a vocabulary or its dtype is string, otherwise numeric.
	Kind string `yaml:"kind,omitempty"`
	// Type of the feature: float32, float64, int64 or string. A value that the type cannot represent is an error. Default: the type in the source (parquet, arrow, npy, npz, sql, flight), otherwise string for categorical and float32 for numeric columns.
	DType string `yaml:"dtype,omitempty"`
	// Shape of one value. Empty: a single number or string.
	Shape []int `yaml:"shape,omitempty"`
	// jsonl, tfrecord: a value is a list of any length, for features with several values (hash_bucket, vocabulary, identity, embedding). A missing list is empty; for a label it is an error. parquet, arrow: lists are ragged without this key, and other columns cannot have it.
	Ragged bool `yaml:"ragged,omitempty"`
	// Value that replaces a missing one (tfrecord: a feature that is absent or has no list). Exported models that parse examples use it, too. Left out: a missing value is an error. Ragged columns have no default.
	Default any `yaml:"default,omitempty"`
	// feature, label, weight (of the example) or ignore. Default: feature.
	Role Role `yaml:"role,omitempty"`
	// Values of a categorical column. Each value becomes an integer, its position in the list; in a ragged column, each element of a value does. A label outside the list is an error; a feature outside the list becomes -1.
	Vocabulary []string `yaml:"vocabulary,omitempty"`
}

// complete fills in the kind and the role where they are left out.
func (s *ColumnSpec) complete() {
	if s.Kind == "" {
		s.Kind = "numeric"
		if len(s.Vocabulary) > 0 || s.DType == "string" {
			s.Kind = "categorical"
		}
	}
	if s.Role == "" {
		s.Role = Feature
	}
}

// Kept turns an ignored column of a file into a feature. A csv column without a type is read as text, and a text may be missing.
func (s ColumnSpec) Kept(format string) ColumnSpec {
	s.Role = Feature
	if format == "csv" && s.DType == "" && len(s.Vocabulary) == 0 {
		s.Kind, s.DType = "categorical", "string"
	}
	if s.DType == "string" && s.Default == nil && !s.Ragged {
		s.Default = ""
	}
	return s
}

// textual reports whether a column without a named type holds strings: it has no
// vocabulary, and the file format has no types.
func (s ColumnSpec) textual(format string) bool {
	return s.Kind == "categorical" && s.DType == "" && len(s.Vocabulary) == 0 && format != "parquet" && format != "arrow" && format != "sql" && format != "flight"
}

// column returns the column of a spec; fallback is the type if the spec names
// none.
func (s ColumnSpec) column(fallback tensor.DType) (Column, error) {
	c := Column{Name: s.Name, DType: fallback, Shape: s.Shape, Ragged: s.Ragged, Role: s.Role}
	if c.Role == "" {
		c.Role = Feature
	}
	if s.Ragged && s.Default != nil {
		return c, errRaggedDefault(s.Name)
	}
	if len(s.Vocabulary) > 0 {
		c.DType = tensor.Int64
		if i := firstDuplicate(s.Vocabulary); i >= 0 {
			return c, fmt.Errorf("column %q: %q occurs twice in its vocabulary", s.Name, s.Vocabulary[i])
		}
		return c, c.validate()
	}
	if s.DType != "" {
		d, err := tensor.ParseDType(s.DType)
		if err != nil {
			return c, fmt.Errorf("column %q: %w", s.Name, err)
		}
		c.DType = d
	}
	return c, c.validate()
}

func errRaggedDefault(name string) error {
	return fmt.Errorf("column %q: a ragged column has no default, a missing list is empty: leave default out", name)
}

func firstDuplicate(values []string) int {
	seen := make(map[string]bool, len(values))
	return slices.IndexFunc(values, func(v string) bool {
		dup := seen[v]
		seen[v] = true
		return dup
	})
}

// kept returns the specs of the columns that are read.
func kept(specs []ColumnSpec) []ColumnSpec {
	return slices.DeleteFunc(slices.Clone(specs), func(s ColumnSpec) bool { return s.Role == Ignore })
}

// vocabulary maps strings to their positions.
type vocabulary struct {
	ids    map[string]int64
	values map[float64]int64 // labels that are all numbers: 1.0 is 1
	strict bool              // an unknown value is an error
	names  []string
}

func newVocabulary(s ColumnSpec) *vocabulary {
	v := &vocabulary{ids: make(map[string]int64, len(s.Vocabulary)), strict: s.Role == Label, names: s.Vocabulary}
	for i, name := range s.Vocabulary {
		v.ids[name] = int64(i)
	}
	if v.strict {
		v.values = numbersOf(s.Vocabulary)
	}
	return v
}

// numbersOf returns the positions of names that are different numbers, nil if a name is no number.
func numbersOf(names []string) map[float64]int64 {
	out := make(map[float64]int64, len(names))
	for i, name := range names {
		x, err := strconv.ParseFloat(name, 64)
		if _, twice := out[x]; err != nil || x != x || twice {
			return nil
		}
		out[x] = int64(i)
	}
	return out
}

func (v *vocabulary) id(value string) (int64, error) {
	if id, ok := v.ids[value]; ok {
		return id, nil
	}
	if !v.strict {
		return -1, nil
	}
	if x, err := strconv.ParseFloat(value, 64); err == nil {
		if id, ok := v.values[x]; ok {
			return id, nil
		}
	}
	known := v.names
	more := ""
	if len(known) > 10 {
		known, more = known[:10], fmt.Sprintf(", ... (%d values)", len(v.names))
	}
	if i := slices.Index(known, ""); i >= 0 {
		known = slices.Replace(slices.Clone(known), i, i+1, `""`)
	}
	return 0, fmt.Errorf("unknown label %s, expected one of %s%s: correct the cell or extend the vocabulary", shown(value), strings.Join(known, ", "), more)
}

// text returns a default value as a file would write it.
func text(v any) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case float32:
		return strconv.FormatFloat(float64(x), 'g', -1, 32), nil
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), nil
	case int, int32, int64, uint8, bool:
		return fmt.Sprint(x), nil
	}
	return "", fmt.Errorf("default must be a number, a string or a bool, got %T", v)
}
