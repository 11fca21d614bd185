package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// spaced returns the items of lists of a fixed size with room below null lists, which Parquet stores without items. valid is nil where no list is
// null.
func (b *builder) spaced(items arrow.Array, ends []int32, size int64, valid *memory.Buffer) (arrow.Array, error) {
	isNull := func(i int) bool { return valid != nil && !bitutil.BitIsSet(valid.Bytes(), i) }
	for i, end := range ends[1:] {
		if got := int64(end - ends[i]); got != size && !isNull(i) {
			return nil, fmt.Errorf("list %d has %d items, expected %d as the schema of the file says", i, got, size)
		}
	}
	if valid == nil {
		items.Retain()
		return items, nil
	}
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for start, n := 0, len(ends)-1; start < n; {
		end := start + 1
		for end < n && isNull(end) == isNull(start) {
			end++
		}
		if isNull(start) {
			parts = append(parts, array.MakeArrayOfNull(b.mem, items.DataType(), int(size)*(end-start)))
		} else {
			parts = append(parts, array.NewSlice(items, int64(ends[start]), int64(ends[end])))
		}
		start = end
	}
	return array.Concatenate(parts, b.mem)
}
