package pytorch

import (
	"strings"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// functions has everything that a pickle may name; nil is a class that may not be called. None of them reads, writes or starts anything.
var functions = map[global]func(args []any) (any, error){
	"collections.OrderedDict":                    orderedDict,
	"torch.Size":                                 func(args []any) (any, error) { return argument[*list](args, 0) },
	"torch._utils._rebuild_tensor_v2":            rebuild,
	"torch._utils._rebuild_tensor_v3":            rebuildTyped,
	"torch._utils._rebuild_parameter":            parameter,
	"torch._utils._rebuild_parameter_with_state": parameter,
	untyped: nil,
}

// untyped is the class of storages without an element type: their tensors have one.
const untyped = "torch.storage.UntypedStorage"

// dtypes maps names of PyTorch to element types.
var dtypes = map[string]tensor.DType{
	"float64": tensor.Float64, "float32": tensor.Float32, "float16": tensor.Float16, "bfloat16": tensor.BFloat16,
	"int64": tensor.Int64, "int32": tensor.Int32, "int16": tensor.Int16, "int8": tensor.Int8,
	"uint64": tensor.Uint64, "uint32": tensor.Uint32, "uint16": tensor.Uint16, "uint8": tensor.Uint8,
	"bool": tensor.Bool, "complex64": tensor.Complex64, "complex128": tensor.Complex128,
}

// storages maps classes of storages to element types.
var storages = map[string]tensor.DType{
	"DoubleStorage": tensor.Float64, "FloatStorage": tensor.Float32, "HalfStorage": tensor.Float16, "BFloat16Storage": tensor.BFloat16,
	"LongStorage": tensor.Int64, "IntStorage": tensor.Int32, "ShortStorage": tensor.Int16, "CharStorage": tensor.Int8,
	"ByteStorage": tensor.Uint8, "BoolStorage": tensor.Bool, "ComplexFloatStorage": tensor.Complex64, "ComplexDoubleStorage": tensor.Complex128,
}

// find returns what a pickle names, or an error if it is not allowed.
func find(module, name string) (any, error) {
	g := global(module + "." + name)
	if _, ok := functions[g]; ok {
		return g, nil
	}
	if _, ok := storages[name]; ok && (module == "torch" || module == "torch.cuda") {
		return g, nil
	}
	if _, ok := dtypes[name]; ok && module == "torch" {
		return g, nil
	}
	for _, code := range []string{"__main__", "__torch__", "torch.nn.", "torch.jit", "torchvision."} {
		if strings.HasPrefix(module, code) {
			return nil, tensorfile.Errorf("it names %q: a whole module is code, which is not run; save module.state_dict()", g)
		}
	}
	return nil, tensorfile.Errorf("it names %q, which tensors and dicts of them do not need, and which is not run", g)
}

// dtypeOf returns the element type for the class of a storage, or for a name such as torch.float32.
func dtypeOf(value any, types map[string]tensor.DType) (tensor.DType, bool) {
	g, _ := value.(global)
	d, ok := types[string(g)[strings.LastIndexByte(string(g), '.')+1:]]
	return d, ok
}

// argument returns argument i, which must be a T.
func argument[T any](args []any, i int) (T, error) {
	var none T
	if i >= len(args) {
		return none, tensorfile.Errorf("%d arguments, expected %d or more", len(args), i+1)
	}
	v, ok := args[i].(T)
	if !ok {
		return none, tensorfile.Errorf("argument %d is %s, expected %s", i, kindOf(args[i]), kindOf(none))
	}
	return v, nil
}

// orderedDict makes a dict from optional pairs.
func orderedDict(args []any) (any, error) {
	d := &dict{}
	if len(args) == 0 {
		return d, nil
	}
	pairs, err := argument[*list](args, 0)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs.items {
		pair, ok := p.(*list)
		if !ok || len(pair.items) != 2 {
			return nil, tensorfile.Errorf("a dict of %s: expected pairs", kindOf(p))
		}
		d.items = append(d.items, pair.items...)
	}
	return d, nil
}

// parameter returns the tensor of a Parameter. The arguments are the tensor, whether it needs a gradient, and hooks.
func parameter(args []any) (any, error) { return argument[*view](args, 0) }
