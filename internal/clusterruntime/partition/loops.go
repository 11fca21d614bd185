package partition

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// loopAt is a loop on a device.
type loopAt struct {
	loop   *frame
	device device.Name
}

// gather moves control flow to the values that it carries, so that fewer tasks take part in a loop, and a branch reads a remote
// variable only if it is taken. The rules are TensorFlow's (OptimizeControlFlowColocation in graph_partition.cc).
func (d *divider) gather() {
	first := map[*graph.Node]*graph.Node{} // first user of a node's value
	for _, n := range d.need.nodes {
		for _, in := range n.Inputs {
			if !d.isFed(in) && first[in.Node] == nil {
				first[in.Node] = n
			}
		}
	}
	for _, n := range d.frames.sorted {
		switch {
		case (isSwitch(n) || isExit(n)) && len(n.Inputs) > 0:
			if d.isFed(n.Inputs[0]) {
				d.at[n] = d.cluster.Client
			} else {
				d.at[n] = d.at[n.Inputs[0].Node]
			}
		case n.Op == "Enter" || nextIteration(n):
			if to := first[n]; to != nil {
				d.at[n] = d.at[to]
			}
		}
	}
}

// takePart makes each device that uses values of other devices within a loop run the loop, too, as AddControlFlow in graph_partition.cc
// does, since TensorFlow's servers divide their parts by device.
func (d *divider) takePart() error {
	for _, n := range d.need.nodes[:len(d.need.nodes):len(d.need.nodes)] {
		for _, b := range d.need.before(n) {
			if loop := d.frames.gives[b]; loop != nil && d.at[b].Name != d.at[n].Name {
				if _, err := d.controlLoop(loop, n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// followLoop makes a node wait for the iteration of its loop if a server that divides the part by device makes it receive an input.
func (d *divider) followLoop(n, before, first *graph.Node) {
	loop, c := d.frames.gives[before], d.copies[n]
	if loop == nil || first.Device == c.Device {
		return
	}
	if merge := d.copies[d.loops[loopAt{loop, d.at[n].Name}]]; merge != nil && !slices.Contains(c.Control, merge) {
		c.Control = append(c.Control, merge)
	}
}

// controlLoop returns the Merge of a loop on the device of a node. That loop has an iteration for each iteration of the real one, whose
// condition its Switch takes.
func (d *divider) controlLoop(loop *frame, by *graph.Node) (*graph.Node, error) {
	key := loopAt{loop, d.at[by].Name}
	if m := d.loops[key]; m != nil {
		return m, nil
	}
	if loop.cond == nil {
		return nil, fmt.Errorf("A cross-device loop must have a pivot predicate: %s", loop.name) //nolint:staticcheck // clients know this text
	}
	var start graph.Output
	if loop.parent == nil {
		start = d.extra("Const", by, nil, graph.Attrs{"dtype": tensor.Float32, "value": tensor.New(tensor.Float32, 0)}).Out(0)
	} else {
		outer, err := d.controlLoop(loop.parent, by)
		if err != nil {
			return nil, err
		}
		start = outer.Out(0)
	}
	of := graph.Attrs{"T": tensor.Float32}
	enter := d.extra("Enter", by, loop, graph.Attrs{"T": tensor.Float32, "frame_name": []byte(loop.name), "parallel_iterations": int64(loop.parallel)}, start)
	merge := d.extra("Merge", by, loop, graph.Attrs{"T": tensor.Float32, "N": int64(2)}, enter.Out(0))
	split := d.extra("Switch", by, loop, of, merge.Out(0), loop.cond.Out(0))
	next := d.extra("NextIteration", by, loop, of, split.Out(1))
	merge.Inputs = append(merge.Inputs, next.Out(0))
	d.loops[key] = merge
	return merge, nil
}

// extra adds a node beside one of the client's, on the same device.
func (d *divider) extra(op string, by *graph.Node, loop *frame, attrs graph.Attrs, in ...graph.Output) *graph.Node {
	name := ""
	for used := true; used; {
		d.names++
		name = fmt.Sprintf("_cloop%s_%d", by.Name, d.names)
		used = d.g.Node(name) != nil
	}
	n := &graph.Node{Name: name, Op: op, Attrs: attrs, Inputs: in, Outputs: []graph.Type{{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}}}
	switch op {
	case "Const":
		n.Outputs[0] = graph.TypeOf(tensor.Float32, 0)
	case "Merge":
		n.Outputs = append(n.Outputs, graph.Type{DType: tensor.Int32, Shape: graph.Shape{UnknownRank: true}})
	case "Switch":
		n.Outputs = append(n.Outputs, n.Outputs[0])
	}
	d.need.nodes = append(d.need.nodes, n)
	d.at[n], d.frames.gives[n] = d.at[by], loop
	return n
}
