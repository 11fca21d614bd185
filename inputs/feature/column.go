package feature

import (
	"fmt"
	"regexp"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// A Column is a feature column: data that says how to read features. The pointer
// types of this package are columns; users write others as a Formula or a Mapping. Columns must
// not be changed once a Plan has them.
type Column interface {
	// Name is TensorFlow's name of the column, part of its variables' names.
	Name() string
	// String is the declaration, for reports and to tell columns apart: columns with
	// different settings must return different strings.
	String() string
}

// A Categorical column turns features into ids.
type Categorical interface {
	Column
	// Buckets is the number of ids: they lie in [0, Buckets).
	Buckets() int
}

// A Dense column makes a vector of Width numbers from each example.
type Dense interface {
	Column
	Width() int
}

// builtin is implemented by all columns of this package, and by wrappers of a user's columns.
type builtin interface {
	Column
	// check returns what is wrong with the column itself.
	check() error
	// parents are the columns that it is made of.
	parents() []Column
	// reads are the raw features that it reads itself.
	reads() []read
}

// identifier is a column that makes ids.
type identifier interface {
	ids(b *batch) (*idList, error)
}

// vectorizer is a column that makes vectors.
type vectorizer interface {
	Width() int
	// dense writes rows*Width numbers over out, which is all zeros.
	dense(b *batch, out []float32) error
}

// asBuiltin returns c as a column of this package; it wraps a user's column.
func asBuiltin(c Column) (builtin, error) {
	switch c := c.(type) {
	case Formula:
		return formula{c}, nil
	case Mapping:
		return mapping{c}, nil
	case builtin:
		return c, nil
	}
	return nil, fmt.Errorf("column %q of type %T: expected a column of package feature, or a type with the methods of feature.Formula or feature.Mapping", c.Name(), c)
}

// users reports whether c is a column that a user wrote.
func users(c Column) bool {
	switch c.(type) {
	case Formula, Mapping:
		return true
	}
	return false
}

// idsOf returns the ids of a column that a Plan has checked.
func idsOf(c Column, b *batch) (*idList, error) {
	k, err := asBuiltin(c)
	if err != nil {
		return nil, err
	}
	return k.(identifier).ids(b)
}

// vectors returns c as a column that makes vectors, false if it makes none.
func vectors(c Column) (vectorizer, bool) {
	k, err := asBuiltin(c)
	if err != nil {
		return nil, false
	}
	v, ok := k.(vectorizer)
	return v, ok
}

// kind says what values a column can read.
type kind string

const (
	text    kind = "strings"
	integer kind = "integers"
	number  kind = "numbers"
	token   kind = "strings or integers"
)

// read is a raw feature that a column reads.
type read struct {
	key   string
	kind  kind
	size  int         // numbers per example; 0: any, and ragged features, too
	shape []int       // of an example, for messages and example specs
	spec  ExampleSpec // how it is parsed from examples,
	// yields: unless another column says how
	yields bool
}

// accepts returns an error if a column of the data cannot be read so.
func (r read) accepts(c inputs.Column) error {
	var ok bool
	switch r.kind {
	case text:
		ok = c.DType == tensor.String
	case integer:
		ok = isInteger(c.DType)
	case token:
		ok = c.DType == tensor.String || isInteger(c.DType)
	case number:
		ok = c.DType == tensor.Float32 || c.DType == tensor.Float64 || c.DType == tensor.Bool || isInteger(c.DType)
	}
	switch {
	case !ok:
		return fmt.Errorf("feature %q: expected %s, the data has %s: set dtype, or use another kind of column", r.key, r.kind, c)
	case r.size > 0 && (c.Ragged || c.Size() != r.size):
		return fmt.Errorf("feature %q: expected shape %v, the data has %s", r.key, r.shape, c)
	case c.Role == inputs.Label:
		return fmt.Errorf("feature %q is a label of the data: a column cannot read it", r.key)
	}
	return nil
}

func isInteger(d tensor.DType) bool {
	switch d {
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return true
	}
	return false
}

var notInScope = regexp.MustCompile(`[^A-Za-z0-9_.\-]`)

// scope returns a column's name as part of a variable's name.
func scope(name string) string { return notInScope.ReplaceAllString(name, "_") }

// positive checks a number that must be at least 1.
func positive(what string, n int) error {
	if n < 1 {
		return fmt.Errorf("%s must be at least 1, got %d", what, n)
	}
	return nil
}

func noKey(key string) error {
	if key == "" {
		return fmt.Errorf("no key: name the feature that the column reads")
	}
	return nil
}

// dtypeKind is the kind of values of a categorical column's element type;
// Invalid, the zero value, means strings.
func dtypeKind(d tensor.DType) kind {
	if isInteger(d) {
		return integer
	}
	return text
}

func checkDType(d tensor.DType) error {
	if d != 0 && d != tensor.String && !isInteger(d) {
		return fmt.Errorf("dtype must be string or an integer type, got %s", d)
	}
	return nil
}

// categoryRead returns what a categorical column reads of one feature.
func categoryRead(key string, d tensor.DType) []read {
	if d == 0 {
		d = tensor.String
	}
	return []read{{key: key, kind: dtypeKind(d), spec: ExampleSpec{Key: key, DType: d, VarLen: true}}}
}
