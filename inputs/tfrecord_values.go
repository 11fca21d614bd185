package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/internal/format/tfexample"
	"github.com/goestimator/goestimator/tensor"
)

// feature is a feature of an example whose values have not been read yet.
type feature struct {
	kind  tfexample.Kind // None: the example does not have the feature
	list  []byte
	count int
}

// newFeature returns a serialized feature with the number of its values.
func newFeature(ctx context.Context, serialized []byte) (feature, error) {
	kind, list, ok := tfexample.List(ctx, serialized)
	n := tfexample.Count(ctx, kind, list)
	if !ok || n < 0 {
		return feature{}, errors.New("feature is malformed: write the file again")
	}
	return feature{kind, list, n}, nil
}

// valueBuffer holds the values of one feature, in memory that it reuses.
type valueBuffer struct {
	bytes  [][]byte
	floats []float32
	ints   []int64
}

// write writes a feature as the value of a column.
func (v *valueBuffer) write(f textField, b array.Builder, x feature) error {
	switch b := b.(type) {
	case *array.ListBuilder:
		if x.kind == tfexample.None && f.spec.Role == Label {
			return errMissingList
		}
		b.Append(true)
		return v.elements(f, b.ValueBuilder(), x)
	case *array.FixedSizeListBuilder:
		b.Append(true)
		return v.dense(f, b.ValueBuilder(), x)
	}
	return v.dense(f, b, x)
}

// dense writes as many values as the column's shape has, or the default value.
func (v *valueBuffer) dense(f textField, b array.Builder, x feature) error {
	switch {
	case x.kind == tfexample.None && f.fallback == nil:
		return errMissing
	case x.kind == tfexample.None:
		for range f.size {
			if err := f.write(b, *f.fallback); err != nil {
				return err
			}
		}
		return nil
	case x.count != f.size:
		return fmt.Errorf("value has %d elements, expected %d (shape %v): correct the shape, or set ragged for a list of any length", x.count, f.size, f.spec.Shape)
	}
	return v.elements(f, b, x)
}

// elements writes all values of a feature, as text if the column's type differs
// from the file's.
func (v *valueBuffer) elements(f textField, b array.Builder, x feature) error {
	if v.asTheyAre(f, b, x) {
		return nil
	}
	var err error
	v.texts(x, func(cell []byte) bool {
		err = f.write(b, f.cell(x.kind, string(cell)))
		return err == nil
	})
	return err
}

// cell returns the text of a value for a column of another type than the file's. A float is written as an integer, except for a column of texts.
func (f textField) cell(kind tfexample.Kind, text string) string {
	if kind != tfexample.Floats || f.spec.DType == tensor.String.String() || f.spec.textual("") {
		return text
	}
	return f.spec.wholeText(text)
}

// asTheyAre writes the values of a feature to a column of the file's type. It returns false if the column has another type.
func (v *valueBuffer) asTheyAre(f textField, b array.Builder, x feature) bool {
	switch b := b.(type) {
	case *array.BinaryBuilder:
		if x.kind == tfexample.Bytes {
			v.bytes = sized(v.bytes, x.count)
			tfexample.ReadBytes(v.bytes, x.list)
			for _, s := range v.bytes {
				b.Append(s)
			}
			return true
		}
	case *array.Float32Builder:
		if x.kind == tfexample.Floats {
			v.floats = sized(v.floats, x.count)
			tfexample.ReadFloats(v.floats, x.list)
			b.AppendValues(v.floats, nil)
			return true
		}
	case *array.Float64Builder:
		if x.kind == tfexample.Floats {
			v.floats = sized(v.floats, x.count)
			tfexample.ReadFloats(v.floats, x.list)
			for _, x := range v.floats {
				b.Append(float64(x))
			}
			return true
		}
	case *array.Int64Builder:
		if x.kind == tfexample.Ints && len(f.spec.Vocabulary) == 0 {
			v.ints = sized(v.ints, x.count)
			tfexample.ReadInts(v.ints, x.list)
			b.AppendValues(v.ints, nil)
			return true
		}
	}
	return false
}

// sized returns s with n elements.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// texts calls f with each value of a feature as text, until it returns false.
func (v *valueBuffer) texts(x feature, f func(cell []byte) bool) bool {
	var cell [32]byte
	switch x.kind {
	case tfexample.Bytes:
		v.bytes = sized(v.bytes, x.count)
		tfexample.ReadBytes(v.bytes, x.list)
		for _, s := range v.bytes {
			if !f(s) {
				return false
			}
		}
	case tfexample.Floats:
		v.floats = sized(v.floats, x.count)
		tfexample.ReadFloats(v.floats, x.list)
		for _, x := range v.floats {
			if !f(strconv.AppendFloat(cell[:0], float64(x), 'g', -1, 32)) {
				return false
			}
		}
	case tfexample.Ints:
		v.ints = sized(v.ints, x.count)
		tfexample.ReadInts(v.ints, x.list)
		for _, x := range v.ints {
			if !f(strconv.AppendInt(cell[:0], x, 10)) {
				return false
			}
		}
	}
	return true
}
