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
	head  string // up to the values
	size  int    // of the entry
	list  int    // where its list begins
	kind  tfexample.Kind
	field int // -1: it is no field's
}

// entry returns entry k, where rest begins with one that lies alike; else nil.
func (o *exampleOrder) entry(k int, rest []byte) *orderedEntry {
	if k >= len(o.entries) {
		return nil
	}
	e := &o.entries[k]
	if len(rest) >= e.size && string(rest[:len(e.head)]) == e.head {
		o.trust = min(o.trust+1, mostTrust)
		return e
	}
	if o.trust--; o.trust == 0 {
		o.entries = nil
		o.given++
	}
	return nil
}

// learn adds entry k of an example, whose bytes are given, if it is the next one.
func (o *exampleOrder) learn(k int, entry []byte, field int, x foundFeature) {
	head := entry[:x.values]
	if x.values == 0 || k != len(o.entries) || k == mostOrdered || len(head) > longestHead || o.given == mostOrders {
		return
	}
	if k == 0 {
		o.trust = mostTrust
	}
	o.entries = append(o.entries, orderedEntry{string(head), len(entry), x.list, x.kind, field})
}

// foundFeature is where the parts of a feature lie in bytes that hold it.
type foundFeature struct {
	kind   tfexample.Kind // None: there is none
	list   int
	values int // of a list that tfexample.Only reads; else 0
	end    int
}

// found returns where the list of a feature lies that ends the bytes, up to end.
func found(kind tfexample.Kind, list []byte, end int) foundFeature {
	x := foundFeature{kind: kind, list: end - len(list), end: end}
	if data, ok := tfexample.Only(list); ok {
		x.values = end - len(data)
	}
	return x
}

// behind returns x in bytes that have n before those of x.
func (x foundFeature) behind(n int) foundFeature {
	x.list, x.end = x.list+n, x.end+n
	if x.values > 0 {
		x.values += n
	}
	return x
}

// in returns the feature that lies there in an example, and counts its values.
func (x foundFeature) in(example []byte) feature {
	list := example[x.list:x.end]
	return feature{x.kind, list, tfexample.Count(context.Background(), x.kind, list)}
}
