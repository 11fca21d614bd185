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
	out   graph.Output   // not valid: no node has been made
	t     *tensor.Tensor // the constant, nil for none
	known probes
	last  *value // the same with its channels last, nil where nobody has made that

	rankAlone bool // what is known is the rank that noteRank has found: who knows sizes says them

	items []*value // of a sequence, whose length is known
	seq   bool
	list  *element       // what a list of tensors has, which is a sequence whose length is not known; nil: the value is none
	coded *coded         // nil: it is no result of DequantizeLinear, as far as is known
	four  tensor.DType   // Int4 or Uint4, where the model says that and the elements are of 8 bits; else Invalid
	keys  *tensor.Tensor // the columns' names: the value stands for a map of each row; nil: it is none
}

// kind is the element type that the model says.
func (v *value) kind() tensor.DType {
	if v.four != tensor.Invalid {
		return v.four
	}
	return v.dtype
}

// probes is what is known of a value under several assumptions of the sizes that the model leaves open.
type probes [8]infer.Value

// openSizes are those assumptions: the size of the i-th open dimension. The second to fourth can be halved five times, as networks do that
// join images of several sizes. The second one is wider than the first one in the third, and narrower in the fourth, so that images which a
// model brings to one of few sizes come to different ones. The others are odd, small or large: what a model fills up to a multiple, or cuts
// at a limit, is one number under the rest of them, and no constant.
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

// primes are what open sizes are made of.
var primes = []int{3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73}

func different(i int) int { return primes[i%len(primes)] + 79*(i/len(primes)) }

// wide are the types that elements of 4 bits have here: nothing computes with those.
var wide = map[tensor.DType]tensor.DType{tensor.Int4: tensor.Int8, tensor.Uint4: tensor.Uint8}

// movers are the operators that put elements to other places and take those of 4 bits.
var movers = map[string]bool{"Identity": true, "Reshape": true, "Flatten": true, "Squeeze": true, "Unsqueeze": true, "Transpose": true, "Pad": true}

// keepFour notes that what an operator has moved has 4 bits, as its input has.
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

// wider returns elements of 4 bits as what they are computed as; others stay.
func (b *builder) wider(v *value) *value {
	if v.four == tensor.Invalid {
		return v
	}
	w := *v
	w.four = tensor.Invalid
	return b.add(&w)
}

// declared is the type that the model says.
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

// rank returns the rank, -1 where it is not known.
func (v *value) rank() int {
	for _, k := range v.known {
		if k.Known {
			return len(k.Shape)
		}
	}
	return -1
}

// dims returns the sizes, -1 for those that are open, nil where the rank is not known.
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

// length returns how many elements a vector has where several assumptions say the same, and none another number, else -1. They may lead to
// nothing where sizes are assumed that a model has no place for, such as lengths of texts.
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

// fixed returns the value itself where all assumptions lead to the same one, else nil.
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
