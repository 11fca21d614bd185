package inputs

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// BatchMemory allocates the batches that go to a device, in memory that the device
// reads without a copy on the host. Allocated memory is not cleared.
type BatchMemory interface {
	memory.Allocator
	// Prefers reports whether a copy of b, made here, would go to the device faster than b does.
	Prefers(b []byte) bool
}

type batchMemoryKey struct{}

// WithBatchMemory returns a context whose passes make their batches in mem. Shuffle
// and Batch collect rows there, and Mappers make their columns there, without a copy.
// ParallelMap and Prefetch copy other records to mem in the
// background; records that are only views otherwise stay where they are. All
// records must be released.
func WithBatchMemory(ctx context.Context, mem BatchMemory) context.Context {
	return context.WithValue(ctx, batchMemoryKey{}, mem)
}

// BatchMemoryOf returns the memory in which a pass started with ctx
// should make its batches; nil: any. It is for data sets of other packages.
func BatchMemoryOf(ctx context.Context) BatchMemory {
	mem, _ := ctx.Value(batchMemoryKey{}).(BatchMemory)
	return mem
}

// The context of stage.pull carries the batch memory if pulled records must be
// in it. The context of node.open carries it if they are copied to it in the
// background.

// withoutBatchMemory is for the steps before a step that keeps or replaces the
// rows: their records are not the batches.
func withoutBatchMemory(ctx context.Context) context.Context {
	if BatchMemoryOf(ctx) == nil {
		return ctx
	}
	return WithBatchMemory(ctx, nil)
}

// memoryOf returns the allocator of a step's records.
func memoryOf(ctx context.Context, otherwise memory.Allocator) memory.Allocator {
	if mem := BatchMemoryOf(ctx); mem != nil {
		return mem
	}
	return otherwise
}

// prefers reports whether some column should be copied to mem.
func prefers(mem BatchMemory, rec arrow.Record) bool {
	for i := range int(rec.NumCols()) {
		if b := values(peek(rec, i)); len(b) > 0 && mem.Prefers(b) {
			return true
		}
	}
	return false
}

// values returns the bytes of an array of dense numbers, nil for other arrays and
// for arrays that may have nulls.
func values(arr arrow.Array) []byte {
	elems, size := arr, 1
	if list, ok := arr.(*array.FixedSizeList); ok {
		elems, size = list.ListValues(), int(list.DataType().(*arrow.FixedSizeListType).Len())
	}
	t, ok := elems.DataType().(arrow.FixedWidthDataType)
	if !ok || t.BitWidth()%8 != 0 || t.ID() == arrow.DICTIONARY || arr.NullN() > 0 || elems.NullN() > 0 {
		return nil
	}
	w, n := t.BitWidth()/8, arr.Len()*size
	if n == 0 {
		return nil
	}
	at := elems.Data().Offset()
	if elems != arr {
		at += arr.Data().Offset() * size
	}
	return elems.Data().Buffers()[1].Bytes()[at*w : (at+n)*w]
}
