package rest

import (
	"math"

	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxRank is the largest rank of a tensor, as in TensorFlow.
const maxRank = 254

// typeNames are TensorFlow's names of types, where they differ from graph's.
var typeNames = map[tensor.DType]string{tensor.Float32: "float", tensor.Float64: "double", tensor.Float16: "half"}

func typeName(d tensor.DType) string {
	if s, ok := typeNames[d]; ok {
		return s
	}
	return d.String()
}

// sink collects the elements of one tensor. The text bounds their number: the shape that a request claims
// allocates nothing before its elements are read.
type sink struct {
	d *document
	t *tensor.Tensor // its shape is one dimension, the room
	n int            // elements so far
}

// newSink returns a sink with room for that many elements.
func (d *document) newSink(t tensor.DType, room int) (*sink, error) {
	if err := d.takeTimes(room, elementSize(t)); err != nil {
		return nil, err
	}
	return &sink{d: d, t: tensor.New(t, room)}, nil
}

// tensor returns the elements as a tensor of that shape.
func (s *sink) tensor(shape []int) *tensor.Tensor {
	t := s.t
	t.Shape = shape
	if t.DType == tensor.String {
		t.Strings = t.Strings[:s.n]
	} else {
		t.Bytes = t.Bytes[:s.n*t.DType.Size()]
	}
	return t
}

// reserve makes room for count more elements.
func (s *sink) reserve(count int) error {
	room := s.t.Shape[0]
	if s.n+count <= room {
		return nil
	}
	bigger, err := s.d.newSink(s.t.DType, max(s.n+count, room+room/2))
	if err != nil {
		return err
	}
	copy(bigger.t.Bytes, s.t.Bytes)
	copy(bigger.t.Strings, s.t.Strings)
	s.d.give(room * elementSize(s.t.DType))
	s.t = bigger.t
	return nil
}

// next returns the slots of the next count elements.
func next[T tensor.Element](s *sink, count int) []T { return tensor.Values[T](s.t)[s.n : s.n+count] }

// halves is next for types whose elements have 16 bits.
func (s *sink) halves(count int) []uint16 {
	bits := &tensor.Tensor{DType: tensor.Uint16, Shape: s.t.Shape, Bytes: s.t.Bytes}
	return tensor.Values[uint16](bits)[s.n : s.n+count]
}

// shapeOf returns the shape of a value, as its first elements show it, in the memory of shape; a value that is
// not a list is a scalar.
func shapeOf(c cursor, shape []int) ([]int, error) {
	shape = shape[:0]
	for c.isList() {
		count := c.count()
		if shape = append(shape, count); len(shape) > maxRank {
			return nil, invalid("Encountered lists nested deeper than %d levels", maxRank)
		}
		if count == 0 {
			break
		}
		c.enter()
	}
	return shape, nil
}

// fill moves past the value at c, which must have that shape, and adds its elements to s.
func (s *sink) fill(c *cursor, shape []int, depth int) error {
	if !c.isList() {
		if depth != len(shape) {
			return invalid("JSON Value: %s found at incorrect level: %d in the JSON DOM. Expected at level: %d", c.d.debug(*c), depth+1, len(shape))
		}
		return s.elements(c, 1, len(shape))
	}
	if depth >= len(shape) {
		return listTooDeep(depth)
	}
	count := c.count()
	if count != shape[depth] {
		return invalid("Encountered list at unexpected size: %d at level: %d expected size: %d", count, depth, shape[depth])
	}
	c.enter()
	if depth == len(shape)-1 {
		if err := s.elements(c, count, len(shape)); err != nil {
			return err
		}
	} else {
		for range count {
			if err := s.fill(c, shape, depth+1); err != nil {
				return err
			}
		}
	}
	c.separator(c.p + 1)
	return nil
}

func listTooDeep(depth int) error {
	return invalid("Encountered list at unexpected level: %d expected < %d", depth, depth)
}

// elements adds count elements of the lowest level of a tensor of that rank.
func (s *sink) elements(c *cursor, count, rank int) error {
	if err := s.reserve(count); err != nil {
		return err
	}
	done := 0
	switch s.t.DType {
	case tensor.Float32:
		done = floats32(c, next[float32](s, count))
	case tensor.Float64:
		done = floats64(c, next[float64](s, count))
	case tensor.Float16:
		done = halves(c, s.halves(count), tensor.Float16Bits)
	case tensor.BFloat16:
		done = halves(c, s.halves(count), tensor.BFloat16Bits)
	case tensor.Int32:
		done = ints(c, next[int32](s, count), math.MinInt32, math.MaxInt32)
	case tensor.Int16:
		done = ints(c, next[int16](s, count), math.MinInt32, math.MaxInt32)
	case tensor.Int8:
		done = ints(c, next[int8](s, count), math.MinInt32, math.MaxInt32)
	case tensor.Uint8:
		done = ints(c, next[uint8](s, count), math.MinInt32, math.MaxInt32)
	case tensor.Int64:
		done = ints(c, next[int64](s, count), math.MinInt64, math.MaxInt64)
	case tensor.Uint32:
		done = ints(c, next[uint32](s, count), 0, math.MaxUint32)
	case tensor.Uint64:
		done = ints(c, next[uint64](s, count), 0, math.MaxUint64)
	case tensor.Bool:
		done = bools(c, next[bool](s, count))
	case tensor.String:
		var err error
		if done, err = byteStrings(c, s.t.Strings[s.n:s.n+count]); err != nil {
			return err
		}
	}
	s.n += done
	if done == count {
		return nil
	}
	if c.isList() {
		return listTooDeep(rank)
	}
	return s.refuse(*c)
}

// refuse returns why the value at c is not an element.
func (s *sink) refuse(c cursor) error {
	switch d := s.t.DType; {
	case c.isObject(), supported(d):
		return invalid("JSON Value: %s Type: %s is not of expected type: %s", c.d.debug(c), c.kind(), typeName(d))
	default:
		return status.Errorf(codes.Unimplemented, "Conversion of JSON Value: %s to type: %s", c.d.debug(c), typeName(d))
	}
}

func supported(d tensor.DType) bool {
	switch d {
	case tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Int16, tensor.Int8, tensor.Uint8, tensor.Int64, tensor.Uint32, tensor.Uint64, tensor.Bool, tensor.String:
		return true
	}
	return false
}
