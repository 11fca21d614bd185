package session

import (
	"cmp"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Feature is a feature of serialized examples that a signature parses.
type Feature struct {
	Name   string
	DType  tensor.DType
	Shape  []int // of a dense feature; -1: any size
	Sparse bool  // any number of values, even none
}

// Features returns the features that a signature parses from serialized examples, sorted by name; nil if it parses none.
func (s *Session) Features(signature string) []Feature { return s.features[signature] }

// parsedFeatures returns the features that nodes parse.
func parsedFeatures(nodes []*graph.Node) (all []Feature) {
	for _, n := range nodes {
		keys, _ := denseKeys(n)
		types, _ := n.Attrs["Tdense"].([]tensor.DType)
		shapes, _ := n.Attrs["dense_shapes"].([]graph.Shape)
		for i, key := range keys {
			if i < len(types) && i < len(shapes) {
				all = append(all, Feature{Name: string(key), DType: types[i], Shape: sizes(shapes[i])})
			}
		}
		sparse, _ := n.Attrs["sparse_types"].([]tensor.DType)
		for i, key := range sparseKeys(n) {
			if i < len(sparse) {
				all = append(all, Feature{Name: string(key), DType: sparse[i], Sparse: true})
			}
		}
	}
	slices.SortFunc(all, func(a, b Feature) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Feature) bool { return a.Name == b.Name })
}

func sizes(s graph.Shape) []int {
	out := make([]int, len(s.Dims))
	for i, d := range s.Dims {
		if out[i] = -1; d.Static() {
			out[i] = d.Const
		}
	}
	return out
}

// sparseKeys returns the names of the sparse features that a node parses.
func sparseKeys(n *graph.Node) (keys [][]byte) {
	switch n.Op {
	case "ParseExampleV2":
		return stringsOf(n, 2)
	case "ParseExample":
		for i := range inputsOf(n, "Nsparse") {
			keys = append(keys, stringsOf(n, 2+i)...)
		}
	case "ParseSingleExample":
		keys, _ = n.Attrs["sparse_keys"].([][]byte)
	}
	return keys
}

// inputsOf returns the length of an input list as an attribute states it, at most all inputs: the attribute has not been checked yet.
func inputsOf(n *graph.Node, attr string) int { return min(max(n.Int(attr, 0), 0), len(n.Inputs)) }

// stringsOf returns the strings of a constant input.
func stringsOf(n *graph.Node, i int) [][]byte {
	if i >= len(n.Inputs) {
		return nil
	}
	if t, ok := n.Inputs[i].Node.Attrs["value"].(*tensor.Tensor); ok {
		return t.Strings
	}
	return nil
}
