package infer

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// Value is what is known about an output before it is computed.
type Value struct {
	Known bool           // whether Shape is known
	Shape []int          // sizes, none negative
	T     *tensor.Tensor // the value itself, nil if it depends on feeds
}

// Of returns the Value of a known tensor.
func Of(t *tensor.Tensor) Value { return Value{Known: true, Shape: t.Shape, T: t} }

// Shaped returns the Value of a tensor whose shape is known.
func Shaped(sizes ...int) Value { return Value{Known: true, Shape: sizes} }

// maxElements bounds a tensor: no memory can hold more, whatever the type.
const maxElements = 1 << 40

// rule computes output values. It may assume nothing about its inputs; index panics become errors.
type rule func(s *site) ([]Value, error)

// Node returns what is known about the outputs of n, whose inputs are in. An op without a rule, or with too little known about
// its inputs, has unknown outputs; invalid inputs are an error.
func Node(n *graph.Node, in []Value) (out []Value, err error) {
	defer func() {
		if recover() != nil {
			out, err = nil, fmt.Errorf("%d inputs of shapes %s do not fit the op or its attributes", len(in), shapes(in))
		}
	}()
	unknown := make([]Value, len(n.Outputs))
	r := rules()[n.Op]
	if r == nil {
		return unknown, nil
	}
	out, err = r(&site{n: n, in: in})
	switch {
	case err == errUnknown:
		return unknown, nil
	case err != nil:
		return nil, err
	}
	for len(out) < len(n.Outputs) {
		out = append(out, Value{})
	}
	for i, v := range out {
		if _, err := Elements(v.Shape); v.Known && err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	return out[:len(n.Outputs)], nil
}

// shapes describes the inputs of a node.
func shapes(in []Value) string {
	all := make([]string, len(in))
	for i, v := range in {
		all[i] = "unknown"
		if v.Known {
			all[i] = fmt.Sprint(v.Shape)
		}
	}
	return strings.Join(all, ", ")
}

// Elements returns the product of sizes, or an error for negative sizes and products that no memory can hold.
func Elements(shape []int) (int, error) {
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v: expected no negative size", shape)
		}
	}
	n := Breadth(shape)
	switch {
	case n > maxElements:
		return 0, fmt.Errorf("shape %v has more than %d elements", shape, maxElements)
	case slices.Contains(shape, 0):
		return 0, nil
	}
	return n, nil
}

// Breadth returns the product of the positive sizes, or a number that no memory can hold.
func Breadth(shape []int) int {
	n := uint64(1)
	for _, d := range shape {
		hi, lo := bits.Mul64(n, max(uint64(d), 1))
		if hi != 0 || lo > maxElements {
			return maxElements + 1
		}
		n = lo
	}
	return int(n)
}

// families returns the tables of rules.
func families() []map[*ops.Def]rule {
	return []map[*ops.Def]rule{elementRules, shapeRules, arrayRules, sliceRules, mathRules, imageRules, samplingRules, otherRules}
}

var rules = sync.OnceValue(func() map[string]rule {
	all := map[string]rule{}
	for _, d := range ops.Defs() {
		if r := stated[d.Shape]; r != nil {
			all[d.Name] = r
		}
	}
	for _, f := range families() {
		for op, r := range f {
			all[op.Name] = r
		}
	}
	return all
})

// Supported reports whether there is a rule for the op.
func Supported(op string) bool { return rules()[op] != nil }
