package ops_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/internal/testkit/edgecases"
	"github.com/goestimator/goestimator/models/internal/modeltest"
	"github.com/goestimator/goestimator/tensor"
)

// edgeCase is a contract case on edge values, in one float type.
type edgeCase struct {
	opCase
	d     tensor.DType
	style edgecases.Style
	in    []*array // the operands
	cot   *array
}

func (k edgeCase) name() string { return fmt.Sprintf("%s/%v/%s", k.label(), k.d, k.style.Name) }

// label tells the contract cases apart.
func (c opCase) label() string {
	s := c.name()
	for _, o := range c.in {
		s += fmt.Sprint(" ", o.shape)
	}
	return s
}

// edgeCasesOf returns all draws of a case that has a gradient.
func edgeCasesOf(c opCase, d tensor.DType) []edgeCase {
	if c.noGrad || c.fn == "Attention" || c.fn == "LookupSparse" && !slices.Equal(c.in[0].shape, []int{5, 3}) {
		return nil // a lookup is the same for tables of any width
	}
	if s, ok := c.combined(d); ok {
		return []edgeCase{c.product(d, s)}
	}
	var out []edgeCase
	for _, s := range edgecases.Styles(d) {
		if !c.comparable(s) {
			continue
		}
		r := rand.New(rand.NewPCG(5, 6))
		k := edgeCase{opCase: c, d: d, style: s, in: c.values(3)}
		for i, o := range c.in {
			if o.differentiable() {
				k.in[i].data = edgecases.Draw(r, len(k.in[i].data), s.Values)
			}
		}
		k.cot = zeros(c.ref(k.in).shape...)
		k.cot.data = edgecases.Draw(r, len(k.cot.data), s.Cotangents)
		out = append(out, k)
	}
	return out
}

// comparable reports whether TensorFlow's result for a style is independent of how it is computed.
func (c opCase) comparable(s edgecases.Style) bool {
	switch fn := strings.Fields(c.fn)[0]; {
	case fn == "DepthwiseConv2D" && c.detail == "valid strided":
		return false // TensorFlow supports only equal strides
	case c.detail == "groups" || strings.HasPrefix(fn, "Atrous"):
		return false // TensorFlow has no gradients of these on processors
	case strings.HasSuffix(fn, "Pool3D"):
		return s.Name != edgecases.Tiny && s.Finite() // TensorFlow has them only for float32; the largest of numbers with a NaN depends on the order
	case fn == "Conv2D" || fn == "DepthwiseConv2D" || fn == "Conv2DTranspose" || fn == "Conv3D" || fn == "Conv3DTranspose":
		return s.Finite() // else it matters whether the zeros around an image are multiplied, and TensorFlow's two kernels differ in that
	case fn == "Div" || fn == "DivNoNan" || fn == "Pow" || fn == "CumProd" || fn == "Prod" || fn == "Std":
		return s.Name != edgecases.Tiny // their squares and quotients overflow or underflow
	case fn == "Cholesky" || fn == "MatrixInverse":
		return s.Name == "ties" || s.Name == "equal" || s.Name == "cotangents"
	case fn == "UnsortedSegmentProd":
		return s.Name != edgecases.Tiny && (!c.ours || s.Name == "ties" || s.Name == "equal") // parts without a segment are ignored; TensorFlow multiplies them by 0
	case fn == "Sort":
		return s.Finite() // where NaN goes is not defined
	case fn == "FusedBatchNorm":
		return s.Name != edgecases.Tiny && s.Ordinary() // TensorFlow has it only for float32
	case c.ours:
		return s.Name != "cotangents" // values without an id are ignored; TensorFlow multiplies them by 0
	}
	return true
}

// combined is the style of functions of one or two numbers of one shape, false for other cases.
func (c opCase) combined(d tensor.DType) (edgecases.Style, bool) {
	if strings.HasPrefix(c.fn, "Cum") || c.fn == "Sort" {
		return edgecases.Style{}, false // of a row
	}
	in := c.values(1)
	out := c.ref(in).shape
	for i, o := range c.in {
		if !o.differentiable() || !slices.Equal(in[i].shape, out) || len(o.shape) != 2 || o.shape[0] != -1 {
			return edgecases.Style{}, false
		}
	}
	if len(c.in) == 1 {
		return edgecases.All(d), !strings.Contains(c.fn, "Softmax")
	}
	return edgecases.Pairs(), len(c.in) == 2
}

// product has every combination of operands and cotangent in one element.
func (c opCase) product(d tensor.DType, s edgecases.Style) edgeCase {
	var sets [][]float64
	for range c.in {
		sets = append(sets, s.Values)
	}
	columns := edgecases.Product(append(sets, s.Cotangents)...)
	width := c.in[0].shape[1]
	rows := (len(columns[0]) + width - 1) / width
	fill := func(from []float64) *array {
		a := zeros(rows, width)
		for i := range a.data {
			a.data[i] = from[i%len(from)]
		}
		return a
	}
	k := edgeCase{opCase: c, d: d, style: s, cot: fill(columns[len(c.in)])}
	for i := range c.in {
		k.in = append(k.in, fill(columns[i]))
	}
	return k
}

// functions are TensorFlow's functions that consist of several ops.
var functions = map[string]string{"ClipByValue": "clip_by_value", "Swish": "silu", "Gelu": "gelu", "GeluTanh": "gelu_tanh",
	"SigmoidCrossEntropyWithLogits": "sigmoid_cross_entropy_with_logits"}

// asked is the float type in which TensorFlow computes.
func (k edgeCase) asked() tensor.DType {
	switch {
	case k.style.Name == edgecases.Tiny:
		return tensor.Float64
	case strings.HasPrefix(k.fn, "FusedBatchNorm"), strings.HasSuffix(k.fn, "Pool3D"):
		return tensor.Float32
	}
	return k.d
}

// ask returns the request to TensorFlow, in a float type.
func (k edgeCase) ask(t *testing.T, forward *modeltest.Program, d tensor.DType) edgecases.Case {
	t.Helper()
	data, err := graphdef.Marshal(forward.Graph)
	if err != nil {
		t.Fatal(err)
	}
	c := edgecases.Case{Name: k.name(), Graph: data, Fetches: []string{forward.Roots()[0].String()},
		Feeds: []edgecases.Tensor{edgecases.Of("global_step", tensor.Scalar(int64(5)))}}
	if f := functions[k.fn]; f != "" {
		c = edgecases.Case{Name: k.name(), Function: f}
	}
	for i, o := range k.opCase.in {
		name := fmt.Sprintf("in%d", i)
		c.Feeds = append(c.Feeds, edgecases.Of(name, modeltest.Tensor(o.kind(d), k.in[i].data, k.in[i].shape...)))
		if o.differentiable() {
			c.WRT = append(c.WRT, name)
		}
	}
	cot := edgecases.Of("", modeltest.Tensor(forward.Roots()[0].DType(), k.cot.data, k.cot.shape...))
	c.Cot = &cot
	return c
}

// TestEdgeCases compares every op that has a gradient with TensorFlow on edge values, at every SIMD level and in
// both float types.
func TestEdgeCases(t *testing.T) {
	var all []edgeCase
	var asked []edgecases.Case
	for _, c := range cases() {
		forward, programs := c, map[tensor.DType]*modeltest.Program{}
		forward.noGrad = true
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
			for _, k := range edgeCasesOf(c, d) {
				if programs[k.asked()] == nil {
					programs[k.asked()] = forward.program(t, k.asked())
				}
				all, asked = append(all, k), append(asked, k.ask(t, programs[k.asked()], k.asked()))
			}
		}
	}
	answered := edgecases.Answered(t, asked)
	programs := map[string]*modeltest.Program{}
	for i, k := range all {
		if answered[i].Error != "" {
			t.Errorf("%s: TensorFlow has no answer: %s", k.name(), answered[i].Error)
			continue
		}
		key := fmt.Sprint(k.label(), k.d)
		if programs[key] == nil {
			programs[key] = k.program(t, k.d)
		}
		t.Run(k.name(), func(t *testing.T) { k.check(t, programs[key], answered[i].Want) })
	}
}

func (k edgeCase) check(t *testing.T, p *modeltest.Program, want []edgecases.Tensor) {
	defer kernels.SetLevel(kernels.BestLevel())
	for level := kernels.Portable; level <= kernels.BestLevel(); level++ {
		kernels.SetLevel(level)
		for i, got := range k.run(t, p, device.NewHost(), k.d, k.in, k.cot) {
			result := modeltest.Tensor(k.d, got.data, got.shape...)
			differ, err := edgecases.Differences(result, want[i], 2e-5)
			if err != nil {
				t.Errorf("%v, result %d: %v", level, i, err)
			}
			differ = slices.DeleteFunc(differ, func(at int) bool {
				return k.style.Name == "all" && edgecases.Between(result, want[i].Graph(), at, k.in[0].data[at], 2e-5)
			})
			for _, at := range differ[:min(len(differ), 5)] {
				t.Errorf("%v, result %d, element %d: got %v, TensorFlow %v%s", level, i, at, result.Float(at), want[i].Graph().Float(at), k.at(at))
			}
		}
	}
}

// at returns the operands' elements on which element i of a result depends, if it depends
// on one of each.
func (k edgeCase) at(i int) string {
	if k.style.Name != "all" && k.style.Name != "pairs" {
		return ""
	}
	s := " of"
	for _, a := range append(slices.Clone(k.in), k.cot) {
		s += fmt.Sprint(" ", a.data[i])
	}
	return s
}
