package inputs

import (
	"context"

	"github.com/goestimator/goestimator/internal/format/tfexample"
)

// exampleOrder is how the features of an example lie. Those of the next ones lie alike where the writer keeps one order of names, as
// TensorFlow's Python does (Go's protocol buffers do not): they are then found by one comparison each.
type exampleOrder struct {
	entries []orderedEntry
	trust   int // how many entries more may lie otherwise before the order is given up
	given   int // how often one was given up
}

const (
	mostTrust   = 1000
	mostOrders  = 8 // then none is looked for
	mostOrdered = 4096
	longestHead = 256
)

// orderedEntry is an entry of the features. What it has before its values holds all lengths: where it is the same, the rest lies alike.
type orderedEntry struct {
	head   string // up to the values
	size   int    // of the entry
	list   int    // where its list begins
	kind   tfexample.Kind
	field  int  // -1: it is no field's
	floats bool // its values lie as in the column of the field
}

// begins reports whether an entry that lies alike is the first of the rest.
func (e *orderedEntry) begins(rest []byte) bool {
	return len(rest) >= e.size && string(rest[:len(e.head)]) == e.head
}

// entry returns entry k, where rest begins with one that lies alike; else nil.
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

// learns reports whether entry k is to be remembered as the order's next one; its values are so many bytes behind its beginning, if it has such.
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

// foundFeature is where the parts of a feature lie in bytes that hold it, fewer than longestFramed.
type foundFeature struct {
	kind    tfexample.Kind // None: there is none
	written bool           // its values are in the column's present row
	list    int32
	values  int32 // of a list that tfexample.Only reads; else 0
	end     int32
}

// set says where a feature lies. Fields are set one by one: a copy of the whole would wait for its parts to be stored.
func (x *foundFeature) set(kind tfexample.Kind, list, values, end int) {
	x.kind, x.written, x.list, x.values, x.end = kind, false, int32(list), int32(values), int32(end)
}

// in returns the feature that lies there in an example, and counts its values.
func (x *foundFeature) in(example []byte) feature {
	list := example[x.list:x.end]
	return feature{x.kind, list, tfexample.Count(context.Background(), x.kind, list)}
}
