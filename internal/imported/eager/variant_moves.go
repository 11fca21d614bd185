package eager

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// movesVariants are ops that read the shape of a tensor, or move its elements, which may be variants.
var movesVariants = map[*ops.Def]bool{
	ops.Shape: true, ops.ShapeN: true, ops.Size: true, ops.Rank: true, ops.Reshape: true, ops.ExpandDims: true, ops.Squeeze: true,
	ops.ConcatV2: true, ops.Pack: true, ops.Unpack: true, ops.Slice: true, ops.StridedSlice: true, ops.Tile: true, ops.Split: true, ops.ReverseV2: true,
	ops.Gather: true, ops.GatherV2: true, ops.GatherNd: true,
}

// movingVariants extends the maker m of an op to variants: its kernels then move the variants' numbers.
func movingVariants(op *ops.Def, m maker) maker {
	if !movesVariants[op] {
		return m
	}
	return func(s *site) (kernel, error) {
		k, err := m(s)
		if err != nil {
			return nil, err
		}
		return func(c call) error {
			if !slices.ContainsFunc(c.in, variant) {
				return k(c)
			}
			return c.moveVariants(op, k)
		}, nil
	}
}

// moveVariants runs k on the numbers of variants, and replaces the numbers in the outputs by the variants.
func (c call) moveVariants(op *ops.Def, k kernel) error {
	numbered := c
	numbered.in, numbered.out = slices.Clone(c.in), make([]Value, len(c.out))
	var all []Value
	attr := ""
	for i, v := range c.in {
		if !variant(v) {
			continue
		}
		shape, some := c.variants(i)
		t, err := c.alloc(tensor.Int32, shape...)
		if err != nil {
			return err
		}
		for j, at := 0, tensor.Values[int32](t); j < len(at); j++ {
			at[j] = int32(len(all) + j)
		}
		if err := c.room(len(some), listHeader); err != nil {
			return err
		}
		all = append(all, some...)
		attr = op.InputAt(i, len(c.in)).TypeAttr
		numbered.in[i] = Value{T: t}
	}
	if err := k(numbered); err != nil {
		return err
	}
	for i, v := range numbered.out {
		c.out[i] = v
		if op.OutputAt(i, len(c.out)).TypeAttr != attr || v.T == nil {
			continue
		}
		var err error
		if c.out[i], err = c.chosenVariants(v.T, all); err != nil {
			return err
		}
	}
	return nil
}

// chosenVariants returns the variants with the numbers in `at`, in an array unless there is only a scalar.
func (c call) chosenVariants(at *tensor.Tensor, all []Value) (Value, error) {
	numbers := tensor.Values[int32](at)
	if len(at.Shape) == 0 {
		return all[numbers[0]], nil
	}
	a, err := newVariantArray(c, len(numbers))
	if err != nil {
		return Value{}, err
	}
	a.shape = slices.Clone(at.Shape)
	for i, k := range numbers {
		a.all[i] = all[k]
		a.depth = max(a.depth, depth(all[k]))
	}
	return Value{Resource: a}, nil
}
