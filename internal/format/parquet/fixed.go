package parquet

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// fixedLists are fixed-size lists. Parquet stores null lists without items; here they get room for them.
type fixedLists struct {
	mem   memory.Allocator
	items arrow.Array
	ends  []int32 // ends of the items of each list; the first entry is 0
	size  int64
	valid *memory.Buffer // bits; nil if no list is null
}

// spacedBlock is the number of lists that are spaced at a time.
const spacedBlock = 4096

func (l *fixedLists) null(i int) bool {
	return l.valid != nil && !bitutil.BitIsSet(l.valid.Bytes(), i)
}

// spaced returns the items with room for null lists.
func (l *fixedLists) spaced() (arrow.Array, error) {
	lists := len(l.ends) - 1
	for i := range lists {
		if got := int64(l.ends[i+1] - l.ends[i]); got != l.size && !(l.null(i) && got == 0) {
			return nil, fmt.Errorf("list %d has %d items, expected %d as the schema of the file says", i, got, l.size)
		}
	}
	if l.valid == nil {
		l.items.Retain()
		return l.items, nil
	}
	if l.size*int64(lists) > maxRows {
		return nil, fmt.Errorf("%d lists of %d items, expected at most %d items", lists, l.size, maxRows)
	}
	var blocks []arrow.Array
	defer func() { releaseAll(blocks) }()
	for from := 0; from < lists; from += spacedBlock {
		block, err := l.block(from, min(from+spacedBlock, lists))
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block)
	}
	return array.Concatenate(blocks, l.mem)
}

// block returns the spaced items of lists from to to-1.
func (l *fixedLists) block(from, to int) (arrow.Array, error) {
	var parts []arrow.Array
	defer func() { releaseAll(parts) }()
	for start := from; start < to; {
		end := start + 1
		for end < to && l.null(end) == l.null(start) {
			end++
		}
		if l.null(start) {
			parts = append(parts, array.MakeArrayOfNull(l.mem, l.items.DataType(), int(l.size)*(end-start)))
		} else {
			parts = append(parts, array.NewSlice(l.items, int64(l.ends[start]), int64(l.ends[end])))
		}
		start = end
	}
	return array.Concatenate(parts, l.mem)
}

func releaseAll(arrays []arrow.Array) {
	for _, a := range arrays {
		a.Release()
	}
}
