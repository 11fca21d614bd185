package inline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// bodyScope is a function's body while it replaces one call.
type bodyScope struct {
	call      *nodeDef
	fn        *function
	attrs     map[string]*attrValue
	prefix    string
	args      map[string]string   // argument -> input in the flat graph
	controls  []string            // of the call
	gate      string              // "^node" that replaces controls, "" for none
	nodes     map[string]*nodeDef // of the body, by their original names
	functions map[string]*function
}

// bindArguments pairs the function's arguments with the call's inputs.
func (b *bodyScope) bindArguments() error {
	var data []string
	for _, in := range b.call.GetInput() {
		if strings.HasPrefix(in, "^") {
			b.controls = append(b.controls, in)
			continue
		}
		data = append(data, in)
	}
	args := b.fn.GetSignature().GetInputArg()
	if len(args) != len(data) {
		return fmt.Errorf("node %q passes %d arguments, expected %d", b.call.GetName(), len(data), len(args))
	}
	for i, a := range args {
		if a.GetNumberAttr() != "" || a.GetTypeListAttr() != "" {
			return fmt.Errorf("argument %q is a list: expected single tensors", a.GetName())
		}
		b.args[a.GetName()] = data[i]
	}
	return nil
}

// rename returns node n of the body as a node of the flat graph.
func (b *bodyScope) rename(n *nodeDef) (*nodeDef, error) {
	c := clone(n)
	c.Name = b.prefix + n.GetName()
	c.Input = c.Input[:0]
	inside := false
	var controls []string
	for _, in := range n.GetInput() {
		to, err := b.input(in)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", n.GetName(), err)
		}
		inside = inside || b.nodes[nodeName(in)] != nil
		if strings.HasPrefix(to, "^") {
			controls = append(controls, to)
			continue
		}
		c.Input = append(c.Input, to)
	}
	if b.gate != "" && !inside {
		controls = append(controls, b.gate)
	}
	c.Input = append(c.Input, controls...)
	for name, a := range c.GetAttr() {
		c.Attr[name] = b.bound(a)
	}
	if op := n.GetOp(); op == "Enter" || op == "RefEnter" { // each call has its own loop of TensorFlow 1
		frame := b.prefix + string(n.GetAttr()["frame_name"].GetS())
		if c.Attr == nil {
			c.Attr = map[string]*attrValue{}
		}
		c.Attr["frame_name"] = &attrValue{Value: &attr_value_go_proto.AttrValue_S{S: []byte(frame)}}
	}
	return c, nil
}

// bound returns an attribute with placeholders replaced by attributes of the call.
func (b *bodyScope) bound(a *attrValue) *attrValue {
	if v := b.attrs[a.GetPlaceholder()]; a.GetPlaceholder() != "" && v != nil {
		return v
	}
	own := a
	for inner, x := range a.GetFunc().GetAttr() {
		v := b.attrs[x.GetPlaceholder()]
		if x.GetPlaceholder() == "" || v == nil {
			continue
		}
		if own == a {
			own = proto.Clone(a).(*attrValue)
		}
		own.GetFunc().Attr[inner] = v
	}
	return own
}

// input translates an input of a node of the body.
func (b *bodyScope) input(in string) (string, error) {
	name, control := strings.CutPrefix(in, "^")
	parts := strings.Split(name, ":")
	if from, ok := b.args[parts[0]]; ok {
		switch {
		case control:
			return "^" + nodeName(from), nil
		case len(parts) == 1 || len(parts) == 2 && parts[1] == "0":
			return from, nil
		}
		return "", fmt.Errorf("input %q: expected argument %q as it is", in, parts[0])
	}
	n := b.nodes[parts[0]]
	if n == nil {
		return "", fmt.Errorf("input %q: the function has no such node or argument", in)
	}
	if control {
		return "^" + b.prefix + name, nil
	}
	out := 0
	switch len(parts) {
	case 1:
	case 2: // "node:1" and "node:out"
		if k, err := strconv.Atoi(parts[1]); err == nil {
			out = k
			break
		}
		base, err := b.offset(n, parts[1])
		if err != nil {
			return "", fmt.Errorf("input %q: %w", in, err)
		}
		out = base
	case 3:
		base, err := b.offset(n, parts[1])
		k, bad := strconv.Atoi(parts[2])
		if err != nil || bad != nil || k < 0 {
			return "", fmt.Errorf("input %q: expected \"node:output:index\" (%v)", in, err)
		}
		out = base + k
	default:
		return "", fmt.Errorf("input %q: expected \"node:output:index\"", in)
	}
	return fmt.Sprintf("%s%s:%d", b.prefix, parts[0], out), nil
}

// offset returns the position of the first tensor in a node's output of the given name.
func (b *bodyScope) offset(n *nodeDef, name string) (int, error) {
	if fn := b.functions[n.GetOp()]; fn != nil {
		for i, a := range fn.GetSignature().GetOutputArg() {
			if a.GetName() == name {
				return i, nil
			}
		}
		return 0, fmt.Errorf("function %q has no output %q", n.GetOp(), name)
	}
	return outputOffset(n, name)
}

// returned returns the function's results, as inputs in the flat graph, and their element types.
func (b *bodyScope) returned() (inputs []string, types []types_go_proto.DataType, err error) {
	for _, a := range b.fn.GetSignature().GetOutputArg() {
		ret, ok := b.fn.GetRet()[a.GetName()]
		if !ok {
			return nil, nil, fmt.Errorf("output %q has no value", a.GetName())
		}
		in, err := b.input(ret)
		if err != nil {
			return nil, nil, fmt.Errorf("output %q: %w", a.GetName(), err)
		}
		t := a.GetType()
		if a.GetTypeAttr() != "" {
			t = b.attrs[a.GetTypeAttr()].GetType()
		}
		inputs, types = append(inputs, in), append(types, t)
	}
	return inputs, types, nil
}

// results returns the IdentityN that replaces the call.
func (b *bodyScope) results() (*nodeDef, error) {
	end := &nodeDef{Name: b.call.GetName(), Op: "IdentityN", Device: b.call.GetDevice()}
	inputs, types, err := b.returned()
	if err != nil {
		return nil, err
	}
	end.Input = inputs
	var after []string
	for _, r := range b.fn.GetControlRet() {
		after = append(after, "^"+b.prefix+r)
	}
	if b.gate != "" {
		after = append(after, b.gate)
	}
	slices.Sort(after)
	if len(types) == 0 {
		end.Op = "NoOp"
	} else {
		end.Attr = map[string]*attrValue{"T": typeList(types)}
	}
	end.Input = append(end.Input, slices.Compact(after)...)
	return end, nil
}
