package rest

import (
	"strconv"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/tensor"
)

// jsonTypes are the types as which elements of a narrow type are read and written.
var jsonTypes = map[tensor.DType]tensor.DType{tensor.Int8: tensor.Int32, tensor.Int16: tensor.Int32, tensor.Uint8: tensor.Int32, tensor.Uint16: tensor.Int32,
	tensor.Float16: tensor.Float32, tensor.BFloat16: tensor.Float32}

// fromJSON reads elements, as one list or as lists in lists.
func (g inferInput) fromJSON() (*tensor.Tensor, error) {
	d, err := openinference.DType(g.Datatype)
	if err != nil {
		return nil, err
	}
	read := d
	if wide, ok := jsonTypes[d]; ok {
		read = wide
	}
	c := g.data
	lists, err := shapeOf(c, nil)
	if err != nil {
		return nil, err
	}
	s, err := c.d.newSink(read, room(c.end()-c.p, lists, read))
	if err != nil {
		return nil, err
	}
	if err := s.fill(&c, lists, 0); err != nil {
		return nil, err
	}
	shape, n, err := g.Size(s.n)
	if err != nil {
		return nil, err
	}
	if n != s.n {
		return nil, invalid("input %q: %d elements for shape %v, expected %d", shown([]byte(g.Name)), s.n, g.Shape, n)
	}
	t := s.tensor(shape)
	if read == d {
		return t, nil
	}
	if err := c.d.takeTimes(n, d.Size()); err != nil {
		return nil, err
	}
	narrow := tensor.New(d, shape...)
	if !narrowed(narrow, t) {
		return nil, invalid("input %q: an element is beyond %s", shown([]byte(g.Name)), g.Datatype)
	}
	return narrow, nil
}

// narrowed converts from to the type of to; it returns false if an integer does not fit.
func narrowed(to, from *tensor.Tensor) bool {
	switch to.DType {
	case tensor.Int8:
		return openinference.Narrow(tensor.Values[int8](to), tensor.Values[int32](from))
	case tensor.Int16:
		return openinference.Narrow(tensor.Values[int16](to), tensor.Values[int32](from))
	case tensor.Uint8:
		return openinference.Narrow(tensor.Values[uint8](to), tensor.Values[int32](from))
	case tensor.Uint16:
		return openinference.Narrow(tensor.Values[uint16](to), tensor.Values[int32](from))
	}
	convert.Between(from.DType, to.DType)(to.Bytes, from.Bytes)
	return true
}

// shape writes the member "shape".
func (w *writer) shape(shape any) {
	w.quoted([]byte("shape"))
	w.open('[')
	w.single = true
	switch s := shape.(type) {
	case []int:
		for _, d := range s {
			w.raw(strconv.Itoa(d))
		}
	case []int64:
		for _, d := range s {
			w.raw(strconv.FormatInt(d, 10))
		}
	}
	w.close(']')
	w.single = false
}

// data writes the elements of a tensor as one list.
func (w *writer) data(t *tensor.Tensor, name string) error {
	for i, s := range t.Strings {
		if !utf8.Valid(s) {
			return invalid("output %s: element %d is not UTF-8, which JSON must be: ask for it as binary_data", name, i)
		}
	}
	if wide, ok := jsonTypes[t.DType]; ok && t.DType != tensor.Int8 && t.DType != tensor.Int16 && t.DType != tensor.Uint8 {
		if err := w.account.ReserveModel(wide.Size() * t.Len()); err != nil {
			return err
		}
		as := tensor.New(wide, t.Shape...)
		convert.Between(t.DType, wide)(as.Bytes, t.Bytes)
		t = as
	}
	w.quoted([]byte("data"))
	w.open('[')
	w.single = true
	v := values{t: t}
	if err := w.elements(&v, t.Len()); err != nil {
		return err
	}
	w.close(']')
	w.single = false
	return nil
}
