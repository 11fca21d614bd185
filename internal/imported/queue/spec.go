package queue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// Spec says what a queue holds.
type Spec struct {
	Types    []tensor.DType // of the components of an element
	Shapes   [][]int        // of the components; nil where each element may have other ones
	Capacity int            // the most elements
	Bytes    int            // the most memory of all elements
}

// Element is what a queue holds several of: a tensor for each component. The tensors stay as they are.
type Element []*tensor.Tensor

// Memory that an element and each of its tensors take beside their contents.
const (
	elementBytes = 24
	tensorBytes  = 128
	stringBytes  = 24
)

// bytes returns the memory of an element.
func (e Element) bytes() int {
	n := elementBytes
	for _, t := range e {
		n += tensorBytes + len(t.Bytes) + 8*len(t.Shape)
		for _, s := range t.Strings {
			n += stringBytes + len(s)
		}
	}
	return n
}

// check fails for an element that the queue is not made for.
func (s Spec) check(e Element) error {
	if len(e) != len(s.Types) {
		return fmt.Errorf("Wrong number of components in tuple. Expected %d, got %d", len(s.Types), len(e))
	}
	for i, t := range e {
		if t.DType != s.Types[i] {
			return fmt.Errorf("Type mismatch in tuple component %d. Expected %v, got %v", i, s.Types[i], t.DType)
		}
		if s.Shapes != nil && !slices.Equal(t.Shape, s.Shapes[i]) {
			return fmt.Errorf("Shape mismatch in tuple component %d. Expected %s, got %s", i, shapeText(s.Shapes[i]), shapeText(t.Shape))
		}
	}
	return nil
}

// Same fails where a queue of the name was made for something else.
func (s Spec) Same(name string, other Spec) error {
	differs := func(what string, has, want any) error {
		return fmt.Errorf("Shared queue '%s' has %s %v but requested %s %v", name, what, has, what+was(what), want)
	}
	switch {
	case s.Capacity != other.Capacity:
		return differs("capacity", s.Capacity, other.Capacity)
	case !slices.Equal(s.Types, other.Types):
		return differs("component types", typesText(s.Types), typesText(other.Types))
	case !slices.EqualFunc(s.Shapes, other.Shapes, slices.Equal[[]int]):
		return differs("component shapes", shapesText(s.Shapes), shapesText(other.Shapes))
	}
	return nil
}

func was(what string) string {
	if what == "capacity" {
		return " was"
	}
	return " were"
}

func typesText(types []tensor.DType) string {
	var names []string
	for _, t := range types {
		names = append(names, strings.TrimSuffix(t.String(), "32"))
	}
	return strings.Join(names, ", ")
}

func shapeText(shape []int) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ",") }

func shapesText(shapes [][]int) string {
	var all []string
	for _, s := range shapes {
		all = append(all, shapeText(s))
	}
	return "[" + strings.Join(all, ",") + "]"
}
