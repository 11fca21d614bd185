package stablehlograph

import (
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// at returns an operand.
func (x *site) at(i int) *value {
	if i >= len(x.in) {
		refuse("operand %d is missing", i)
	}
	return x.in[i]
}

// result returns the type that the program gives a result.
func (x *site) result(i int) stablehlo.Type {
	if i >= len(x.op.Results) {
		refuse("result %d is missing", i)
	}
	return x.op.Results[i].Type
}

// maxList bounds lists of numbers: two per dimension.
const maxList = 1 << 9

// ints returns an attribute that is a list of numbers, as a constant or an array.
func (x *site) ints(name string) []int {
	switch v := x.op.Attrs[name].(type) {
	case *stablehlo.Constant:
		all, ok := constant(x.t.tensor(v)).numbers()
		if !ok {
			refuse("attribute %s: expected at most %d integers", name, maxList)
		}
		return all
	case []any:
		if len(v) > maxList {
			refuse("attribute %s of %d numbers: expected at most %d", name, len(v), maxList)
		}
		all := make([]int, len(v))
		for i, e := range v {
			n, ok := e.(int64)
			if !ok {
				refuse("attribute %s: expected integers", name)
			}
			all[i] = int(n)
		}
		return all
	case nil:
		return nil
	}
	refuse("attribute %s: expected integers", name)
	return nil
}

// int returns an attribute that is a number.
func (x *site) int(name string) int {
	v, ok := x.op.Attrs[name].(int64)
	if !ok {
		refuse("attribute %s: expected an integer", name)
	}
	return int(v)
}

// float returns an attribute that is a number.
func (x *site) float(name string) float64 {
	v, ok := x.op.Attrs[name].(float64)
	if !ok {
		refuse("attribute %s: expected a number", name)
	}
	return v
}

// flag returns an attribute that is true or false.
func (x *site) flag(name string) bool {
	v, _ := x.op.Attrs[name].(bool)
	return v
}

// enum returns an attribute that is one of several names.
func (x *site) enum(name string) string {
	v, _ := x.op.Attrs[name].(stablehlo.Enum)
	return string(v)
}

// maxConstant bounds the elements of splats that serve as attributes or indices.
const maxConstant = 1 << 16

// tensor makes the tensor of a constant whose splat is small; each only once.
func (t *translation) tensor(k *stablehlo.Constant) *tensor.Tensor {
	if made := t.tensors[k]; made != nil {
		return made
	}
	made := tensorOf(k)
	t.pay(made.MemoryBytes())
	t.tensors[k] = made
	return made
}

func tensorOf(k *stablehlo.Constant) *tensor.Tensor {
	if k.Type.DType == tensor.Invalid {
		refuse("element type %s", k.Type.Name)
	}
	if k.Splat && tensor.NumElements(k.Type.Dims) > maxConstant {
		refuse("%d equal elements where fewer are expected", tensor.NumElements(k.Type.Dims))
	}
	t := tensor.New(k.Type.DType, k.Type.Dims...)
	for n := 0; n < len(t.Bytes); {
		n += copy(t.Bytes[n:], k.Bytes)
	}
	return t
}
