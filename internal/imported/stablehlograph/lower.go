package stablehlograph

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"google.golang.org/protobuf/proto"
)

type (
	nodeDef   = node_def_go_proto.NodeDef
	attrValue = attr_value_go_proto.AttrValue
)

// The ops that are replaced.
const (
	callModule = "XlaCallModule"
	sharding   = "XlaSharding" // only says where a tensor is, which is here
)

// Lower replaces the modules of a graph and of its functions by calls of functions that it adds. gd is not changed, and is returned if
// it has no modules. A module that cannot be translated as a whole stays; [Gaps] says what is missing. If ctx is done, Lower returns its error.
func Lower(ctx context.Context, gd *graph_go_proto.GraphDef) (*graph_go_proto.GraphDef, error) {
	l := &lowering{ctx: ctx, made: map[string]*attrValue{}, names: map[string]bool{}, missing: map[string]*attrValue{}}
	used, size := hasModules(gd.GetNode()), moduleBytes(gd.GetNode())
	for _, f := range gd.GetLibrary().GetFunction() {
		l.names[f.GetSignature().GetName()] = true
		used = used || hasModules(f.GetNodeDef())
		size += moduleBytes(f.GetNodeDef())
	}
	if !used {
		return gd, nil
	}
	l.account = newAccount(size)
	out := &graph_go_proto.GraphDef{Node: l.nodes(gd.GetNode()), Versions: gd.GetVersions(), Library: &function_go_proto.FunctionDefLibrary{Gradient: gd.GetLibrary().GetGradient()}}
	for _, f := range gd.GetLibrary().GetFunction() {
		if hasModules(f.GetNodeDef()) {
			f = &function_go_proto.FunctionDef{Signature: f.Signature, Attr: f.Attr, ArgAttr: f.ArgAttr, ResourceArgUniqueId: f.ResourceArgUniqueId, NodeDef: l.nodes(f.NodeDef),
				Ret: f.Ret, ControlRet: f.ControlRet}
		}
		out.Library.Function = append(out.Library.Function, f)
	}
	out.Library.Function = append(out.Library.Function, l.library...)
	return out, ctx.Err()
}

func hasModules(nodes []*nodeDef) bool {
	return slices.ContainsFunc(nodes, func(n *nodeDef) bool { return n.GetOp() == callModule || n.GetOp() == sharding })
}

func moduleBytes(nodes []*nodeDef) (sum int) {
	for _, n := range nodes {
		if n.GetOp() == callModule {
			sum += len(n.GetAttr()["module"].GetS())
		}
	}
	return sum
}

// lowering is the state of one graph.
type lowering struct {
	ctx     context.Context
	account *account
	made    map[string]*attrValue // functions, by the attributes of the nodes that they replace
	missing map[string]*attrValue
	names   map[string]bool
	next    int // number of the next name
	library []*function_go_proto.FunctionDef
}

// nodes replaces modules among nodes.
func (l *lowering) nodes(all []*nodeDef) []*nodeDef {
	out := slices.Clone(all)
	for i, n := range out {
		switch n.GetOp() {
		case sharding:
			out[i] = &nodeDef{Name: n.Name, Op: "Identity", Device: n.Device, Input: n.Input, Attr: map[string]*attrValue{"T": n.Attr["T"]}}
		case callModule:
			out[i] = l.node(n)
		}
	}
	return out
}

// node returns a call that replaces a node with a module.
func (l *lowering) node(n *nodeDef) *nodeDef {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(&nodeDef{Attr: n.Attr})
	if err != nil {
		return n
	}
	id := string(key)
	if l.made[id] == nil && l.missing[id] == nil {
		name, gaps := l.translate(n)
		if gaps != nil {
			l.missing[id] = gaps.list()
		} else {
			l.made[id] = &attrValue{Value: &attr_value_go_proto.AttrValue_Func{Func: &attr_value_go_proto.NameAttrList{Name: name}}}
		}
	}
	if g := l.missing[id]; g != nil {
		return &nodeDef{Name: n.Name, Op: n.Op, Device: n.Device, Input: n.Input, Attr: map[string]*attrValue{"Tin": n.Attr["Tin"], "Tout": n.Attr["Tout"], gapsAttr: g}}
	}
	return &nodeDef{Name: n.Name, Op: "StatefulPartitionedCall", Device: n.Device, Input: n.Input, Attr: map[string]*attrValue{"f": l.made[id], "Tin": n.Attr["Tin"], "Tout": n.Attr["Tout"]}}
}

// translate makes functions from a node's module, and returns the name of the main one, or what is missing.
func (l *lowering) translate(n *nodeDef) (name string, missing gaps) {
	for name == "" || l.names[name] {
		name = fmt.Sprintf("stablehlo_%d", l.next)
		l.next++
	}
	l.names[name] = true
	t := newTranslation(l.ctx, name, l.account)
	defer func() {
		switch why := recover().(type) {
		case nil:
		case refusal:
			t.gaps.add("module", why.why)
			name, missing = "", t.gaps
		case runtime.Error, string: // modules are untrusted
			t.gaps.add("module", fmt.Sprintf("operands or attributes that do not fit the operations: %v", why))
			name, missing = "", t.gaps
		default:
			panic(why)
		}
	}()
	m, err := stablehlo.Read(n.Attr["module"].GetS())
	if err != nil {
		refuse("%v", err)
	}
	for _, f := range m.Functions {
		t.functions[f.Name] = f
	}
	t.main(n, name)
	if len(t.gaps) > 0 {
		return "", t.gaps
	}
	l.library = append(l.library, t.library...)
	return name, nil
}

// main translates the function that the node calls.
func (t *translation) main(n *nodeDef, name string) {
	f := t.functions["main"]
	if f == nil {
		refuse("the module has no function main")
	}
	b := t.builder(nil)
	args := t.moduleArguments(b, n, f)
	s := &scope{t: t, b: b, values: map[*stablehlo.Value]*value{}}
	all := make([]*value, 0, len(f.Body.Args))
	var fed []*value
	for _, a := range args {
		if a.t == nil && a != noToken {
			fed = append(fed, a)
			a = b.node(ops.EnsureShape, a.dims, graph.Attrs{"shape": shapeOf(a.dims)}, a) // checks variables too, whose sizes may be anything
		}
		all = append(all, a)
	}
	results := s.run(f.Body, all)
	if results == nil {
		return // what is missing is noted already
	}
	var out []*value
	for _, r := range results {
		if r != noToken {
			out = append(out, r)
		}
	}
	types := n.Attr["Tout"].GetList().GetType()
	if len(types) != len(out) {
		refuse("%d results: expected %d", len(out), len(types))
	}
	for i, r := range out {
		if tensor.DType(types[i]) != r.dtype {
			refuse("result %d is %v: expected %v", i, r.dtype, tensor.DType(types[i]))
		}
	}
	made := b.function("main", fed, out)
	for _, f := range t.library {
		if f.Signature.Name == made {
			f.Signature.Name = name
		}
	}
}

// moduleArguments returns the arguments of main: the platform's number if there are several platforms, and the node's inputs.
func (t *translation) moduleArguments(b *builder, n *nodeDef, f *stablehlo.Function) (args []*value) {
	platforms := n.Attr["platforms"].GetList().GetS()
	checked := !slices.ContainsFunc(n.Attr["disabled_checks"].GetList().GetS(), func(s []byte) bool { return string(s) == "platform" })
	host := slices.IndexFunc(platforms, func(p []byte) bool { return string(p) == "CPU" })
	if len(platforms) > 0 && host < 0 && checked {
		refuse("the module is for %q: expected CPU among them", platforms)
	}
	if len(n.Attr["dim_args_spec"].GetList().GetS()) > 0 {
		refuse("dim_args_spec: the form of before JAX 0.4.20")
	}
	if len(platforms) > 1 {
		args = append(args, scalar(tensor.Int32, float64(max(host, 0))))
	}
	types := n.Attr["Tin"].GetList().GetType()
	for _, a := range f.Body.Args[min(len(args), len(f.Body.Args)):] {
		switch {
		case a.Type.Kind == stablehlo.Token:
			args = append(args, noToken)
			continue
		case len(types) == 0:
			refuse("main has more arguments than the node: %d", len(f.Body.Args))
		case a.Type.Kind != stablehlo.Tensor || tensor.DType(types[0]) != a.Type.DType || a.Type.DType == tensor.Invalid:
			refuse("argument %d of main is %s: expected %v", len(args), a.Type.Name, tensor.DType(types[0]))
		}
		args = append(args, b.placeholder(a.Type.DType, a.Type.Dims))
		types = types[1:]
	}
	if len(types) > 0 {
		refuse("main has %d arguments: expected %d more", len(f.Body.Args), len(types))
	}
	return args
}
