package ps

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/bundle"
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
)

// Initial returns a State.Value of the variables' initializers, chunk by chunk
// what they make of the whole variable.
func Initial(variables []*models.Variable, seed int64) func(name string) Fill {
	byName := map[string]*models.Variable{}
	for _, v := range variables {
		byName[v.Name] = v
	}
	return func(name string) Fill {
		v := byName[name]
		if v == nil || v.Init == nil {
			return nil
		}
		return func(dst *graph.Tensor, first int) error {
			return initializers.InitRows(v.Init, dst, initializers.Rows{Full: v.Shape, First: first}, models.Key(seed, name))
		}
	}
}

// RowReader reads tensors of a checkpoint; a checkpoint.Reader is one.
type RowReader interface {
	Lookup(name string) (bundle.Info, bool)
	Rows(name string, lo, hi int) (*graph.Tensor, error)
	Tensor(name string) (*graph.Tensor, error)
}

// Restored returns a State.Value that reads a checkpoint, however it was
// partitioned. What the checkpoint lacks is taken from otherwise, which may be nil.
func Restored(r RowReader, otherwise func(name string) Fill) func(name string) Fill {
	return func(name string) Fill {
		info, ok := r.Lookup(name)
		switch {
		case ok:
			return func(dst *graph.Tensor, first int) error { return restoreRows(r, info, dst, first) }
		case otherwise != nil:
			return otherwise(name)
		}
		return nil
	}
}

func restoreRows(r RowReader, info bundle.Info, dst *graph.Tensor, first int) error {
	if info.DType != dst.DType || len(info.Shape) != len(dst.Shape) || len(dst.Shape) > 0 && !slices.Equal(info.Shape[1:], dst.Shape[1:]) {
		return fmt.Errorf("the checkpoint's %s is a %v%v, the model's has rows of %v%v", info.Name, info.DType, info.Shape, dst.DType, dst.Shape[min(1, len(dst.Shape)):])
	}
	var t *graph.Tensor
	var err error
	if len(dst.Shape) == 0 {
		t, err = r.Tensor(info.Name)
	} else {
		t, err = r.Rows(info.Name, first, first+dst.Shape[0])
	}
	if err != nil {
		return err
	}
	copy(dst.Bytes, t.Bytes)
	return nil
}

// Slice returns the part as TensorBundles name it, nil where it is the whole.
func (x Part) Slice() bundle.Slice {
	if x.Whole {
		return nil
	}
	s := bundle.Slice{{Start: x.First, Length: x.Rows}}
	for range x.Type.Shape.Dims[1:] {
		s = append(s, bundle.Extent{Start: 0, Length: -1})
	}
	return s
}
