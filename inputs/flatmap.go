package inputs

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// FlatMap is Map with a mapper whose record may have any number of rows, even none: first the rows made of the first
// input row, then the rows made of the second, as tf.data's flat_map. It works in the goroutine of Next; a Prefetch after it works ahead.
func FlatMap(m Mapper) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		d := m.node(up)
		if d.err != nil {
			return d
		}
		d.desc = fmt.Sprintf("%s | flat_map(%s,%d)", up.desc, m.Name, m.Seed)
		d.batch, d.mixes = 0, true
		d.again = func(ctx context.Context, rec arrow.Record, seen *int64) (arrow.Record, error) {
			defer rec.Release()
			first := *seen
			*seen += rec.NumRows()
			b := m.bind(d, 0)
			b.flat = true
			out, err := b.apply(ctx, rec, first)
			if err == nil && out.NumRows() == 0 {
				out.Release()
				return nil, nil
			}
			return out, err
		}
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(withoutBatchMemory(ctx), epoch)
			if err != nil {
				return nil, err
			}
			bound := m.bind(d, epoch)
			bound.flat = true
			return &mapStage{up: st, in: up, m: bound}, nil
		}
		return d
	}
}
