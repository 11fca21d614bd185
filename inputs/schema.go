package inputs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/tensor"
)

// Role says what a column is for.
type Role string

// The roles of a column.
const (
	Feature Role = "feature"
	Label   Role = "label"
	Weight  Role = "weight"
)

// Column describes one column of a Dataset.
type Column struct {
	Name   string
	DType  tensor.DType
	Shape  []int // shape of one example; empty: a scalar
	Ragged bool  // each example has a list of DType scalars of any length; Shape is empty
	Role   Role  // "" means Feature
	// Default is the value, of DType and Shape, of an example in which the column is missing; nil: there is none.
	// Sources fill it in. It is here for inputs that do not come from a source, such as the
	// examples of an exported model.
	Default *tensor.Tensor
}

// Size returns the number of elements of one example, 1 for a scalar.
func (c Column) Size() int { return tensor.NumElements(c.Shape) }

// String returns the column in the form "image uint8[28 28 1] feature".
func (c Column) String() string {
	shape := ""
	switch {
	case c.Ragged:
		shape = "[...]"
	case len(c.Shape) > 0:
		shape = fmt.Sprint(c.Shape)
	}
	return fmt.Sprintf("%s %s%s %s", c.Name, c.DType, shape, c.Role)
}

// equal reports whether two columns are the same.
func (c Column) equal(o Column) bool {
	return c.Name == o.Name && c.DType == o.DType && c.Ragged == o.Ragged && c.Role == o.Role && slices.Equal(c.Shape, o.Shape)
}

// Schema is the ordered set of columns of a Dataset. It is immutable.
type Schema struct {
	columns []Column
	arrow   *arrow.Schema
}

// NewSchema returns a schema of the given columns. Names must be distinct and
// not empty, element types representable in Arrow, dimensions positive.
func NewSchema(columns ...Column) (*Schema, error) {
	fields := make([]arrow.Field, len(columns))
	columns = slices.Clone(columns)
	for i := range columns {
		c := &columns[i]
		if c.Role == "" {
			c.Role = Feature
		}
		if err := c.validate(); err != nil {
			return nil, err
		}
		f, err := c.field()
		if err != nil {
			return nil, err
		}
		fields[i] = f
	}
	return newSchema(columns, arrow.NewSchema(fields, nil))
}

func newSchema(columns []Column, as *arrow.Schema) (*Schema, error) {
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c.Name] {
			return nil, fmt.Errorf("column %q occurs twice: give each column a name of its own", c.Name)
		}
		seen[c.Name] = true
	}
	return &Schema{columns: columns, arrow: as}, nil
}

func (c Column) validate() error {
	if c.Name == "" {
		return fmt.Errorf("a column has no name: give every column one")
	}
	if c.Role != Feature && c.Role != Label && c.Role != Weight {
		return fmt.Errorf("column %q: role must be feature, label or weight, got %q", c.Name, c.Role)
	}
	if c.Ragged && len(c.Shape) > 0 {
		return fmt.Errorf("column %q: a ragged column has no shape, got %v", c.Name, c.Shape)
	}
	if c.Ragged && c.Role == Weight {
		return fmt.Errorf("column %q: the weight of an example cannot be ragged: give one number", c.Name)
	}
	size := 1
	for _, d := range c.Shape {
		if d <= 0 || size > 1<<30/d {
			return fmt.Errorf("column %q: dimensions must be positive and hold at most 2^30 elements, got %v", c.Name, c.Shape)
		}
		size *= d
	}
	if d := c.Default; d != nil && (c.Ragged || d.DType != c.DType || !slices.Equal(d.Shape, c.Shape)) {
		return fmt.Errorf("column %q: its default is %s%v, expected %s%v", c.Name, d.DType, d.Shape, c.DType, c.Shape)
	}
	return nil
}

// Columns returns the columns in order; the caller must not change them.
func (s *Schema) Columns() []Column { return s.columns }

// Arrow returns the Arrow schema of every record.
func (s *Schema) Arrow() *arrow.Schema { return s.arrow }

// Index returns the position of the named column, -1 if there is none.
func (s *Schema) Index(name string) int {
	return slices.IndexFunc(s.columns, func(c Column) bool { return c.Name == name })
}

// Column returns the named column. The error for an unknown name lists the known ones.
func (s *Schema) Column(name string) (Column, error) {
	if i := s.Index(name); i >= 0 {
		return s.columns[i], nil
	}
	return Column{}, fmt.Errorf("unknown column %q: the data has %s", name, s.names())
}

// ByRole returns the columns with a role, in order.
func (s *Schema) ByRole(r Role) []Column {
	var out []Column
	for _, c := range s.columns {
		if c.Role == r {
			out = append(out, c)
		}
	}
	return out
}

// Equal reports whether both schemas have the same columns in the same order.
func (s *Schema) Equal(o *Schema) bool {
	return slices.EqualFunc(s.columns, o.columns, Column.equal)
}

// String lists the columns, separated by commas.
func (s *Schema) String() string {
	parts := make([]string, len(s.columns))
	for i, c := range s.columns {
		parts[i] = c.String()
	}
	return strings.Join(parts, ", ")
}

func (s *Schema) names() string {
	if len(s.columns) == 0 {
		return "no columns"
	}
	parts := make([]string, len(s.columns))
	for i, c := range s.columns {
		parts[i] = c.Name
	}
	return strings.Join(parts, ", ")
}
