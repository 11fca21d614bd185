package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// xlaOps are XLA ops in graphs outside XLA, which read and write attention's keys and values with them.
var xlaOps = map[*ops.Def]maker{
	ops.XlaDynamicSlice:       plain(xlaSlice),
	ops.XlaDynamicUpdateSlice: plain(xlaUpdateSlice),
}

// xlaStart returns the first element of a slice of t. A slice beyond the bounds of t is moved inside.
func xlaStart(c call, t, starts *tensor.Tensor, sizes []int) (stride, error) {
	at := contiguous(t.Shape)
	begin, err := c.vector("start_indices", starts)
	if err != nil {
		return at, err
	}
	if len(begin) != len(t.Shape) || len(sizes) != len(t.Shape) {
		return at, fmt.Errorf("expected start and size of %d elements, got %d and %d", len(t.Shape), len(begin), len(sizes))
	}
	for i, n := range sizes {
		if n < 0 || n > t.Shape[i] {
			return at, fmt.Errorf("dimension %d of size %d: expected a slice of 0 to %d elements, got %d", i, t.Shape[i], t.Shape[i], n)
		}
		at.base += min(max(begin[i], 0), t.Shape[i]-n) * at.steps[i]
	}
	return at, nil
}

func xlaSlice(c call) error {
	sizes, err := c.vector("size_indices", c.t(2))
	if err != nil {
		return err
	}
	from, err := xlaStart(c, c.t(0), c.t(1), sizes)
	if err != nil {
		return err
	}
	return c.box(c.t(0), sizes, from)
}

func xlaUpdateSlice(c call) error {
	x, update := c.t(0), c.t(1)
	if err := want("update", update, x.DType); err != nil {
		return err
	}
	to, err := xlaStart(c, x, c.t(2), update.Shape)
	if err != nil {
		return err
	}
	y, err := c.output(0, x.DType, x.Shape...)
	if err != nil {
		return err
	}
	copyCells(y, 0, x, 0, x.Len())
	return copyBox(update.Shape, y, to, update, contiguous(update.Shape))
}
