package session_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// TestContractionsOfManyOperands: Einsum takes more than two operands, and equals the sum over all indices.
func TestContractionsOfManyOperands(t *testing.T) {
	sizes := map[rune]int{'a': 2, 'b': 3, 'c': 2, 'd': 4, 'e': 2, 'f': 1, 'i': 3, 'j': 2, 'k': 4, 'l': 2}
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ equation, result string }{
		{"ik,jkl,il->ij", "ij"}, {"bac,cd,def->ebc", "ebc"}, {"a, b ,c", "abc"}, {"ab,bc,cd,de,ef", "af"}, {"ab,ab,ab->", ""}, {"aa,ab,bd->d", "d"}, {"a,a,a->a", "a"},
	} {
		t.Run(c.equation, func(t *testing.T) {
			terms := strings.Split(strings.ReplaceAll(strings.Split(c.equation, "->")[0], " ", ""), ",")
			var in []*tensor.Tensor
			n := onnx.Node{Op: "Einsum", Outputs: []string{"y"}, Attrs: map[string]any{"equation": c.equation}}
			for i, term := range terms {
				v := tensor.New(tensor.Float32, shapeOf(term, sizes)...)
				for k := range v.Len() {
					tensor.Values[float32](v)[k] = float32(r.IntN(7) - 3)
				}
				in, n.Inputs = append(in, v), append(n.Inputs, "x"+string(rune('0'+i)))
			}
			m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Nodes: []onnx.Node{n}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}}
			runONNX(t, m, in, func(i int) []onnx.Dim { return openDims(in[i])(i) }, contraction(terms, c.result, in, sizes))
		})
	}
	for _, c := range []struct {
		equation string
		a, b     []int
		want     *tensor.Tensor
	}{
		{"bik,bkj->bij", []int{1, 1, 2}, []int{2, 2, 1}, elements([]float32{3, 7}, 2, 1, 1)},
		{"bi,bi->b", []int{2, 1}, []int{1, 2}, elements([]float32{3, 6}, 2)},
		{"bi,bi->bi", []int{1, 1}, []int{1, 1}, elements([]float32{1}, 1, 1)},
	} {
		count := func(shape []int) *tensor.Tensor {
			v := tensor.New(tensor.Float32, shape...)
			for i := range v.Len() {
				tensor.Values[float32](v)[i] = float32(i + 1)
			}
			return v
		}
		t.Run("ones of "+c.equation, func(t *testing.T) {
			n := onnx.Node{Op: "Einsum", Inputs: []string{"x0", "x1"}, Outputs: []string{"y"}, Attrs: map[string]any{"equation": c.equation}}
			m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Nodes: []onnx.Node{n}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}}
			in := []*tensor.Tensor{count(c.a), count(c.b)}
			if c.equation == "bik,bkj->bij" {
				copy(tensor.Values[float32](in[0]), []float32{1, 1})
			}
			runONNX(t, m, in, func(i int) []onnx.Dim { return dimsOf(in[i]) }, c.want)
		})
	}
	t.Run("ellipsis", func(t *testing.T) {
		n := onnx.Node{Op: "Einsum", Inputs: []string{"x0", "x1", "x2"}, Outputs: []string{"y"}, Attrs: map[string]any{"equation": "...a,ab,b...->..."}}
		m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Nodes: []onnx.Node{n}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}}}}
		in := []*tensor.Tensor{elements([]float32{1, 2, 3, 4}, 2, 2), elements([]float32{1, 1, 0, 1}, 2, 2), elements([]float32{1, 2}, 2)}
		runONNX(t, m, in, func(i int) []onnx.Dim { return openDims(in[i])(i) }, elements([]float32{7, 17}, 2))
	})
}

func shapeOf(term string, sizes map[rune]int) (shape []int) {
	for _, c := range term {
		shape = append(shape, sizes[c])
	}
	return shape
}

// contraction sums the products of the operands' elements over all values of the indices.
func contraction(terms []string, result string, in []*tensor.Tensor, sizes map[rune]int) *tensor.Tensor {
	y := tensor.New(tensor.Float32, shapeOf(result, sizes)...)
	var letters []rune
	for _, c := range strings.Join(terms, "") {
		if !strings.ContainsRune(string(letters), c) {
			letters = append(letters, c)
		}
	}
	at := map[rune]int{}
	place := func(term string) (i int) {
		for _, c := range term {
			i = i*sizes[c] + at[c]
		}
		return i
	}
	var sum func(rest []rune)
	sum = func(rest []rune) {
		if len(rest) > 0 {
			for at[rest[0]] = 0; at[rest[0]] < sizes[rest[0]]; at[rest[0]]++ {
				sum(rest[1:])
			}
			return
		}
		product := float32(1)
		for i, term := range terms {
			product *= tensor.Values[float32](in[i])[place(term)]
		}
		tensor.Values[float32](y)[place(result)] += product
	}
	sum(letters)
	return y
}

// TestDomainsWithoutVersion: a model need not state the version of the operators of domains besides the default one.
func TestDomainsWithoutVersion(t *testing.T) {
	x := elements([]float32{-1, 0, 2}, 3)
	m := onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Nodes: []onnx.Node{{Op: "Binarizer", Domain: "ai.onnx.ml", Inputs: []string{"x0"}, Outputs: []string{"b"}}, {Op: "QuickGelu", Domain: "com.microsoft", Inputs: []string{"b"}, Outputs: []string{"y"}}}}}
	runONNX(t, m, []*tensor.Tensor{x}, openDims(x), elements([]float32{0, 0, 0.845795}, 3))
}
