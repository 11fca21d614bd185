package dataflow

import (
	"fmt"
	"strconv"
)

// frame is a running loop. The frame outside of loops has one iteration.
type frame struct {
	p      *Program
	shape  int32
	parent *iteration // that the loop is in; nil outside of loops
	id     uint64     // distinguishes frames of a run; part of rendezvous keys

	iterations []*iteration   // that run, the oldest first
	begun      int            // iterations so far
	entering   int32          // Enter nodes that have not run
	invariants []arrival      // values for each iteration
	waiting    []arrival      // values for the next iteration, when it may begin
	deadExits  []int32        // Exit nodes that were dead in the newest iteration
	left       map[int32]bool // Exit nodes that sent a value
}

// arrival is an output of a node.
type arrival struct {
	node int32
	out  token
}

// iteration is one pass through a loop.
type iteration struct {
	frame    *frame
	number   int
	nodes    []arrived
	inputs   []token
	busy     int              // tasks that are ready or run
	children map[int32]*frame // loops in it, by shape
}

// arrived is the state of a node's inputs.
type arrived struct {
	pending int32
	dead    int32
}

func newFrame(p *Program, shape int32, parent *iteration) *frame {
	f := &frame{p: p, shape: shape, parent: parent, entering: p.frames[shape].enters}
	if parent != nil {
		f.id = combine(parent.frame.id, combine(uint64(parent.number), hash(p.frames[shape].name)))
	}
	return f
}

// leave records that an Exit sent a value. The nodes after it outside of the loop run once: a second value is an error.
func (f *frame) leave(exit int32) error {
	if f.left[exit] {
		return fmt.Errorf("it left the loop %q in two iterations: expected a value in the last one alone", f.p.frames[f.shape].name)
	}
	if f.left == nil {
		f.left = map[int32]bool{}
	}
	f.left[exit] = true
	return nil
}

// begin starts the next iteration, empty.
func (f *frame) begin() *iteration {
	s := &f.p.frames[f.shape]
	it := &iteration{frame: f, number: f.begun, nodes: make([]arrived, len(s.pending)), inputs: make([]token, s.inputs)}
	for i, n := range s.pending {
		it.nodes[i].pending = n
	}
	f.begun++
	f.iterations = append(f.iterations, it)
	f.deadExits = f.deadExits[:0]
	return it
}

// restart resets the iteration outside of loops to the state at the beginning of a run.
func (it *iteration) restart() {
	for i, n := range it.frame.p.frames[it.frame.shape].pending {
		it.nodes[i] = arrived{pending: n}
	}
	clear(it.inputs)
	it.busy, it.children = 0, nil // a loop that waits for its own end still exists
}

// after returns the following iteration, or nil if that has not begun.
func (it *iteration) after() *iteration {
	f := it.frame
	if k := it.number + 1 - f.iterations[0].number; k < len(f.iterations) {
		return f.iterations[k]
	}
	return nil
}

// child returns the instance of a loop in the iteration. The first Enter creates it.
func (it *iteration) child(shape int32) *frame {
	f := it.children[shape]
	if f == nil {
		f = newFrame(it.frame.p, shape, it)
		f.begin()
		if it.children == nil {
			it.children = map[int32]*frame{}
		}
		it.children[shape] = f
	}
	return f
}

// name returns the iteration's name in rendezvous keys.
func (it *iteration) name() string {
	return strconv.FormatUint(it.frame.id, 10) + ":" + strconv.Itoa(it.number)
}

// over reports whether nothing more can happen in the oldest iteration of its frame.
func (it *iteration) over() bool {
	return it.busy == 0 && len(it.children) == 0 && (it.number > 0 || it.frame.entering == 0)
}
