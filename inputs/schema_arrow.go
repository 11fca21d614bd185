package inputs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/tensor"
)

// Keys of the Arrow field metadata for properties that Arrow types cannot express.
const (
	metaShape = "goestimator.shape" // dimensions, comma separated
	metaRole  = "goestimator.role"
)

var arrowTypes = map[tensor.DType]arrow.DataType{
	tensor.Float32: arrow.PrimitiveTypes.Float32, tensor.Float64: arrow.PrimitiveTypes.Float64,
	tensor.Int8: arrow.PrimitiveTypes.Int8, tensor.Int16: arrow.PrimitiveTypes.Int16,
	tensor.Int32: arrow.PrimitiveTypes.Int32, tensor.Int64: arrow.PrimitiveTypes.Int64,
	tensor.Uint8: arrow.PrimitiveTypes.Uint8, tensor.Uint16: arrow.PrimitiveTypes.Uint16,
	tensor.Uint32: arrow.PrimitiveTypes.Uint32, tensor.Uint64: arrow.PrimitiveTypes.Uint64,
	tensor.Bool: arrow.FixedWidthTypes.Boolean, tensor.Float16: arrow.FixedWidthTypes.Float16,
	tensor.String: arrow.BinaryTypes.Binary,
}

var dtypeOf = func() map[arrow.Type]tensor.DType {
	m := map[arrow.Type]tensor.DType{arrow.STRING: tensor.String}
	for d, t := range arrowTypes {
		m[t.ID()] = d
	}
	return m
}()

// field returns the Arrow field of a column. It is nullable, though our records
// hold no nulls: arrow v15 writes lists of a non-nullable field to Parquet as nulls.
func (c Column) field() (arrow.Field, error) {
	elem, ok := arrowTypes[c.DType]
	if !ok {
		return arrow.Field{}, fmt.Errorf("column %q: element type %s cannot be held in a record batch", c.Name, c.DType)
	}
	keys, values := []string{metaRole}, []string{string(c.Role)}
	t := elem
	switch {
	case c.Ragged:
		t = arrow.ListOf(elem)
	case len(c.Shape) > 0:
		t = arrow.FixedSizeListOf(int32(c.Size()), elem)
		dims := make([]string, len(c.Shape))
		for i, d := range c.Shape {
			dims[i] = strconv.Itoa(d)
		}
		keys, values = append(keys, metaShape), append(values, strings.Join(dims, ","))
	}
	return arrow.Field{Name: c.Name, Type: t, Nullable: true, Metadata: arrow.NewMetadata(keys, values)}, nil
}

// SchemaFromArrow returns the Schema of records of the given Arrow schema.
// Columns without our metadata are features; a fixed-size list without a shape
// is a vector. It fails for a column whose type has no tensor form, and names it.
func SchemaFromArrow(as *arrow.Schema) (*Schema, error) {
	columns := make([]Column, as.NumFields())
	for i, f := range as.Fields() {
		c, err := columnOf(f)
		if err != nil {
			return nil, err
		}
		columns[i] = c
	}
	return newSchema(columns, as)
}

func columnOf(f arrow.Field) (Column, error) {
	c := Column{Name: f.Name, Role: Feature}
	elem := f.Type
	switch t := f.Type.(type) {
	case *arrow.ListType:
		c.Ragged, elem = true, t.Elem()
	case *arrow.FixedSizeListType:
		elem = t.Elem()
		c.Shape = []int{int(t.Len())}
	}
	var ok bool
	if c.DType, ok = dtypeOf[elem.ID()]; !ok {
		return Column{}, fmt.Errorf("column %q: Arrow type %s has no tensor form: leave the column out or convert it", f.Name, f.Type)
	}
	if r, ok := f.Metadata.GetValue(metaRole); ok {
		c.Role = Role(r)
	}
	if s, ok := f.Metadata.GetValue(metaShape); ok {
		shape, err := parseShape(s)
		if err != nil || len(c.Shape) == 0 || tensor.NumElements(shape) != c.Shape[0] {
			return Column{}, fmt.Errorf("column %q: shape %q in its metadata does not fit Arrow type %s", f.Name, s, f.Type)
		}
		c.Shape = shape
	}
	return c, c.validate()
}

func parseShape(s string) ([]int, error) {
	parts := strings.Split(s, ",")
	shape := make([]int, len(parts))
	for i, p := range parts {
		d, err := strconv.Atoi(p)
		if err != nil || d <= 0 || d > 1<<30 {
			return nil, fmt.Errorf("bad dimension %q", p)
		}
		shape[i] = d
	}
	return shape, nil
}
