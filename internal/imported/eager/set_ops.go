package eager

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// setOps compute with sets: the elements along the last dimension. Ranking metrics need them.
var setOps = map[*ops.Def]maker{
	ops.DenseToDenseSetOperation: setOperation(denseSets, denseSets), ops.DenseToSparseSetOperation: setOperation(denseSets, sparseSets),
	ops.SparseToSparseSetOperation: setOperation(sparseSets, sparseSets),
	ops.SetSize: func(s *site) (kernel, error) {
		strict := s.boolean("validate_indices", true)
		return func(c call) error { return setSize(c, strict) }, nil
	},
}

// member is an element of a set: an integer or a string.
type member struct {
	number int64
	text   []byte
}

func compareMembers(a, b member) int {
	return cmp.Or(cmp.Compare(a.number, b.number), bytes.Compare(a.text, b.text))
}

// sets has the members of each group that has any, sorted and distinct.
type sets struct {
	dtype  tensor.DType
	shape  []int // of the groups
	groups map[int][]member
}

// readSets reads sets from the inputs from `first` on; it also returns the number of these inputs.
type readSets func(c call, first int, strict bool) (sets, int, error)

// membersOf returns the function that returns element i of a tensor as a member.
func membersOf(t *tensor.Tensor) (func(i int) member, error) {
	switch t.DType {
	case tensor.String:
		return func(i int) member { return member{text: t.Strings[i]} }, nil
	case tensor.Int64:
		v := tensor.Values[int64](t)
		return func(i int) member { return member{number: v[i]} }, nil
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Uint8, tensor.Uint16:
		return func(i int) member { return member{number: int64(t.Float(i))} }, nil
	}
	return nil, fmt.Errorf("sets of %v %w", t.DType, ErrUnsupported)
}

func denseSets(c call, first int, _ bool) (sets, int, error) {
	t := c.t(first)
	at, err := membersOf(t)
	if err != nil {
		return sets{}, 0, err
	}
	r := len(t.Shape) - 1
	if r < 1 {
		return sets{}, 0, fmt.Errorf("Shape %s: expected at least rank 2", shapeText(t.Shape))
	}
	s := sets{dtype: t.DType, shape: t.Shape[:r], groups: map[int][]member{}}
	if err := c.room(t.Len(), 48); err != nil {
		return sets{}, 0, err
	}
	n := t.Shape[r]
	for g := range product(s.shape) {
		for i := range n {
			s.groups[g] = append(s.groups[g], at(g*n+i))
		}
	}
	s.order()
	return s, 1, nil
}

func sparseSets(c call, first int, strict bool) (sets, int, error) {
	values := c.t(first + 1)
	p, err := coordsOf(c.t(first), values, c.t(first+2))
	if err != nil {
		return sets{}, 0, err
	}
	at, err := membersOf(values)
	if err != nil {
		return sets{}, 0, err
	}
	r := p.rank() - 1
	if r < 1 {
		return sets{}, 0, fmt.Errorf("Shape %v: expected at least rank 2", p.shape)
	}
	if err := p.check(); err != nil {
		return sets{}, 0, err
	}
	if _, err := elements(p.shape[:r]); err != nil {
		return sets{}, 0, err
	}
	if err := c.room(p.n, 64); err != nil {
		return sets{}, 0, err
	}
	s := sets{dtype: values.DType, shape: p.shape[:r], groups: map[int][]member{}}
	for i := range p.n {
		if strict && i > 0 && slices.Compare(p.row(i-1), p.row(i)) >= 0 {
			return sets{}, 0, fmt.Errorf("indices[%d] = %v is out of order. Many sparse ops require sorted indices.", i, p.row(i))
		}
		g := 0
		for k, v := range p.row(i)[:r] {
			g = g*p.shape[k] + int(v)
		}
		s.groups[g] = append(s.groups[g], at(i))
	}
	s.order()
	return s, 3, nil
}

func (s sets) order() {
	for g, all := range s.groups {
		slices.SortFunc(all, compareMembers)
		s.groups[g] = slices.CompactFunc(all, func(a, b member) bool { return compareMembers(a, b) == 0 })
	}
}

// operations tell whether the result has a member, by whether the first and the second set have it.
var operations = map[string]func(first, second bool) bool{
	"a-b":          func(first, second bool) bool { return first && !second },
	"b-a":          func(first, second bool) bool { return second && !first },
	"intersection": func(first, second bool) bool { return first && second },
	"union":        func(first, second bool) bool { return true },
}

func setOperation(first, second readSets) maker {
	return func(s *site) (kernel, error) {
		name, strict := s.str("set_operation", ""), s.boolean("validate_indices", true)
		stays := operations[name]
		if stays == nil {
			return nil, fmt.Errorf("Invalid set_operation %s.", name)
		}
		return func(c call) error {
			a, n, err := first(c, 0, strict)
			if err != nil {
				return err
			}
			b, _, err := second(c, n, strict)
			if err != nil {
				return err
			}
			if !slices.Equal(a.shape, b.shape) {
				return fmt.Errorf("Mismatched group shapes %v and %v.", a.shape, b.shape)
			}
			if a.dtype != b.dtype {
				return fmt.Errorf("expected sets of one type, got %v and %v", a.dtype, b.dtype)
			}
			return combined(a, b, stays).output(c)
		}, nil
	}
}

// combined returns the members for which stays is true.
func combined(a, b sets, stays func(first, second bool) bool) sets {
	out := sets{dtype: a.dtype, shape: a.shape, groups: map[int][]member{}}
	for _, both := range []map[int][]member{a.groups, b.groups} {
		for g := range both {
			if _, done := out.groups[g]; done {
				continue
			}
			x, y := a.groups[g], b.groups[g]
			var kept []member
			for len(x) > 0 || len(y) > 0 {
				side := 0
				switch {
				case len(x) == 0:
					side = 1
				case len(y) == 0:
					side = -1
				default:
					side = compareMembers(x[0], y[0])
				}
				m := member{}
				if side <= 0 {
					m, x = x[0], x[1:]
				}
				if side >= 0 {
					m, y = y[0], y[1:]
				}
				if stays(side <= 0, side >= 0) {
					kept = append(kept, m)
				}
			}
			out.groups[g] = kept
		}
	}
	return out
}

// output sets the outputs to the sets as a sparse tensor.
func (s sets) output(c call) error {
	n, most, rank := 0, 0, len(s.shape)+1
	groups := make([]int, 0, len(s.groups))
	for g, all := range s.groups {
		n += len(all)
		most = max(most, len(all))
		groups = append(groups, g)
	}
	slices.Sort(groups)
	indices, err := outputOf[int64](c, 0, n, rank)
	if err != nil {
		return err
	}
	values, err := c.output(1, s.dtype, n)
	if err != nil {
		return err
	}
	at, numbers := 0, make([]int64, 0, n)
	for _, g := range groups {
		for i, m := range s.groups[g] {
			row := indices[at*rank : (at+1)*rank]
			for rest, k := g, rank-2; k >= 0; k-- {
				row[k] = int64(rest % s.shape[k])
				rest /= s.shape[k]
			}
			row[rank-1] = int64(i)
			if s.dtype == tensor.String {
				values.Strings[at] = m.text
			}
			numbers = append(numbers, m.number)
			at++
		}
	}
	if s.dtype != tensor.String {
		whole := tensor.New(tensor.Int64, n)
		copy(tensor.Values[int64](whole), numbers)
		if err := recast(values, whole); err != nil {
			return err
		}
	}
	return c.outputInts(2, tensor.Int64, append(slices.Clone(s.shape), most), rank)
}

// setSize outputs the number of members of each set.
func setSize(c call, strict bool) error {
	s, _, err := sparseSets(c, 0, strict)
	if err != nil {
		return err
	}
	out, err := outputOf[int32](c, 0, s.shape...)
	if err != nil {
		return err
	}
	for g, all := range s.groups {
		out[g] = int32(len(all))
	}
	return nil
}
