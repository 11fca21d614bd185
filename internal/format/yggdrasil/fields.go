package yggdrasil

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMessage says that bytes are not the expected message.
var errMessage = errors.New("damaged message")

// field is a field of a message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bits   uint64 // value of a number
	data   []byte // bytes of any other value
}

// eachField calls f for the fields of a message in order.
func eachField(message []byte, f func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		v := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			v.bits, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(message)
			v.bits = uint64(bits)
		case protowire.Fixed64Type:
			v.bits, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			v.data, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// message calls f for the fields of the message in v.
func (v field) message(f func(field) error) error {
	if v.kind != protowire.BytesType {
		return errMessage
	}
	return eachField(v.data, f)
}

func (v field) int() int64 { return int64(v.bits) }

func (v field) bool() bool { return v.bits != 0 }

func (v field) float() float32 { return math.Float32frombits(uint32(v.bits)) }

func (v field) double() float64 { return math.Float64frombits(v.bits) }

// numbers calls f for the elements of a repeated numeric field, packed or not.
func (v field) numbers(kind protowire.Type, f func(field)) error {
	if v.kind == kind {
		f(v)
		return nil
	}
	if v.kind != protowire.BytesType {
		return errMessage
	}
	for data := v.data; len(data) > 0; {
		one, n := field{kind: kind}, 0
		switch kind {
		case protowire.VarintType:
			one.bits, n = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(data)
			one.bits = uint64(bits)
		default:
			one.bits, n = protowire.ConsumeFixed64(data)
		}
		if n < 0 {
			return errMessage
		}
		data = data[n:]
		f(one)
	}
	return nil
}

// floats appends the elements of a repeated field of float32.
func (v field) floats(to []float32) ([]float32, error) {
	err := v.numbers(protowire.Fixed32Type, func(one field) { to = append(to, one.float()) })
	return to, err
}

// doubles appends the elements of a repeated field of float64.
func (v field) doubles(to []float64) ([]float64, error) {
	err := v.numbers(protowire.Fixed64Type, func(one field) { to = append(to, one.double()) })
	return to, err
}

// ints32 appends the elements of a repeated field of int32.
func (v field) ints32(to []int32) ([]int32, error) {
	err := v.numbers(protowire.VarintType, func(one field) { to = append(to, int32(one.bits)) })
	return to, err
}

// within returns an error unless i is an index below n.
func within(what string, i int64, n int) error {
	if i < 0 || i >= int64(n) {
		return fmt.Errorf("%s %d: expected less than %d", what, i, n)
	}
	return nil
}
