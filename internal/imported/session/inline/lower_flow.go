package inline

import (
	"fmt"
	"strconv"

	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

const resource = types_go_proto.DataType_DT_RESOURCE

// lowering is a branch or loop that is being lowered.
type lowering struct {
	f        *flattener
	n        *nodeDef
	calls    []string // calls around it
	inputs   []string
	controls []string
	types    []types_go_proto.DataType // argument types of its functions
}

// lower replaces a branch or loop.
func (f *flattener) lower(n *nodeDef, calls []string) error {
	l := &lowering{f: f, n: n, calls: calls}
	for _, in := range n.GetInput() {
		if in[:min(1, len(in))] == "^" {
			l.controls = append(l.controls, in)
			continue
		}
		l.inputs = append(l.inputs, in)
	}
	loop := n.GetAttr()["body"].GetFunc() != nil
	l.types = n.GetAttr()["Tin"].GetList().GetType()
	extra := 1 // the condition
	if loop {
		l.types, extra = n.GetAttr()["T"].GetList().GetType(), 0
	}
	if len(l.inputs) != len(l.types)+extra {
		return fmt.Errorf("node %q (%s): expected %d inputs, got %d", n.GetName(), n.GetOp(), len(l.types)+extra, len(l.inputs))
	}
	if loop {
		return l.while()
	}
	return l.branches()
}

// add adds a node that belongs to the branch or loop.
func (l *lowering) add(name, op string, a map[string]*attrValue, inputs ...string) (string, error) {
	c := &nodeDef{Name: l.f.unused(l.n.GetName() + "/" + name), Op: op, Device: l.n.GetDevice(), Input: inputs, Attr: a}
	return c.Name, l.f.add(c, l.calls)
}

// call adds a call of a function, which is then inlined.
func (l *lowering) call(name string, fn *attr_value_go_proto.NameAttrList, inputs []string, after string) (string, error) {
	if l.f.functions[fn.GetName()] == nil {
		return "", fmt.Errorf("node %q (%s) calls function %q: the library has no such function", l.n.GetName(), l.n.GetOp(), fn.GetName())
	}
	a := map[string]*attrValue{"f": {Value: &attr_value_go_proto.AttrValue_Func{Func: fn}}}
	return l.add(name, "PartitionedCall", a, append(inputs, "^"+after)...)
}

// branches lowers If and Case: it switches each input to the branch that is taken, and merges the results of the branches.
func (l *lowering) branches() error {
	a := l.n.GetAttr()
	functions, form, condition := a["branches"].GetList().GetFunc(), "_SwitchN", types_go_proto.DataType_DT_INT32
	if a["then_branch"].GetFunc() != nil {
		functions = []*attr_value_go_proto.NameAttrList{a["else_branch"].GetFunc(), a["then_branch"].GetFunc()}
		form, condition = "Switch", a["Tcond"].GetType()
	}
	if len(functions) == 0 || form == "Switch" && condition != types_go_proto.DataType_DT_BOOL {
		return fmt.Errorf("node %q (%s): expected branches, and a bool as condition of If, got %d and %v", l.n.GetName(), l.n.GetOp(), len(functions), condition)
	}
	switched := func(t types_go_proto.DataType) map[string]*attrValue {
		s := attrs("T", t)
		if form == "_SwitchN" {
			s["num_outs"] = number(len(functions))
		}
		return s
	}
	pred := l.inputs[0]
	first, err := l.add("switch_pred", form, switched(condition), append([]string{pred, pred}, l.controls...)...)
	if err != nil {
		return err
	}
	var args []string
	for i, in := range l.inputs[1:] {
		s, err := l.add("switch_"+strconv.Itoa(i), form, switched(l.types[i]), in, pred)
		if err != nil {
			return err
		}
		args = append(args, s)
	}
	var pivots, done []string
	for i, fn := range functions {
		pivot, err := l.add("pivot_"+strconv.Itoa(i), "Identity", attrs("T", condition), numbered(first, i))
		if err != nil {
			return err
		}
		var in []string
		for _, s := range args {
			in = append(in, numbered(s, i))
		}
		c, err := l.call("branch_"+strconv.Itoa(i), fn, in, pivot)
		if err != nil {
			return err
		}
		pivots, done = append(pivots, pivot), append(done, c)
	}
	return l.merged(pivots, done, condition)
}

// merged merges the results of branches. A NoOp after the branch that was taken gets the node's name.
func (l *lowering) merged(pivots, done []string, condition types_go_proto.DataType) error {
	for i, t := range l.n.GetAttr()["Tout"].GetList().GetType() {
		var in []string
		for _, c := range done {
			in = append(in, numbered(c, i))
		}
		a := attrs("T", t)
		a["N"] = number(len(in))
		m, err := l.add("merge_"+strconv.Itoa(i), "Merge", a, in...)
		if err != nil {
			return err
		}
		l.f.lowered[numbered(l.n.GetName(), i)] = numbered(m, 0)
	}
	a := attrs("T", condition)
	a["N"] = number(len(pivots))
	for _, c := range done {
		pivots = append(pivots, "^"+c)
	}
	executed, err := l.add("branch_executed", "Merge", a, pivots...)
	if err != nil {
		return err
	}
	l.end("^" + executed)
	return nil
}

// end adds a NoOp with the node's name.
func (l *lowering) end(after ...string) {
	l.f.out.Node = append(l.f.out.Node, &nodeDef{Name: l.n.GetName(), Op: "NoOp", Device: l.n.GetDevice(), Input: after})
}

// while lowers a loop. Resources stay the same in all iterations.
func (l *lowering) while() error {
	gate := l.controls
	if len(gate) > 0 {
		g, err := l.add("begin", "NoOp", nil, gate...)
		if err != nil {
			return err
		}
		gate = []string{"^" + g}
	}
	values := make([]string, len(l.types)) // arguments of the condition
	steps := make([]string, len(l.types))  // arguments of the body
	merges := map[int]*nodeDef{}
	first := ""
	for i, t := range l.types {
		a := attrs("T", t)
		a["frame_name"] = &attrValue{Value: &attr_value_go_proto.AttrValue_S{S: []byte(l.n.GetName())}}
		a["parallel_iterations"] = number(max(int(l.n.GetAttr()["parallel_iterations"].GetI()), 0))
		if l.n.GetAttr()["parallel_iterations"] == nil {
			a["parallel_iterations"] = number(10)
		}
		a["is_constant"] = &attrValue{Value: &attr_value_go_proto.AttrValue_B{B: t == resource}}
		enter, err := l.add("enter_"+strconv.Itoa(i), "Enter", a, append([]string{l.inputs[i]}, gate...)...)
		if err != nil {
			return err
		}
		values[i], steps[i] = enter, enter
		if t == resource {
			l.f.lowered[numbered(l.n.GetName(), i)] = output(l.inputs[i])
			continue
		}
		a = attrs("T", t)
		a["N"] = number(2)
		if values[i], err = l.add("merge_"+strconv.Itoa(i), "Merge", a, enter); err != nil {
			return err
		}
		merges[i] = l.f.out.Node[len(l.f.out.Node)-1]
		if first == "" {
			first = values[i]
		}
	}
	if first == "" {
		return fmt.Errorf("node %q (%s): expected a value that the loop changes", l.n.GetName(), l.n.GetOp())
	}
	cond, err := l.call("cond", l.n.GetAttr()["cond"].GetFunc(), append([]string(nil), values...), first)
	if err != nil {
		return err
	}
	test, err := l.add("LoopCond", "LoopCond", nil, numbered(cond, 0))
	if err != nil {
		return err
	}
	return l.iterate(test, values, steps, merges)
}

// iterate adds the body of a loop, and the edges to the next iteration and out of the loop.
func (l *lowering) iterate(test string, values, steps []string, merges map[int]*nodeDef) error {
	pivot := ""
	var exits []string
	for i, t := range l.types {
		if t == resource {
			continue
		}
		s, err := l.add("switch_"+strconv.Itoa(i), "Switch", attrs("T", t), values[i], test)
		if err != nil {
			return err
		}
		steps[i] = numbered(s, 1)
		if pivot == "" {
			if pivot, err = l.add("loop_body_control", "Identity", attrs("T", t), steps[i]); err != nil {
				return err
			}
		}
		e, err := l.add("exit_"+strconv.Itoa(i), "Exit", attrs("T", t), numbered(s, 0))
		if err != nil {
			return err
		}
		l.f.lowered[numbered(l.n.GetName(), i)] = numbered(e, 0)
		exits = append(exits, "^"+e)
	}
	body, err := l.call("body", l.n.GetAttr()["body"].GetFunc(), append([]string(nil), steps...), pivot)
	if err != nil {
		return err
	}
	for i, t := range l.types {
		if t == resource {
			continue
		}
		next, err := l.add("next_"+strconv.Itoa(i), "NextIteration", attrs("T", t), numbered(body, i), "^"+body)
		if err != nil {
			return err
		}
		merges[i].Input = append(merges[i].Input, next)
	}
	l.end(exits...)
	return nil
}

// unused returns and reserves a name that no node has.
func (f *flattener) unused(name string) string {
	for i := 0; ; i++ {
		fresh := name
		if i > 0 {
			fresh = fmt.Sprintf("%s_%d", name, i)
		}
		if !f.taken[fresh] {
			f.taken[fresh] = true
			return fresh
		}
	}
}

func numbered(name string, i int) string { return name + ":" + strconv.Itoa(i) }

func number(i int) *attrValue {
	return &attrValue{Value: &attr_value_go_proto.AttrValue_I{I: int64(i)}}
}

func attrs(name string, t types_go_proto.DataType) map[string]*attrValue {
	return map[string]*attrValue{name: {Value: &attr_value_go_proto.AttrValue_Type{Type: t}}}
}
