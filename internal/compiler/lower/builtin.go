package lower

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// gorgoniaPath is the package whose op types the table names.
const gorgoniaPath = "gorgonia.org/gorgonia"

// builtins lowers Gorgonia's ops, by the names of their Go types.
var builtins map[string]func(*site) (graph.Output, error)

func init() {
	builtins = map[string]func(*site) (graph.Output, error){
		"elemBinOp": lowerBinary, "elemUnaryOp": lowerUnary, "minBetween": lowerMinimum, "maxBetween": lowerMaximum,
		"linAlgBinOp": lowerLinear, "tensordotOp": lowerTensordot,
		"sumOp": lowerSum, "maxOp": lowerMax, "sizeOp": lowerSize, "repeatOp": lowerRepeat,
		"reshapeOp": lowerReshape, "transposeOp": lowerTranspose, "concatOp": lowerConcat,
		"sliceOp": lowerSlice, "sliceIncrOp": lowerSliceGrad, "atOp": lowerAt,
		"softmaxOp": lowerSoftmax, "softmaxDiffOp": lowerSoftmaxGrad,
		"maxPoolOp": lowerMaxPool, "maxPoolDiffOp": lowerMaxPoolGrad, "col2imOp": lowerCol2Im,
		"byIndicesOp": lowerByIndices, "dtConvOp": lowerConvert, "Iop": lowerIdentity,
	}
}

// builtin lowers an op of Gorgonia itself.
func (l *lowering) builtin(n *G.Node, t graph.Type) (Value, error) {
	rt := reflect.Indirect(reflect.ValueOf(n.Op())).Type()
	if rt.PkgPath() != gorgoniaPath {
		return Value{}, unsupported(n, "")
	}
	switch name := rt.Name(); name {
	case "constantScalar", "constantTensor":
		out, err := l.constant(n)
		return Value{Output: out}, err
	case "im2colOp":
		l.virtual[n] = true
		return Value{}, nil
	case "reshapeOp":
		if l.virtual[l.kids[n][0]] {
			l.virtual[n] = true
			return Value{}, nil
		}
	case "byIndicesOpDiffOp":
		return l.byIndicesGrad(n)
	default:
		if err := refusal(n, name); err != nil {
			return Value{}, err
		}
	}
	fn := builtins[rt.Name()]
	if fn == nil {
		return Value{}, unsupported(n, "")
	}
	if v, ok, err := l.patterns(n, t, rt.Name()); ok || err != nil {
		return v, err
	}
	s, err := l.site(n, t)
	if err != nil {
		return Value{}, err
	}
	out, err := fn(s)
	return Value{Output: out}, err
}

// patterns lowers nodes that need more than their own op: sums of sparse values, and the products inside a convolution.
func (l *lowering) patterns(n *G.Node, t graph.Type, name string) (Value, bool, error) {
	switch name {
	case "elemBinOp":
		in, err := l.operands(n)
		if err == nil && in[0].Sparse() && in[1].Sparse() && strings.HasPrefix(n.Op().String(), "+ ") {
			v, err := AddSparse(in[0], in[1])
			return v, true, err
		}
		return Value{}, false, err
	case "linAlgBinOp":
		return l.convolution(n, t)
	}
	return Value{}, false, nil
}

// site prepares the lowering of a built-in op with dense operands.
func (l *lowering) site(n *G.Node, t graph.Type) (*site, error) {
	in, err := l.operands(n)
	if err != nil {
		return nil, err
	}
	s := &site{l: l, node: n, op: n.Op(), v: reflect.Indirect(reflect.ValueOf(n.Op())), out: t, shape: t.Shape.At(0), scope: l.scopeOf(n)}
	for _, v := range in {
		s.in = append(s.in, l.Dense(s.scope, v))
	}
	return s, nil
}

func lowerIdentity(s *site) (graph.Output, error) { return s.in[0], nil }

func lowerConvert(s *site) (graph.Output, error) { return s.cast(s.in[0], s.out.DType), nil }

// lowerReshape also turns Gorgonia's scalars into tensors of one element and back.
func lowerReshape(s *site) (graph.Output, error) {
	if got, want := tensor.NumElements(sizes(s.in[0])), tensor.NumElements(s.shape); got != want {
		return graph.Output{}, fmt.Errorf("reshape of %d elements to %v, which holds %d", got, s.shape, want)
	}
	return s.reshape(s.in[0], s.shape...), nil
}
