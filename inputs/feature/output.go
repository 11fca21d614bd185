package feature

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Form is the form in which a column of the transformed records holds a feature column.
type Form int

// The forms of an Output.
const (
	FormDense           Form = iota // float32 [Width]
	FormIDs                         // ragged int64
	FormWeights                     // ragged float32
	FormPositiveIDs                 // FormIDs, only those with positive weights
	FormPositiveWeights             // their weights
	FormIDSteps                     // ragged int64, one per step, -1: none
	FormNumberSteps                 // ragged float32, Width per step
)

func (f Form) suffix() string {
	return [...]string{"", "/ids", "/weights", "/positive/ids", "/positive/weights", "/steps", "/steps"}[f]
}

// Output is a column of the transformed records.
type Output struct {
	Name   string
	Form   Form
	Column Column // the column that it holds
}

// describe returns the output as a column of a data set.
func (o *Output) describe() inputs.Column {
	c := inputs.Column{Name: o.Name, DType: tensor.Float32, Ragged: true}
	switch o.Form {
	case FormDense:
		c.Ragged, c.Shape = false, []int{o.Column.(Dense).Width()}
	case FormIDs, FormPositiveIDs, FormIDSteps:
		c.DType = tensor.Int64
	}
	return c
}

// make computes the output into m.
func (o *Output) make(b *batch, m *made) error {
	switch o.Form {
	case FormDense:
		c, ok := vectors(o.Column)
		if !ok {
			return fmt.Errorf("%v makes no vectors", o.Column)
		}
		return c.dense(b, m.dense(b.rows(), c.Width()))
	case FormNumberSteps:
		x, offsets, err := o.Column.(series).steps(b)
		if err == nil {
			m.numberLists(x, offsets)
		}
		return err
	case FormIDSteps:
		l, err := idsOf(o.Column, b)
		if err == nil {
			m.idLists(l.values, l.offsets)
		}
		return err
	}
	l, err := o.known(b)
	switch {
	case err != nil:
		return err
	case o.Form == FormWeights || o.Form == FormPositiveWeights:
		m.numberLists(l.weights, l.offsets)
	default:
		m.idLists(l.values, l.offsets)
	}
	return nil
}

// known returns the ids of the output except -1.
func (o *Output) known(b *batch) (*idList, error) {
	positive, what := false, "known"
	if o.Form == FormPositiveIDs || o.Form == FormPositiveWeights {
		positive, what = true, "known positive"
	}
	l, err := idsOf(o.Column, b)
	if err != nil {
		return nil, err
	}
	if !l.dropsAny(positive) {
		return l, nil
	}
	return b.ids(o.Column, what, func(into *idList) (*idList, error) {
		l.known(positive, into)
		return into, nil
	})
}

func floatData(x []float32) arrow.ArrayData {
	return array.NewData(arrow.PrimitiveTypes.Float32, len(x), []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Float32Traits.CastToBytes(x))}, nil, 0, 0)
}

func intData(x []int64) arrow.ArrayData {
	return array.NewData(arrow.PrimitiveTypes.Int64, len(x), []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(x))}, nil, 0, 0)
}

// fixed returns an array of fixed-size lists; it takes ownership of child.
func fixed(child arrow.ArrayData, rows, width int) arrow.Array {
	defer child.Release()
	d := array.NewData(arrow.FixedSizeListOf(int32(width), child.DataType()), rows, []*memory.Buffer{nil}, []arrow.ArrayData{child}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// lists returns an array of lists; it takes ownership of values.
func lists(values arrow.ArrayData, offsets []int32) arrow.Array {
	defer values.Release()
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}
	d := array.NewData(arrow.ListOf(values.DataType()), len(offsets)-1, buffers, []arrow.ArrayData{values}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// columnError adds the column's name to an error that does not have it.
func columnError(c Column, err error) error {
	return fmt.Errorf("column %q: %w", c.Name(), err)
}
