package inputs

import (
	"context"

	"github.com/goestimator/goestimator/internal/format/tfexample"
)

// exampleOrder is the layout of the features in an example. If the writer keeps one order of names, as TensorFlow's Python does
// (Go's protocol buffers do not), the next examples have the same layout, and one comparison finds each feature.
type exampleOrder struct {
	entries []orderedEntry
	trust   int // how many more entries may differ before the order is given up
	given   int // number of orders given up
}

const (
	mostTrust   = 1000
	mostOrders  = 8 // after that, none is learned
	mostOrdered = 4096
	longestHead = 256
)

// orderedEntry is an entry of the features. The bytes before its values have all lengths: if they are the same, so is the rest of the layout.
type orderedEntry struct {
	head   string // bytes before the values
	size   int    // bytes of the entry
	list   int    // offset of its list
	kind   tfexample.Kind
	field  int  // -1: the entry belongs to no field
	floats bool // its values have the memory layout of the field's column
}

// begins reports whether rest begins with an entry of the same layout.
func (e *orderedEntry) begins(rest []byte) bool {
	return len(rest) >= e.size && string(rest[:len(e.head)]) == e.head
}

// entry returns entry k if rest begins with an entry of its layout, else nil.
func (o *exampleOrder) entry(k int, rest []byte) *orderedEntry {
	if k >= len(o.entries) {
		return nil
	}
	e := &o.entries[k]
	if e.begins(rest) {
		o.trust = min(o.trust+1, mostTrust)
		return e
	}
	if o.trust--; o.trust == 0 {
		o.entries = nil
		o.given++
	}
	return nil
}

// learns reports whether to remember entry k as the next one of the order. Its values begin at offset values, if that is positive.
func (o *exampleOrder) learns(k, values int) bool {
	return k == len(o.entries) && o.given < mostOrders && k < mostOrdered && values > 0 && values <= longestHead
}

// learn remembers the order's next entry.
func (o *exampleOrder) learn(e orderedEntry) {
	if len(o.entries) == 0 {
		o.trust = mostTrust
	}
	o.entries = append(o.entries, e)
}

// foundFeature has the offsets of the parts of a feature in an example, which is shorter than longestFramed.
type foundFeature struct {
	kind    tfexample.Kind // None: not found
	written bool           // its values are already in the column's current row
	list    int32
	values  int32 // offset of the values in a list that tfexample.Only reads; else 0
	end     int32
}

// set sets the offsets. It sets fields one by one: copying the whole struct would wait for the stores of its parts.
func (x *foundFeature) set(kind tfexample.Kind, list, values, end int) {
	x.kind, x.written, x.list, x.values, x.end = kind, false, int32(list), int32(values), int32(end)
}

// in returns the feature found in an example, and counts its values.
func (x *foundFeature) in(example []byte) feature {
	list := example[x.list:x.end]
	return feature{x.kind, list, tfexample.Count(context.Background(), x.kind, list)}
}
