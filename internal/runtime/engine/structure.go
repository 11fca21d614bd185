package engine

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// structureOps move values without computing: constants, feeds, reshapes, and shapes as values.
var structureOps = map[*ops.Def]opDef{
	ops.Const:                  {},
	ops.Placeholder:            {},
	ops.PlaceholderWithDefault: {alias: true, compile: sameElements},
	ops.Identity:               {alias: true, compile: sameElements},
	ops.StopGradient:           {alias: true, compile: sameElements},
	ops.PreventGradient:        {alias: true, compile: sameElements},
	ops.Reshape:                {alias: true, compile: sameElements},
	ops.ExpandDims:             {alias: true, compile: sameElements},
	ops.Squeeze:                {alias: true, compile: sameElements},
	ops.DeepCopy:               {compile: compileCopy},
	ops.NoOp:                   {},
	ops.Shape:                  {compile: compileShape},
	ops.Size:                   {compile: compileSize},
	ops.Rank:                   {compile: compileRank},
}

// sameElements checks that input and output are two shapes of the same elements; there is no step.
func sameElements(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	in, out := c.in[0].typ, c.out[0].typ
	if in.DType != out.DType {
		return nil, fmt.Errorf("expected output type %v, got %v", in.DType, out.DType)
	}
	// Two batch sizes suffice: the number of elements is a polynomial of the batch, and these two exclude accidents.
	for _, b := range []int{1009, 1013} {
		if in.DType != tensor.Resource && in.Shape.ElementsAt(b) != out.Shape.ElementsAt(b) {
			return nil, fmt.Errorf("shape %v does not hold the elements of %v", out.Shape, in.Shape)
		}
	}
	return nil, nil
}

// compileCopy makes a value with storage of its own.
func compileCopy(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	in, out := c.in[0], c.out[0]
	if !sameType(in.typ, out.typ) {
		return nil, fmt.Errorf("expected a result of type %v and shape %v, got %v %v", in.typ.DType, in.typ.Shape, out.typ.DType, out.typ.Shape)
	}
	return func() error { copy(out.bytes(), in.bytes()); return nil }, nil
}

// storeInts returns a function that writes integers to an int32 or int64 value.
func storeInts(v *value) (func(i, x int), error) {
	switch v.typ.DType {
	case tensor.Int32:
		return func(i, x int) { view[int32](v)[i] = int32(x) }, nil
	case tensor.Int64:
		return func(i, x int) { view[int64](v)[i] = int64(x) }, nil
	}
	return nil, fmt.Errorf("output type %v: expected int32 or int64", v.typ.DType)
}

func compileShape(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	in := c.in[0]
	store, err := storeInts(c.out[0])
	return func() error {
		for i, d := range in.dims {
			store(i, d)
		}
		return nil
	}, errors.Join(err, checkShape("result", c.out[0], []graph.Dim{graph.Fixed(len(in.dims))}))
}

func compileSize(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	in := c.in[0]
	store, err := storeInts(c.out[0])
	return func() error { store(0, in.n); return nil }, errors.Join(err, checkRank("result", c.out[0], 0))
}

func compileRank(c *binding) (runFunc, error) {
	if err := c.need(1, 1); err != nil {
		return nil, err
	}
	in := c.in[0]
	store, err := storeInts(c.out[0])
	return func() error { store(0, len(in.dims)); return nil }, errors.Join(err, checkRank("result", c.out[0], 0))
}
