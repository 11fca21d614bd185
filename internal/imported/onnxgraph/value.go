package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
)

// value is a tensor of the model: a constant, or the output of a node, or both.
type value struct {
	dtype tensor.DType
	out   graph.Output   // not valid if no node has been made
	t     *tensor.Tensor // the constant, nil for none
	known probes
	last  *value // the value with channels last, nil if that has not been made

	rankAlone bool // only the rank is known, by noteRank: sizes may still be noted

	items []*value // of a sequence of known length
	seq   bool
	list  *element       // the elements of a list, which is a sequence of unknown length; nil: the value is not a list
	coded *coded         // set if the value is the result of a DequantizeLinear
	four  tensor.DType   // Int4 or Uint4 if that is the model's type, with the elements in 8 bits; else Invalid
	keys  *tensor.Tensor // the columns' names, if the value stands for a map per row; else nil
}

// kind is the element type in the model.
func (v *value) kind() tensor.DType {
	if v.four != tensor.Invalid {
		return v.four
	}
	return v.dtype
}

// probes is what is known about a value under several assumptions for the sizes that the model leaves open.
type probes [8]infer.Value

// openSizes are the assumptions: the size of the i-th open dimension. The second to fourth can be halved five times, as networks that
// join images of several sizes require. In the third, dimension 1 is larger than dimension 0, in the fourth it is smaller, so that models
// which resize images to one of few sizes choose different ones. The others are odd, small or large, so that padding to a multiple, or
// cutting at a limit, does not look constant.
var openSizes = [len(probes{})]func(i int) int{
	func(int) int { return 1 },
	func(int) int { return 64 },
	func(i int) int { return 32 * different(2*i) },
	func(i int) int {
		if i == 1 {
			return 64
		}
		return 32 * different(2*i+1)
	},
	func(i int) int { return 21 + 2*i },
	func(i int) int { return 151 + 6*i },
	func(i int) int { return 334 + 14*i },
	func(i int) int { return 8209 + 10*i },
}

// primes are the factors of open sizes.
var primes = []int{3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73}

func different(i int) int { return primes[i%len(primes)] + 79*(i/len(primes)) }

// wide has the types that hold 4-bit elements: nothing computes with 4 bits.
var wide = map[tensor.DType]tensor.DType{tensor.Int4: tensor.Int8, tensor.Uint4: tensor.Uint8}

// movers has the operators that only move elements, and so take 4-bit ones.
var movers = map[string]bool{"Identity": true, "Reshape": true, "Flatten": true, "Squeeze": true, "Unsqueeze": true, "Transpose": true, "Pad": true}

// keepFour notes that moved elements still have 4 bits.
func (x *site) keepFour(out []*value) {
	if x.n.Domain != "" || !movers[x.n.Op] || !x.has(0) || x.in[0].four == tensor.Invalid {
		return
	}
	for i, v := range out {
		if v.four == tensor.Invalid {
			w := *v
			w.four = x.in[0].four
			out[i] = x.add(&w)
		}
	}
}

// wider returns 4-bit elements as the type that they are computed in; others stay.
func (b *builder) wider(v *value) *value {
	if v.four == tensor.Invalid {
		return v
	}
	w := *v
	w.four = tensor.Invalid
	return b.add(&w)
}

// declared is the type in the model.
func (v *value) declared() tensor.DType {
	if v.four != tensor.Invalid {
		return v.four
	}
	return v.dtype
}

func constant(t *tensor.Tensor) *value {
	v := &value{dtype: t.DType, t: t}
	if d, ok := wide[t.DType]; ok {
		v.four, v.dtype, v.t = t.DType, d, &tensor.Tensor{DType: d, Shape: t.Shape, Bytes: t.Bytes}
		t = v.t
	}
	for i := range v.known {
		v.known[i] = infer.Of(t)
	}
	return v
}

// rank returns the rank, or -1 if it is not known.
func (v *value) rank() int {
	for _, k := range v.known {
		if k.Known {
			return len(k.Shape)
		}
	}
	return -1
}

// dims returns the sizes, -1 for open ones, or nil if the rank is not known.
func (v *value) dims() []int {
	var dims []int
	for _, k := range v.known {
		switch {
		case !k.Known:
		case dims == nil:
			dims = append([]int{}, k.Shape...)
		case len(dims) != len(k.Shape):
			return nil
		default:
			for i, d := range k.Shape {
				if dims[i] != d {
					dims[i] = -1
				}
			}
		}
	}
	if alone := v.knownTwice(); !alone {
		for i := range dims {
			dims[i] = -1
		}
	}
	return dims
}

// length returns the number of elements of a vector if at least two assumptions agree on it and none differs, else -1. Assumptions may
// lead to nothing if a model does not support the assumed sizes, such as lengths of texts.
func (v *value) length() int {
	n, said := -1, 0
	for _, k := range v.known {
		switch {
		case !k.Known:
			continue
		case len(k.Shape) != 1 || said > 0 && k.Shape[0] != n:
			return -1
		}
		n, said = k.Shape[0], said+1
	}
	if said < 2 {
		return -1
	}
	return n
}

// knownTwice reports whether the shape is known under two assumptions that differ in all open sizes.
func (v *value) knownTwice() bool { return v.known[2].Known && v.known[3].Known }

// fixed returns the value itself if all assumptions lead to the same one, else nil.
func (v *value) fixed() *tensor.Tensor {
	if v.t != nil {
		return v.t
	}
	var t *tensor.Tensor
	for _, k := range v.known {
		switch {
		case !k.Known:
		case k.T == nil:
			return nil
		case t == nil:
			t = k.T
		case !slices.Equal(t.Shape, k.T.Shape) || string(t.Bytes) != string(k.T.Bytes):
			return nil
		}
	}
	if !v.knownTwice() {
		return nil
	}
	return t
}
