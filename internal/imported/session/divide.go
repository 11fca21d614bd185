package session

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// maxStages is the number of stages of a variant that compile light ops. In later stages such ops are eager.
const maxStages = 8

// divide makes the variant's stages.
func (v *variant) divide() error {
	d := &division{v: v, p: v.p, producer: make([]int, v.p.size), compiled: make([]bool, len(v.p.nodes)), needed: make([]bool, len(v.p.nodes)), level: make([]int, len(v.p.nodes))}
	for i := range d.producer {
		d.producer[i] = -1
	}
	for i, n := range d.p.nodes {
		for k := range n.Outputs {
			d.producer[d.p.slots[n.Out(k)]] = i
		}
	}
	for i := range d.p.feeds {
		d.producer[d.p.feeds[i].slot] = -1
	}
	d.choose()
	if d.demand(); d.layers() > maxStages {
		d.chooseHeavy()
		d.demand()
		d.layers()
	}
	if err := d.available(); err != nil {
		return err
	}
	if err := d.stages(); err != nil {
		return err
	}
	v.ends()
	return nil
}

// division divides the nodes of a variant into stages.
type division struct {
	v        *variant
	p        *plan
	producer []int  // for each slot: the position of its node, -1 for a feed
	compiled []bool // for each node
	needed   []bool
	level    []int // stage of each node: even ones are eager
}

// choose decides which nodes are compiled: nodes whose sizes are known except for the batch, heavy nodes, and nodes after
// compiled ones, whose sizes become known at run time.
func (d *division) choose() {
	v := d.v
	for i, n := range d.p.nodes {
		d.compiled[i] = false
		if d.p.eagerly || v.batch == 0 || !d.p.compilable(n) || !d.inputsKnown(i, n) {
			continue
		}
		static, after := true, false
		for k := range n.Outputs {
			at := d.p.slots[n.Out(k)]
			_, ok := v.fit(v.at[0][at], v.at[1][at])
			static = static && ok
		}
		for _, at := range d.p.sources[i] {
			if from := d.producer[at]; from >= 0 && d.compiled[from] {
				after = true
			}
		}
		d.compiled[i] = heavy(n.Op) || static || after
		if n.Op == "Const" || n.Op == "ReadVariableOp" || static && d.constant(n) {
			d.compiled[i] = false // programs contain these themselves
		}
	}
}

// chooseHeavy makes the nodes of late stages eager, except heavy ones.
func (d *division) chooseHeavy() {
	for i, n := range d.p.nodes {
		d.compiled[i] = d.compiled[i] && (d.level[i] < maxStages || heavy(n.Op))
	}
}

// constant reports whether a node's value is known.
func (d *division) constant(n *graph.Node) bool {
	if len(n.Outputs) != 1 {
		return false
	}
	at := d.p.slots[n.Out(0)]
	return same(d.v.at[0][at], d.v.at[1][at])
}

// inputsKnown reports whether all inputs are known that the engine needs to compile a node.
func (d *division) inputsKnown(i int, n *graph.Node) bool {
	in := d.p.sources[i]
	for k, at := range in {
		a, b := d.v.at[0][at], d.v.at[1][at]
		switch inputRole(n.Op, k, len(in)) {
		case ops.RoleConstant:
			if !same(a, b) {
				return false
			}
		case ops.RoleSize:
			if a.T == nil || b.T == nil {
				return false
			}
		}
	}
	return true
}

// demand finds the nodes that the fetches need, given that programs contain constants themselves.
func (d *division) demand() {
	clear(d.needed)
	var stack []int
	push := func(slot int) {
		if n := d.producer[slot]; n >= 0 && !d.needed[n] {
			d.needed[n] = true
			stack = append(stack, n)
		}
	}
	for _, at := range d.p.fetches {
		push(at)
	}
	for i, n := range d.p.nodes {
		if d.p.eagerly || slices.Contains(d.p.targets, n) {
			d.needed[i] = true
			stack = append(stack, i)
		}
	}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if d.constant(d.p.nodes[i]) {
			continue
		}
		for k, at := range d.p.sources[i] {
			if !d.compiled[i] || d.enters(i, k) {
				push(at)
			}
		}
	}
}

// enters reports whether input k of a compiled node has to be computed: it is neither a constant nor a variable,
// and the program reads it.
func (d *division) enters(i, k int) bool {
	n, at := d.p.nodes[i], d.p.sources[i][k]
	if inputRole(n.Op, k, len(d.p.sources[i])) == ops.RoleSize || n.Inputs[k].DType() == tensor.Resource {
		return false
	}
	if from := d.producer[at]; from >= 0 && d.p.nodes[from].Op == "ReadVariableOp" && d.p.compilable(d.p.nodes[from]) {
		return false
	}
	return !same(d.v.at[0][at], d.v.at[1][at])
}

// layers assigns each needed node its stage and returns the number of stages.
func (d *division) layers() int {
	top := -1
	for i := range d.p.nodes {
		if !d.needed[i] {
			continue
		}
		l := 0
		if d.compiled[i] {
			l = 1
		}
		for k, at := range d.p.sources[i] {
			from := d.producer[at]
			if from < 0 || !d.needed[from] || d.compiled[i] && !d.enters(i, k) {
				continue
			}
			step := d.level[from]
			if d.compiled[from] != d.compiled[i] {
				step++
			}
			l = max(l, step)
		}
		d.level[i] = l
		top = max(top, l)
	}
	return top + 1
}

// available fails if nodes that are not compiled have no eager kernel, and names all of them.
func (d *division) available() error {
	missing := gaps{}
	var why error
	for i, n := range d.p.nodes {
		if !d.needed[i] || d.compiled[i] || d.constant(n) {
			continue
		}
		doubt := d.p.s.doubtful[n]
		if doubt == nil && eager.Supported(n.Op) {
			continue
		}
		missing.add(n, n.Name, doubt)
		if why == nil {
			why = d.p.forced[n]
		}
	}
	return missing.err(why)
}

func (d *division) stages() error {
	top := 0
	for i := range d.p.nodes {
		if d.needed[i] {
			top = max(top, d.level[i])
		}
	}
	for l := range top + 1 {
		var part []int
		for i := range d.p.nodes {
			if d.needed[i] && d.level[i] == l {
				part = append(part, i)
			}
		}
		if len(part) == 0 {
			continue
		}
		if l%2 == 1 {
			d.v.stages = append(d.v.stages, d.compiledStage(part))
			continue
		}
		s, err := d.eagerStage(part)
		if err != nil {
			return err
		}
		d.v.stages = append(d.v.stages, s)
	}
	return nil
}

// eagerStage prepares nodes to run one by one.
func (d *division) eagerStage(part []int) (stage, error) {
	s := &eagerStage{env: d.p.env}
	for _, i := range part {
		n := d.p.nodes[i]
		if d.constant(n) {
			at := d.p.slots[n.Out(0)]
			s.constants = append(s.constants, constantValue{at, eager.Value{T: d.v.at[0][at].T}})
			continue
		}
		k, err := d.p.kernel(n)
		if err != nil {
			return nil, err
		}
		for _, in := range n.Inputs {
			if in.DType() == tensor.Resource && !writes(n) { // restoring a variable is no reason to keep it twice
				if name, ok := d.p.s.vars.of(in); ok {
					d.p.s.vars.read(name)
				}
			}
		}
		if v, ok := d.lasting(n); ok {
			s.constants = append(s.constants, constantValue{d.p.slots[n.Out(0)], v})
			continue
		}
		st := eagerStep{eager.Step{Kernel: shown(n, k), In: d.p.sources[i], Keeps: d.keeps(n)}, d.fixed(n)}
		for o := range n.Outputs {
			at := d.p.slots[n.Out(o)]
			if d.producer[at] < 0 {
				at = -1
			}
			st.Out = append(st.Out, at)
		}
		s.steps = append(s.steps, st)
	}
	return s, nil
}

// keeps reports whether a node may keep its inputs. In a plan that updates nothing, functions keep nothing either.
func (d *division) keeps(n *graph.Node) bool {
	return eager.Keeps(n) && (d.p.eagerly || len(eager.Called(n)) == 0)
}

// heavy reports whether an op is worth a program even if the sizes of its inputs are only known at run time.
func heavy(op string) bool {
	d := ops.Find(op)
	return d != nil && d.Heavy
}

// broadcasts reports whether an op works on pairs of elements, so that its inputs' sizes may multiply.
func broadcasts(op string) bool {
	d := ops.Find(op)
	return d != nil && d.Shape == ops.Broadcast
}

// fixed reports whether a node's output sizes are known except for the batch, and do not depend on the values of feeds.
func (d *division) fixed(n *graph.Node) bool {
	if len(eager.Called(n)) > 0 || d.v.concrete && broadcasts(n.Op) { // input sizes may multiply
		return false
	}
	for o := range n.Outputs {
		at := d.p.slots[n.Out(o)]
		if _, ok := d.v.fit(d.v.at[0][at], d.v.at[1][at]); !ok {
			return false
		}
	}
	return true
}

// lasting returns the value of a node that is a variable, or that reads one which no signature updates.
func (d *division) lasting(n *graph.Node) (eager.Value, bool) {
	if d.p.eagerly || n.Op != "VarHandleOp" && n.Op != "ReadVariableOp" || d.producer[d.p.slots[n.Out(0)]] < 0 {
		return eager.Value{}, false
	}
	name, ok := d.p.s.vars.of(n.Out(0))
	if n.Op == "ReadVariableOp" {
		name, ok = d.p.s.vars.readBy(n)
	}
	if !ok || d.p.s.vars.updated[name] {
		return eager.Value{}, false
	}
	v := d.p.env.Resources.Variable(name)
	if n.Op == "VarHandleOp" {
		return eager.Value{Resource: v}, true
	}
	t, err := v.Load()
	return eager.Value{T: t}, err == nil && t.DType == n.Outputs[0].DType
}

// compiledStage finds the inputs and outputs of a set of nodes that are compiled together.
func (d *division) compiledStage(part []int) stage {
	s := &compiledStage{v: d.v}
	inside := map[int]bool{}
	for _, i := range part {
		inside[i] = true
	}
	enters := map[int]bool{}
	for _, i := range part {
		s.nodes = append(s.nodes, i)
		for k, at := range d.p.sources[i] {
			if from := d.producer[at]; d.enters(i, k) && !enters[at] && (from < 0 || !inside[from]) {
				enters[at] = true
				s.feeds = append(s.feeds, at)
			}
		}
	}
	leaves := map[int]bool{}
	mark := func(at int) {
		if from := d.producer[at]; from >= 0 && inside[from] && !leaves[at] {
			leaves[at] = true
			s.fetches = append(s.fetches, at)
			d.v.fresh[at] = true
		}
	}
	for i := range d.p.nodes {
		if !d.needed[i] || inside[i] {
			continue
		}
		for k, at := range d.p.sources[i] {
			if !d.compiled[i] || d.enters(i, k) {
				mark(at)
			}
		}
	}
	for _, at := range d.p.fetches {
		mark(at)
	}
	for _, at := range s.feeds {
		shape, ok := d.v.fit(d.v.at[0][at], d.v.at[1][at])
		s.types = append(s.types, feedType{dtype: d.p.dtypes[at], shape: shape, static: ok})
		s.late = s.late || !ok
	}
	return s
}
