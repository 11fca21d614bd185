package eager

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// makeQueue returns the maker of a kernel that finds or makes a queue.
func makeQueue(kind queue.Kind) maker {
	return func(s *site) (kernel, error) {
		spec, at := s.queueSpec(kind), s.sharing("queue")
		return func(c call) error {
			found, err := at.find(c, func(name string, room *queue.Room) shared {
				own := spec
				own.Room = room
				if kind == queue.Shuffle {
					own.Draw = words(spec.Seeds)
				}
				return queue.New(name, own)
			})
			if err != nil {
				return err
			}
			q := found.(*queue.Queue)
			c.out[0].Resource = q
			return q.Spec().Same(q.Name(), spec)
		}, nil
	}
}

// queueSpec reads the attributes of a node that makes a queue.
func (s *site) queueSpec(kind queue.Kind) queue.Spec {
	spec := queue.Spec{Kind: kind, Types: list[tensor.DType](s, "component_types"), Capacity: s.node.Int("capacity", -1)}
	if spec.Capacity < 0 {
		spec.Capacity = math.MaxInt32
	}
	shapes := list[graph.Shape](s, "shapes")
	if len(shapes) > 0 && len(shapes) != len(spec.Types) {
		s.fail("Different number of component types.  Types: %v, Shapes: %v", spec.Types, shapes)
	}
	for _, shape := range shapes {
		spec.Shapes = append(spec.Shapes, s.componentShape(shape, kind == queue.Padding))
	}
	switch kind {
	case queue.Padding:
		if len(shapes) != len(spec.Types) {
			s.fail("Shapes must be provided for all components, but received %d dtypes and %d shapes.", len(spec.Types), len(shapes))
		}
	case queue.Shuffle:
		spec.Keep = s.node.Int("min_after_dequeue", 0)
		spec.Seeds = [2]int{s.node.Int("seed", 0), s.node.Int("seed2", 0)}
		if spec.Keep < 0 {
			s.fail("min_after_dequeue %d must be >= 0", spec.Keep)
		}
		if spec.Keep >= spec.Capacity {
			s.fail("min_after_dequeue %d must be < capacity %d", spec.Keep, spec.Capacity)
		}
	case queue.Priority:
		if spec.Shapes != nil {
			spec.Shapes = append([][]int{{}}, spec.Shapes...)
		}
		spec.Types = append([]tensor.DType{tensor.Int64}, spec.Types...)
	}
	if len(spec.Types) == 0 {
		s.fail("attribute component_types: expected a type")
	}
	for _, d := range spec.Types {
		if d != tensor.String && d.Size() == 0 {
			s.fail("queues of %v %w", d, ErrUnsupported)
		}
	}
	return spec
}

// componentShape returns the shape of a component. If it may be partial, -1 stands for any size.
func (s *site) componentShape(shape graph.Shape, partial bool) []int {
	if shape.UnknownRank || !partial && !shape.Known() {
		s.fail("attribute shapes: %v: expected known sizes", shape)
		return nil
	}
	sizes := append([]int{}, shape.At(1)...)
	known := slices.DeleteFunc(slices.Clone(sizes), func(d int) bool { return d < 0 })
	if _, err := elements(known); err != nil {
		s.fail("attribute shapes: %w", err)
	}
	return sizes
}
