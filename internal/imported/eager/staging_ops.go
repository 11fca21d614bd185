package eager

import (
	"cmp"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// stagingOps pass tensors from one step to a later one. Nodes with the same staging area wait for each other.
var stagingOps = map[*ops.Def]maker{
	ops.Stage: onStaging(putStaged), ops.Unstage: onStaging(getStaged), ops.StagePeek: onStaging(peekStaged),
	ops.StageSize:  onStaging(func(a *queue.Staging, c call) error { return c.scalarInt(0, tensor.Int32, a.Size()) }),
	ops.StageClear: onStaging(func(a *queue.Staging, _ call) error { a.Clear(); return nil }),

	ops.MapStage: onMap(mapStage), ops.OrderedMapStage: onMap(mapStage),
	ops.MapUnstage: onMap(mapGet(false)), ops.OrderedMapUnstage: onMap(mapGet(false)),
	ops.MapPeek: onMap(mapGet(true)), ops.OrderedMapPeek: onMap(mapGet(true)),
	ops.MapUnstageNoKey: onMap(mapFirst), ops.OrderedMapUnstageNoKey: onMap(mapFirst),
	ops.MapSize: onMap(mapSize), ops.OrderedMapSize: onMap(mapSize),
	ops.MapIncompleteSize: onMap(mapIncomplete), ops.OrderedMapIncompleteSize: onMap(mapIncomplete),
	ops.MapClear: onMap(mapClear), ops.OrderedMapClear: onMap(mapClear),
}

// namedSharing is sharing for resources that are also found by the node's name if it has no shared name.
func (s *site) namedSharing(kind string) sharing {
	at := s.sharing(kind)
	at.shared = cmp.Or(at.shared, at.node)
	return at
}

// limits reads the attributes that bound a staging area.
func (s *site) limits() queue.Limits {
	const most = 1 << 31
	return queue.Limits{Elements: s.count("capacity", 0, most), Bytes: s.count("memory_limit", 0, 1<<50)}
}

// given returns the number of tensors a node gives; it sets the number of outputs, `own` of which come first.
func (s *site) given(own int) int {
	n := len(list[tensor.DType](s, "dtypes"))
	s.outputs = own + n
	return n
}

// ownOutputs has, for each op that gives elements, the number of outputs that are not tensors of an element.
var ownOutputs = map[*ops.Def]int{
	ops.Unstage: 0, ops.StagePeek: 0, ops.MapUnstage: 0, ops.MapPeek: 0, ops.OrderedMapUnstage: 0, ops.OrderedMapPeek: 0,
	ops.MapUnstageNoKey: 1, ops.OrderedMapUnstageNoKey: 1,
}

// elementOutputs sets a staging node's number of outputs.
func (s *site) elementOutputs() {
	if own, ok := ownOutputs[ops.Find(s.node.Op)]; ok {
		s.given(own)
	}
}

// onStaging returns the maker of a kernel that works on a node's staging area.
func onStaging(f func(a *queue.Staging, c call) error) maker {
	return func(s *site) (kernel, error) {
		limits, at := s.limits(), s.namedSharing("staging area")
		s.elementOutputs()
		return func(c call) error {
			found, err := at.find(c, func(_ string, room *queue.Room) shared {
				own := limits
				own.Room = room
				return queue.NewStaging(own)
			})
			if err != nil {
				return err
			}
			return f(found.(*queue.Staging), c)
		}, nil
	}
}

func putStaged(a *queue.Staging, c call) error { return a.Put(c.ctx, element(c.in)) }

func getStaged(a *queue.Staging, c call) error {
	e, err := a.Get(c.ctx)
	if err != nil {
		return err
	}
	return c.give(0, e)
}

// give sets the outputs from `first` on to the tensors of an element.
func (c call) give(first int, e queue.Element) error {
	if len(e) != len(c.out)-first {
		return fmt.Errorf("Mismatch stage/unstage: %d vs. %d", len(e), len(c.out)-first)
	}
	for i, t := range e {
		c.set(first+i, t)
	}
	return nil
}

func peekStaged(a *queue.Staging, c call) error {
	if len(c.t(0).Shape) != 0 {
		return fmt.Errorf("index must be scalar")
	}
	i, err := integer("index", c.t(0))
	if err != nil {
		return err
	}
	if i < 0 {
		return fmt.Errorf("index: expected at least 0, got %d", i)
	}
	e, err := a.Peek(c.ctx, i)
	if err != nil {
		return err
	}
	return c.give(0, e)
}

// onMap returns the maker of a kernel that works on a node's staging map.
func onMap(f func(m *queue.StagingMap, c call) error) maker {
	return func(s *site) (kernel, error) {
		kind := "map"
		if s.node.Op[0] == 'O' {
			kind = "ordered map"
		}
		limits, at, width := s.limits(), s.namedSharing(kind), len(list[tensor.DType](s, "dtypes"))
		s.elementOutputs()
		return func(c call) error {
			found, err := at.find(c, func(_ string, room *queue.Room) shared {
				own := limits
				own.Room = room
				return queue.NewStagingMap(width, own)
			})
			if err != nil {
				return err
			}
			return f(found.(*queue.StagingMap), c)
		}, nil
	}
}

func mapStage(m *queue.StagingMap, c call) error {
	key, err := integer("key", c.t(0))
	if err != nil {
		return err
	}
	indices, err := c.integers("indices", c.t(1))
	if err != nil {
		return err
	}
	return m.Put(c.ctx, int64(key), indices, element(c.in[2:]))
}

func mapGet(stay bool) func(m *queue.StagingMap, c call) error {
	return func(m *queue.StagingMap, c call) error {
		key, err := integer("key", c.t(0))
		if err != nil {
			return err
		}
		indices, err := c.integers("indices", c.t(1))
		if err != nil {
			return err
		}
		e, err := m.Get(c.ctx, int64(key), indices, stay)
		if err != nil {
			return err
		}
		return c.give(0, e)
	}
}

func mapFirst(m *queue.StagingMap, c call) error {
	indices, err := c.integers("indices", c.t(0))
	if err != nil {
		return err
	}
	key, e, err := m.First(c.ctx, indices)
	if err != nil {
		return err
	}
	c.set(0, tensor.Scalar(key))
	return c.give(1, e)
}

func mapSize(m *queue.StagingMap, c call) error { return c.scalarInt(0, tensor.Int32, m.Size()) }

func mapIncomplete(m *queue.StagingMap, c call) error {
	return c.scalarInt(0, tensor.Int32, m.Incomplete())
}

func mapClear(m *queue.StagingMap, _ call) error {
	m.Clear()
	return nil
}
