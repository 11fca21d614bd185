package pytorch

import (
	"strconv"

	"github.com/goestimator/goestimator/tensor"
)

// The values in a pickle besides nil, bool, int64, float64, string, *storage and *view.
type (
	// list is a list, a tuple or a torch.Size.
	list struct{ items []any }
	// dict is a dict or an OrderedDict: alternating keys and values.
	dict struct{ items []any }
	// number is an integer of more than 64 bits, in decimal.
	number string
	// mark begins the items that a later opcode takes.
	mark struct{}
	// global is the name of a class, function or element type, such as "torch._utils._rebuild_tensor_v2".
	global string
)

// storage is the memory of tensors.
type storage struct {
	dtype tensor.DType // Uint8 if the tensors have their own types
	bytes bool         // the tensors have their own types
	key   string
	count int64 // elements
}

// view is a tensor: a part of a storage. Offset and strides count elements.
type view struct {
	storage *storage
	dtype   tensor.DType
	offset  int64
	dims    []uint64
	strides []uint64
}

// kindOf describes a value in a word.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool, int64, float64, number:
		return "a number"
	case string:
		return "a text"
	case *list:
		return "a list"
	case *dict:
		return "a dict"
	case *storage:
		return "a storage"
	case *view:
		return "a tensor"
	}
	return "a function or a class"
}

// keyName returns a dict key as a part of a name.
func keyName(key any) (string, bool) {
	switch k := key.(type) {
	case string:
		return k, true
	case int64:
		return strconv.FormatInt(k, 10), true
	}
	return "", false
}
