package cudnn

import (
	"encoding/binary"
	"fmt"
	"math"
)

// descriptor is a cudnnBackendDescriptor_t.
type descriptor uintptr

// attribute is an attribute to set in a descriptor.
type attribute struct {
	name, typ, n int
	bytes        []byte // n elements of the type
}

func int64s(name int, v ...int64) attribute {
	a := attribute{name: name, typ: typeInt64, n: len(v)}
	for _, x := range v {
		a.bytes = binary.NativeEndian.AppendUint64(a.bytes, uint64(x))
	}
	return a
}

// enum makes an attribute with a value of an enumeration.
func enum(name, typ, v int) attribute {
	return attribute{name, typ, 1, binary.NativeEndian.AppendUint32(nil, uint32(v))}
}

func float(name int, v float32) attribute {
	return attribute{name, typeFloat, 1, binary.NativeEndian.AppendUint32(nil, math.Float32bits(v))}
}

func boolean(name int, v bool) attribute {
	a := attribute{name, typeBoolean, 1, []byte{0}}
	if v {
		a.bytes[0] = 1
	}
	return a
}

func descriptors(name int, v ...descriptor) attribute { return pointers(name, typeDescriptor, v...) }

// pointers makes an attribute of addresses: of descriptors, the library's handle or memory of the GPU.
func pointers[T ~uint64 | ~uintptr](name, typ int, v ...T) attribute {
	a := attribute{name: name, typ: typ, n: len(v)}
	for _, x := range v {
		a.bytes = binary.NativeEndian.AppendUint64(a.bytes, uint64(x))
	}
	return a
}

// Error is an error of a cuDNN call.
type Error struct {
	Call   string // "cudnnBackendFinalize"
	Status int    // cudnnStatus_t
	Name   string // "CUDNN_STATUS_NOT_SUPPORTED"
	Text   string // the library's last message, "" for none
}

// Error implements error.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Status)
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}
