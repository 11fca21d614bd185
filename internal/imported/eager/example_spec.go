package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/tfexample"
	"github.com/goestimator/goestimator/tensor"
)

// columnKind says in which form a feature of parsed examples is returned.
type columnKind uint8

const (
	sparseColumn columnKind = iota
	denseColumn
	raggedColumn
)

// column is one feature that a parsing op looks for.
type column struct {
	kind   columnKind
	name   string
	dtype  tensor.DType
	list   tfexample.Kind
	splits tensor.DType // of a ragged column

	// For a dense column. A variable one has any multiple of stride values, and
	// is padded to the longest in the batch.
	shape    []int // without the batch, and for a variable one without the first dimension
	stride   int   // values in a row, or in a step of a variable one
	variable bool
	fallback *tensor.Tensor // empty if the feature is required
	optional bool           // for a feature list: a missing one has no steps
}

// exampleSpec is what a parsing op looks for: sparse, dense and ragged columns in
// the order of the outputs.
type exampleSpec struct {
	columns []column
	byName  map[string]int
}

// columnAttrs has the names of an op's attributes for columns.
type columnAttrs struct{ sparse, dense, shapes, ragged, splits string }

var (
	exampleAttrs = columnAttrs{"sparse_types", "Tdense", "dense_shapes", "ragged_value_types", "ragged_split_types"}
	contextAttrs = columnAttrs{"context_sparse_types", "Tcontext_dense", "context_dense_shapes", "context_ragged_value_types", "context_ragged_split_types"}
	stepAttrs    = columnAttrs{"feature_list_sparse_types", "feature_list_dense_types", "feature_list_dense_shapes", "feature_list_ragged_value_types", "feature_list_ragged_split_types"}
)

// columnTypes returns the columns that a parsing op's attributes describe, still
// without names and defaults.
func columnTypes(s *site, attrs columnAttrs) []column {
	var cols []column
	add := func(kind columnKind, attr string) {
		for _, d := range list[tensor.DType](s, attr) {
			c := column{kind: kind, dtype: d, list: listOf(d)}
			if c.list == tfexample.None {
				s.fail("attribute %s: expected float32, int64 or string, got %v", attr, d)
			}
			cols = append(cols, c)
		}
	}
	add(sparseColumn, attrs.sparse)
	first := len(cols)
	add(denseColumn, attrs.dense)
	shapes := list[graph.Shape](s, attrs.shapes)
	if len(shapes) != len(cols)-first {
		s.fail("attribute %s: expected %d shapes, got %d", attrs.shapes, len(cols)-first, len(shapes))
		return nil
	}
	for i, shape := range shapes {
		if err := cols[first+i].setShape(shape); err != nil {
			s.fail("attribute %s[%d]: %w", attrs.shapes, i, err)
		}
	}
	first = len(cols)
	add(raggedColumn, attrs.ragged)
	splits := list[tensor.DType](s, attrs.splits)
	if len(splits) != len(cols)-first {
		s.fail("attribute %s: expected %d types, got %d", attrs.splits, len(cols)-first, len(splits))
		return nil
	}
	for i, d := range splits {
		if d != tensor.Int32 && d != tensor.Int64 {
			s.fail("attribute %s: expected int32 or int64, got %v", attrs.splits, d)
		}
		cols[first+i].splits = d
	}
	return cols
}

func listOf(d tensor.DType) tfexample.Kind {
	switch d {
	case tensor.String:
		return tfexample.Bytes
	case tensor.Float32:
		return tfexample.Floats
	case tensor.Int64:
		return tfexample.Ints
	}
	return tfexample.None
}

func (c *column) setShape(s graph.Shape) error {
	if s.UnknownRank {
		return fmt.Errorf("the rank must be known")
	}
	dims := s.Dims
	if len(dims) > 0 && !dims[0].Static() {
		c.variable = true
		dims = dims[1:]
	}
	for _, d := range dims {
		if !d.Static() {
			return fmt.Errorf("%v: only the first dimension may be unknown", s)
		}
		c.shape = append(c.shape, d.Const)
	}
	n, err := elements(c.shape)
	if err == nil && c.variable && n == 0 {
		return fmt.Errorf("%v: expected no size of 0 where the length varies", s)
	}
	c.stride = n
	return err
}

// shapeText formats the shape for error messages.
func (c *column) shapeText() string {
	s := "["
	if c.variable {
		s += "?"
	}
	for i, d := range c.shape {
		if i > 0 || c.variable {
			s += ","
		}
		s += fmt.Sprint(d)
	}
	return s + "]"
}

// setDefault checks and stores the default for a missing dense feature.
func (c *column) setDefault(t *tensor.Tensor) error {
	if t.DType != c.dtype {
		return fmt.Errorf("default of dense feature %q: expected type %v, got %v", c.name, c.dtype, t.DType)
	}
	switch n := t.Len(); {
	case c.variable && n != 1:
		return fmt.Errorf("dense feature %q has a variable length: expected a default of a single element (the padding), got shape %v", c.name, t.Shape)
	case !c.variable && n > 0 && !slices.Equal(t.Shape, c.shape):
		return fmt.Errorf("default of dense feature %q: expected shape %v, got %v", c.name, c.shape, t.Shape)
	}
	c.fallback = t
	return nil
}

// newExampleSpec indexes columns by name.
func newExampleSpec(cols []column) (*exampleSpec, error) {
	s := &exampleSpec{columns: cols, byName: make(map[string]int, len(cols))}
	for i, c := range cols {
		if _, twice := s.byName[c.name]; twice {
			return nil, fmt.Errorf("feature %q is asked for twice", c.name)
		}
		s.byName[c.name] = i
	}
	return s, nil
}

// countKind returns the number of columns of a kind.
func countKind(cols []column, k columnKind) int {
	n := 0
	for _, c := range cols {
		if c.kind == k {
			n++
		}
	}
	return n
}
