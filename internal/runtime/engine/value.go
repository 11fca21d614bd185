package engine

import (
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// value is one output of an op: its type, and its place for the batch of the current run.
type value struct {
	typ  graph.Type
	mem  []byte // storage at capacity; nil for resources
	elem int    // bytes of an element
	dims []int  // sizes at the current batch
	n    int    // elements at the current batch

	root *value // the value whose storage this one shares, possibly through others; itself if it owns its storage
	home home   // of a root: who owns the storage
	size int    // of a planned root: bytes at capacity
	def  int    // of a root: index of the step that makes it
	last int    // of a root: index of the last step that touches it
	off  int    // of a planned root: offset in the arena
}

// base returns the value that owns v's storage.
func (v *value) base() *value {
	for v.root != v {
		v = v.root
	}
	return v
}

// newValue returns a value that owns its storage.
func newValue(t graph.Type) *value {
	v := &value{typ: t, elem: t.DType.Size(), dims: make([]int, len(t.Shape.Dims))}
	v.root = v
	return v
}

// home says who owns a root's storage.
type home uint8

const (
	inArena    home = iota // planned by lifetime
	inFeed                 // the caller's tensor, or its copy on the device
	inConst                // a constant
	inVariable             // a variable's buffer
	inPersist              // evaluated once per compilation or per batch size; kept from run to run
	nowhere                // resources
)

// resize sets the sizes for a batch of b rows. It reports false if a size is negative.
func (v *value) resize(b int) bool {
	v.n = 1
	for i, d := range v.typ.Shape.Dims {
		v.dims[i] = d.At(b)
		v.n *= v.dims[i]
		if v.dims[i] < 0 {
			return false
		}
	}
	return true
}

// bytesAt returns the size of v's storage for b rows.
func (v *value) bytesAt(b int) int { return v.typ.Shape.ElementsAt(b) * v.elem }

// bytes returns v's storage for the current batch.
func (v *value) bytes() []byte { return v.mem[:v.n*v.elem] }

// view returns v's elements for the current batch. T must be v's element type, or a type of its size. Ops check types
// when they are compiled. The check here keeps their mistakes from reaching other memory.
func view[T tensor.Element](v *value) []T {
	var z T
	if size := int(unsafe.Sizeof(z)); size != v.elem || v.n*size > len(v.mem) {
		panic("engine: an op views a value as what it is not")
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v.mem))), v.n)
}
