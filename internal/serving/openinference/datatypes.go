package openinference

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// datatypes are the protocol's names of element types.
var datatypes = map[string]tensor.DType{
	"BOOL": tensor.Bool, "UINT8": tensor.Uint8, "UINT16": tensor.Uint16, "UINT32": tensor.Uint32, "UINT64": tensor.Uint64,
	"INT8": tensor.Int8, "INT16": tensor.Int16, "INT32": tensor.Int32, "INT64": tensor.Int64,
	"FP16": tensor.Float16, "BF16": tensor.BFloat16, "FP32": tensor.Float32, "FP64": tensor.Float64, "BYTES": tensor.String,
}

var names = func() map[tensor.DType]string {
	m := map[tensor.DType]string{}
	for name, d := range datatypes {
		m[d] = name
	}
	return m
}()

// DType returns the element type of a datatype.
func DType(datatype string) (tensor.DType, error) {
	d, ok := datatypes[datatype]
	if !ok {
		return 0, invalid("datatype %q: expected BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, BF16, FP32, FP64 or BYTES", short(datatype))
	}
	return d, nil
}

// Datatype returns the name of an element type. Complex numbers keep TensorFlow's names, since the protocol has none.
func Datatype(d tensor.DType) string {
	if n, ok := names[d]; ok {
		return n
	}
	return d.String()
}

// short shortens text from a request for an error.
func short(s string) string {
	if len(s) > 100 {
		return fmt.Sprintf("%s...", s[:100])
	}
	return s
}
