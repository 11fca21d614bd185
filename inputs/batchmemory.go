package inputs

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// BatchMemory is where batches are made that go to a device, which reads them
// there without a copy on the host. What is allocated comes as it was left.
type BatchMemory interface {
	memory.Allocator
	// Prefers reports whether a copy of b, made there, would go to the device faster than b does.
	Prefers(b []byte) bool
}

type batchMemoryKey struct{}

// WithBatchMemory returns a context whose passes make their batches in mem: the
// rows that Shuffle and Batch bring together and the columns that a Mapper makes
// are written there at once, and what ParallelMap and Prefetch deliver is copied
// there in the background where it is not there yet. Records that hold no more
// than views keep them otherwise. All records must be released.
func WithBatchMemory(ctx context.Context, mem BatchMemory) context.Context {
	return context.WithValue(ctx, batchMemoryKey{}, mem)
}

// BatchMemoryOf returns where a pass that is started with this context should
// make its batches; nil: anywhere. It is for data sets of other packages.
func BatchMemoryOf(ctx context.Context) BatchMemory {
	mem, _ := ctx.Value(batchMemoryKey{}).(BatchMemory)
	return mem
}

// The context of stage.pull has the batch memory where what is pulled is to lie
// there, that of node.open where it does so in the background.

// withoutBatchMemory is for the steps upstream of one that keeps or replaces the
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

// prefers reports whether some column would better lie in mem.
func prefers(mem BatchMemory, rec arrow.Record) bool {
	for i := range int(rec.NumCols()) {
		if b := values(peek(rec, i)); len(b) > 0 && mem.Prefers(b) {
			return true
		}
	}
	return false
}

// values returns the bytes of the dense numbers that an array holds, nil for
// other arrays and where some may be null.
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
