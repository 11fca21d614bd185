package engine

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// op is a node of the program being compiled: the graph's node with inputs resolved to other ops, so that the graph
// itself is never changed.
type op struct {
	node        *graph.Node
	index       int // position in the graph, the tie-break of every order
	in          []port
	after       []*op // control edges and the engine's own
	out         []*value
	def         *opDef
	feed        int       // index of the feed that this op stands for, -1 for none
	reads       *variable // of a ReadVariableOp
	write       []*variable
	copy        bool // a read that must not share the variable's storage
	guarded     bool // the last operand decides whether the update is made: see guardUpdates
	mayOverflow bool // its results may be infinite or NaN
	own         bool // makes a fetch for Options.OwnFetches, so it runs each time
	frequency   frequency
	at          int     // place among the ops while fusions are formed
	fusion      *fusion // of elementwise ops
	// phantom ops stand for operands that are not read, only their types matter. Their values have no storage.
	phantom bool
}

// port is an output of an op.
type port struct {
	op  *op
	idx int
}

func (p port) value() *value { return p.op.out[p.idx] }

// frequency says how often an op has to run.
type frequency uint8

const (
	perCompile   frequency = iota // depends only on constants
	perBatchSize                  // depends on constants and the batch size
	perRun
)
