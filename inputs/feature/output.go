package feature

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Form is what a column of the transformed records holds of a feature column.
type Form int

// The forms of an Output.
const (
	FormDense           Form = iota // float32 [Width]
	FormIDs                         // ragged int64
	FormWeights                     // ragged float32
	FormPositiveIDs                 // FormIDs of positive weight
	FormPositiveWeights             // their weights
	FormIDSteps                     // ragged int64, a step each, -1: none
	FormNumberSteps                 // ragged float32, Width a step
)

func (f Form) suffix() string {
	return [...]string{"", "/ids", "/weights", "/positive/ids", "/positive/weights", "/steps", "/steps"}[f]
}

// Output is a column of the transformed records.
type Output struct {
	Name   string
	Form   Form
	Column Column // what it is made of
}

// describe is the output as a column of a data set.
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

// known returns the ids of the output other than -1.
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

// fixed is an array of lists of one length; it takes the values over.
func fixed(child arrow.ArrayData, rows, width int) arrow.Array {
	defer child.Release()
	d := array.NewData(arrow.FixedSizeListOf(int32(width), child.DataType()), rows, []*memory.Buffer{nil}, []arrow.ArrayData{child}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// lists is an array of lists; it takes the values over.
func lists(values arrow.ArrayData, offsets []int32) arrow.Array {
	defer values.Release()
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}
	d := array.NewData(arrow.ListOf(values.DataType()), len(offsets)-1, buffers, []arrow.ArrayData{values}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// columnError names the column of an error that does not do so itself.
func columnError(c Column, err error) error {
	return fmt.Errorf("column %q: %w", c.Name(), err)
}
