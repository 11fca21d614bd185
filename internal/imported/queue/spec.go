package queue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// Kind says which element of a queue comes out first.
type Kind uint8

// The kinds.
const (
	FIFO     Kind = iota // the one that came first
	Padding              // the same; components of different sizes are padded
	Shuffle              // any
	Priority             // the one whose first component, an int64 scalar, is the smallest
)

// String returns TensorFlow's name.
func (k Kind) String() string {
	return [...]string{"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"}[k]
}

// base is the kind's name in errors of the class that TensorFlow's PaddingFIFOQueue inherits.
func (k Kind) base() string {
	if k == Padding {
		k = FIFO
	}
	return k.String()
}

// Spec says what a queue holds.
type Spec struct {
	Kind     Kind
	Types    []tensor.DType // types of an element's components
	Shapes   [][]int        // shapes of the components; nil if they differ between elements. In a Padding queue -1 is any size
	Capacity int            // the maximum number of elements
	Room     *Room          // the memory for elements
	Keep     int            // elements that stay until the queue is closed: a Shuffle queue's min_after_dequeue
	Draw     func() uint32  // the random numbers of a Shuffle queue
	Seeds    [2]int         // the seeds of Draw
}

// Element is one item of a queue: a tensor for each component. The tensors do not change.
type Element []*tensor.Tensor

// Memory of an element and of each of its tensors besides their contents.
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

// check fails for an element that does not fit the queue.
func (s Spec) check(e Element) error {
	if err := s.types(e); err != nil {
		return err
	}
	if s.Kind == Priority && len(e[0].Shape) != 0 {
		return fmt.Errorf("Expected the priority element to be a scalar, but received shape: %s", shapeText(e[0].Shape))
	}
	for i, t := range e {
		if s.Shapes != nil && !compatible(s.Shapes[i], t.Shape) {
			return mismatch(i, s.Shapes[i], t.Shape)
		}
	}
	return nil
}

// CheckMany fails if elements, stacked along a new first dimension, do not fit the queue.
func (s Spec) CheckMany(e Element) error {
	if err := s.types(e); err != nil {
		return err
	}
	for i, t := range e {
		if len(t.Shape) == 0 {
			return fmt.Errorf("Component %d: expected a tensor of at least one dimension, got a scalar", i)
		}
	}
	n := e[0].Shape[0]
	for i, t := range e {
		switch {
		case s.Shapes != nil && (t.Shape[0] != n || !compatible(s.Shapes[i], t.Shape[1:])):
			return mismatch(i, slices.Concat([]int{n}, s.Shapes[i]), t.Shape)
		case t.Shape[0] != n:
			return fmt.Errorf("All input tensors must have the same size in the 0th dimension. Component %d has %d, and should have %d", i, t.Shape[0], n)
		}
	}
	return nil
}

// types fails if an element's components do not have the queue's types.
func (s Spec) types(e Element) error {
	if len(e) != len(s.Types) {
		return fmt.Errorf("Wrong number of components in tuple. Expected %d, got %d", len(s.Types), len(e))
	}
	for i, t := range e {
		if t.DType != s.Types[i] {
			return fmt.Errorf("Type mismatch in tuple component %d. Expected %s, got %s", i, typeText(s.Types[i]), typeText(t.DType))
		}
	}
	return nil
}

func mismatch(component int, want, got []int) error {
	return fmt.Errorf("Shape mismatch in tuple component %d. Expected %s, got %s", component, shapeText(want), shapeText(got))
}

// compatible reports whether a partial shape allows a shape.
func compatible(partial, shape []int) bool {
	return slices.EqualFunc(partial, shape, func(p, d int) bool { return p < 0 || p == d })
}

// Same fails if the queue of that name was made for other elements.
func (s Spec) Same(name string, other Spec) error {
	differs := func(what string, has any, were string, want any) error {
		return fmt.Errorf("Shared queue '%s' has %s %v but requested %s %v", name, what, has, were, want)
	}
	switch {
	case s.Kind != other.Kind:
		return fmt.Errorf("Expected %s, found %s", s.Kind, other.Kind)
	case s.Capacity != other.Capacity:
		return differs("capacity", s.Capacity, "capacity was", other.Capacity)
	case s.Keep != other.Keep:
		return differs("min_after_dequeue", s.Keep, "min_after_dequeue was", fmt.Sprintf("%d.", other.Keep))
	case other.Seeds != [2]int{} && s.Seeds != other.Seeds:
		return differs("random seeds", s.seeds(), "seeds are", other.seeds()+".")
	case !slices.Equal(s.Types, other.Types):
		return differs("component types", typesText(s.Types), "component types were", typesText(other.Types))
	case !slices.EqualFunc(s.Shapes, other.Shapes, slices.Equal[[]int]):
		return differs("component shapes", shapesText(s.Shapes), "component shapes were", shapesText(other.Shapes))
	}
	return nil
}

func (s Spec) seeds() string { return fmt.Sprintf("(%d, %d)", s.Seeds[0], s.Seeds[1]) }

// typeText is TensorFlow's name of a type.
func typeText(t tensor.DType) string {
	if t == tensor.Float32 {
		return "float"
	}
	if t == tensor.Float64 {
		return "double"
	}
	return t.String()
}

func typesText(types []tensor.DType) string {
	var names []string
	for _, t := range types {
		names = append(names, typeText(t))
	}
	return strings.Join(names, ", ")
}

func shapeText(shape []int) string {
	return strings.NewReplacer(" ", ",", "-1", "?").Replace(fmt.Sprint(shape))
}

func shapesText(shapes [][]int) string {
	var all []string
	for _, s := range shapes {
		all = append(all, shapeText(s))
	}
	return "[" + strings.Join(all, ",") + "]"
}
