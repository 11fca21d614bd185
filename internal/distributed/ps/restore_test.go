package ps

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/tensor"
)

// restored returns a State.Value that reads a checkpoint, however it was
// partitioned. Values that are not in the checkpoint come from otherwise, which
// may be nil.
func restored(r *checkpoint.Reader, otherwise func(name string) Fill) func(name string) Fill {
	return func(name string) Fill {
		info, ok := r.Lookup(name)
		switch {
		case ok:
			return func(dst *tensor.Tensor, first int) error { return restoreRows(r, info, dst, first) }
		case otherwise != nil:
			return otherwise(name)
		}
		return nil
	}
}

func restoreRows(r *checkpoint.Reader, info checkpoint.Info, dst *tensor.Tensor, first int) error {
	if info.DType != dst.DType || len(info.Shape) != len(dst.Shape) || len(dst.Shape) > 0 && !slices.Equal(info.Shape[1:], dst.Shape[1:]) {
		return fmt.Errorf("the checkpoint's %s is a %v%v, the model's has rows of %v%v", info.Name, info.DType, info.Shape, dst.DType, dst.Shape[min(1, len(dst.Shape)):])
	}
	var t *tensor.Tensor
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

// sliceOf returns the part in the notation of TensorBundles, nil if it is the whole variable.
func sliceOf(x Part) checkpoint.Slice {
	if x.Whole {
		return nil
	}
	s := checkpoint.Slice{{Start: x.First, Length: x.Rows}}
	for range x.Type.Shape.Dims[1:] {
		s = append(s, checkpoint.Extent{Start: 0, Length: -1})
	}
	return s
}
