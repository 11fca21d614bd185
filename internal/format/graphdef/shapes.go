package graphdef

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

const (
	shapesAttr     = "_output_shapes"
	dimsAttr       = "_goestimator_dims"
	dimsPrefix     = "_goestimator_dims_"
	typesAttr      = "_goestimator_types"
	encodingPrefix = "_goestimator_encoding_"
	restAttr       = "_goestimator_node"
)

// readOutputs sets a node's outputs and removes our own attributes from n.Attrs.
func readOutputs(n *graph.Node, refs int) error {
	if err := readSymbolic(n); err != nil {
		return err
	}
	var err error
	if n.Outputs, err = infer(n, refs); err != nil {
		return err
	}
	given, hasShapes := shapeList(n.Attrs[shapesAttr])
	switch types, ok := typeList(n.Attrs[typesAttr]); {
	case ok:
		n.Outputs = retype(n.Outputs, types)
	case ops.Find(n.Op) == nil && hasShapes && len(given) > maxOutputs:
		return fmt.Errorf("attribute %s lists %d outputs", shapesAttr, len(given))
	case ops.Find(n.Op) == nil && hasShapes && len(given) >= refs:
		n.Outputs = make([]graph.Type, len(given))
		for i := range given {
			n.Outputs[i] = graph.Type{DType: unknownType(n), Shape: graph.Shape{UnknownRank: true}}
		}
	}
	delete(n.Attrs, typesAttr)
	if refs > len(n.Outputs) {
		return fmt.Errorf("output %d is used, but the op has %d", refs-1, len(n.Outputs))
	}
	if !hasShapes || len(given) != len(n.Outputs) {
		delete(n.Attrs, dimsAttr)
		return nil
	}
	texts, _ := n.Attrs[dimsAttr].([][]byte)
	delete(n.Attrs, dimsAttr)
	for i := range given {
		n.Outputs[i].Shape = given[i]
		if i < len(texts) {
			if n.Outputs[i].Shape, err = refine(given[i], string(texts[i])); err != nil {
				return fmt.Errorf("attribute %s: %w", dimsAttr, err)
			}
		}
	}
	if differs(n, refs) {
		delete(n.Attrs, shapesAttr) // writing adds it again
	}
	return nil
}

// readSymbolic restores shape attributes with dimensions that depend on the batch.
func readSymbolic(n *graph.Node) error {
	for name, v := range n.Attrs {
		of, ok := strings.CutPrefix(name, dimsPrefix)
		if !ok {
			continue
		}
		text, isText := v.([]byte)
		shape, isShape := n.Attrs[of].(graph.Shape)
		if !isText || !isShape {
			return fmt.Errorf("attribute %s: expected text beside a shape attribute %s", name, of)
		}
		s, err := refine(shape, string(text))
		if err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
		n.Attrs[of] = s
		delete(n.Attrs, name)
	}
	return nil
}

func shapeList(v any) ([]graph.Shape, bool) {
	switch x := v.(type) {
	case []graph.Shape:
		return x, true
	case graph.EmptyList:
		return nil, true
	}
	return nil, false
}

func typeList(v any) ([]tensor.DType, bool) {
	switch x := v.(type) {
	case []tensor.DType:
		return x, true
	case graph.EmptyList:
		return nil, true
	}
	return nil, false
}

// retype returns outputs with the given types, and with the shapes of old if their numbers agree.
func retype(old []graph.Type, types []tensor.DType) []graph.Type {
	out := make([]graph.Type, len(types))
	for i, d := range types {
		out[i] = graph.Type{DType: d, Shape: graph.Shape{UnknownRank: true}}
		if len(old) == len(types) {
			out[i].Shape = old[i].Shape
		}
	}
	return out
}

// differs reports whether a node's output shapes must be written, because op and
// attributes do not give them.
func differs(n *graph.Node, refs int) bool {
	own, err := infer(n, refs)
	if err != nil || len(own) != len(n.Outputs) {
		return true
	}
	for i := range own {
		if !own[i].Shape.Equal(n.Outputs[i].Shape) {
			return true
		}
	}
	return false
}

// errDims is the error of two forms of a shape that disagree.
var errDims = errors.New("disagrees with the shape beside it")

// refine returns the shape in text, which must agree with the known parts of s.
func refine(s graph.Shape, text string) (graph.Shape, error) {
	t, err := parseShape(text)
	if err != nil {
		return s, err
	}
	if s.UnknownRank != t.UnknownRank || len(s.Dims) != len(t.Dims) {
		return s, fmt.Errorf("%q %w, %v", text, errDims, s)
	}
	for i, d := range t.Dims {
		if d.PerBatch == 0 && s.Dims[i] != d || d.PerBatch != 0 && s.Dims[i] != graph.Unknown {
			return s, fmt.Errorf("%q %w, %v", text, errDims, s)
		}
	}
	return t, nil
}

// parseShape reads what graph.Shape.String writes.
func parseShape(text string) (graph.Shape, error) {
	if text == (graph.Shape{UnknownRank: true}).String() {
		return graph.Shape{UnknownRank: true}, nil
	}
	inner, ok1 := strings.CutPrefix(text, "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	if !ok1 || !ok2 {
		return graph.Shape{}, fmt.Errorf("shape %q: expected the form [B,28,28,1]", text)
	}
	var s graph.Shape
	if inner == "" {
		return s, nil
	}
	for _, part := range strings.Split(inner, ",") {
		d, err := parseDim(part)
		if err != nil {
			return graph.Shape{}, fmt.Errorf("shape %q: %w", text, err)
		}
		s.Dims = append(s.Dims, d)
	}
	return s, nil
}

func parseDim(part string) (graph.Dim, error) {
	if part == "?" {
		return graph.Unknown, nil
	}
	per, rest, symbolic := strings.Cut(part, "B")
	if !symbolic {
		n, err := strconv.Atoi(part)
		return graph.Fixed(n), err
	}
	d := graph.Batch
	var err error
	if per != "" {
		if d.PerBatch, err = strconv.Atoi(per); err != nil {
			return d, err
		}
	}
	if rest != "" {
		d.Const, err = strconv.Atoi(rest)
	}
	if err == nil && (d.PerBatch <= 0 || d.PerBatch > math.MaxInt32 || d.Const < 0 || d.Const > math.MaxInt32) {
		err = fmt.Errorf("dimension %v: expected a positive multiple of the batch and a constant >= 0, of 31 bits", d)
	}
	return d, err
}
