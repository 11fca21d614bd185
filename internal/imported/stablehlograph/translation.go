package stablehlograph

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
)

// maxCalls bounds the depth of nested calls.
const maxCalls = 64

// Limits on what calls and unrolled windows may make of the modules of a graph, in addition to what their size allows.
const (
	minOperations = 1 << 20
	minRoom       = 256 << 20
)

// account is how much the modules of a graph may still become.
type account struct {
	operations int // operations to translate, with their operands and results
	nodes      int // nodes to make, with their inputs and results
	room       int // bytes of constants
}

// newAccount returns the account for modules of that many bytes.
func newAccount(bytes int) *account {
	return &account{operations: minOperations + bytes, nodes: minOperations + bytes, room: minRoom + 4*bytes}
}

// spend counts operations, operands and results that are translated.
func (a *account) spend(n int) {
	if a.operations -= n; a.operations < 0 {
		refuse("more operations than there may be: many times the size of the modules; a function counts at each call")
	}
}

// add counts nodes, inputs and results that are made.
func (a *account) add(n int) {
	if a.nodes -= n; a.nodes < 0 {
		refuse("more nodes than there may be: many times the size of the modules")
	}
}

// pay counts bytes of constants that are made.
func (a *account) pay(bytes int) {
	if a.room -= bytes; a.room < 0 {
		refuse("more constants than there may be: many times the size of the modules")
	}
}

// since returns what was taken from a until now.
func (a *account) since(now *account) account {
	return account{a.operations - now.operations, a.nodes - now.nodes, a.room - now.room}
}

// affords reports whether a loop may be unrolled into that many iterations, each of which takes the same.
func (a *account) affords(rounds int, each account) bool {
	return rounds <= maxRounds && rounds*each.nodes <= min(maxRoundNodes, a.nodes/2) && rounds*each.operations <= a.operations/2 && rounds*each.room <= a.room/2
}

// translation is the state of one module.
type translation struct {
	ctx       context.Context
	functions map[string]*stablehlo.Function
	library   []*function_go_proto.FunctionDef
	prefix    string // prefix of the names of functions
	gaps      gaps
	depth     int // depth of nested calls
	*account
	tensors map[*stablehlo.Constant]*tensor.Tensor
}

// newTranslation begins a translation of a module, whose functions get names with the prefix.
func newTranslation(ctx context.Context, prefix string, a *account) *translation {
	return &translation{ctx: ctx, functions: map[string]*stablehlo.Function{}, prefix: prefix, gaps: gaps{}, account: a, tensors: map[*stablehlo.Constant]*tensor.Tensor{}}
}

// scope has the values that the operations of a region see.
type scope struct {
	t      *translation
	b      *builder
	values map[*stablehlo.Value]*value // nil if a value could not be made
	parent *scope
	each   bool // the region is for scalars, and is computed for all elements at once
}

// inner returns the scope of an inner region, in the graph of b.
func (s *scope) inner(b *builder) *scope {
	return &scope{t: s.t, b: b, values: map[*stablehlo.Value]*value{}, parent: s, each: s.each}
}

// find returns the value of an operand; nil, true if it could not be made, which is noted.
func (s *scope) find(v *stablehlo.Value) (*value, bool) {
	for at := s; at != nil; at = at.parent {
		if w, ok := at.values[v]; ok {
			return w, true
		}
	}
	return nil, false
}

// site is an operation that is being translated.
type site struct {
	*builder
	op    *stablehlo.Op
	in    []*value
	scope *scope
}

// run translates a region with the given arguments, and returns its results; nil if one is missing, which is noted.
func (s *scope) run(r *stablehlo.Region, args []*value) []*value {
	if len(r.Args) != len(args) {
		refuse("a region of %d arguments for %d values", len(r.Args), len(args))
	}
	s.t.spend(len(args))
	for i, a := range r.Args {
		s.values[a] = args[i]
	}
	for _, op := range r.Ops {
		if op.Name != "return" {
			s.translate(op)
			continue
		}
		s.t.spend(len(op.Operands))
		out := make([]*value, len(op.Operands))
		for i, v := range op.Operands {
			if out[i], _ = s.find(v); out[i] == nil {
				return nil
			}
		}
		return out
	}
	refuse("a region without return")
	return nil
}

// results is run if nothing may be missing.
func (s *scope) results(r *stablehlo.Region, args []*value) []*value {
	out := s.run(r, args)
	if out == nil {
		panic(errNoted)
	}
	return out
}

// errNoted says that an operation cannot be translated for reasons that have been noted.
var errNoted = errors.New("")

// translate translates an operation, or notes why it cannot.
func (s *scope) translate(op *stablehlo.Op) {
	if s.t.ctx.Err() != nil {
		refuse("the load has ended")
	}
	s.t.spend(1 + len(op.Operands) + len(op.Results))
	for _, r := range op.Results {
		s.values[r] = nil
	}
	var in []*value
	for _, o := range op.Operands {
		v, ok := s.find(o)
		if !ok {
			refuse("an operand of %s is of another region", op.Name)
		}
		if v == nil {
			return // what is missing is noted already
		}
		in = append(in, v)
	}
	out, err := s.try(&site{builder: s.b, op: op, in: in, scope: s})
	if err == errNoted {
		return
	}
	if err != nil {
		s.t.gaps.add(operationName(op), err.Error())
		return
	}
	for i, r := range op.Results {
		if out[i] == noToken {
			s.values[r] = noToken
			continue
		}
		v := *out[i]
		if !s.each {
			v.dims = merged(v.dims, r.Type.Dims)
		}
		s.values[r] = &v
	}
}

// merged returns the sizes that are known from either side.
func merged(a, b []int) []int {
	if len(a) != len(b) {
		return b
	}
	out := make([]int, len(a))
	for i := range a {
		if out[i] = b[i]; b[i] < 0 {
			out[i] = a[i]
		}
	}
	return out
}

// operationName returns the name of an operation for messages, with the target of a custom call.
func operationName(op *stablehlo.Op) string {
	switch target, _ := op.Attrs["call_target_name"].(string); {
	case op.Dialect != "vhlo":
		return op.Dialect + "." + op.Name
	case target != "":
		return "stablehlo." + op.Name + " " + target
	}
	return "stablehlo." + op.Name
}

// try translates an operation; the error says why it cannot.
func (s *scope) try(x *site) (out []*value, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			out, err = nil, errors.New(r.why)
		case runtime.Error, string: // an index or a negative count: attributes are untrusted
			out, err = nil, fmt.Errorf("operands or attributes that do not fit the operation: %v", r)
		case error:
			if r != errNoted {
				panic(r)
			}
			out, err = nil, r
		default:
			panic(r)
		}
	}()
	if x.op.Dialect != "vhlo" {
		refuse("the operation is of another dialect")
	}
	o, ok := operations[x.op.Name]
	switch {
	case !ok:
		refuse("the operation is not translated")
	case s.each && !o.each:
		refuse("the operation is not translated in a region of numbers")
	}
	for _, r := range x.op.Results {
		if r.Type.Kind == stablehlo.Tensor && r.Type.DType == tensor.Invalid {
			refuse("element type %s", r.Type.Name)
		}
	}
	x.name = x.op.Name
	if out = o.do(x); len(out) != len(x.op.Results) {
		refuse("%d results: expected %d", len(x.op.Results), len(out))
	}
	for i, r := range x.op.Results {
		if r.Type.Kind == stablehlo.Tensor && r.Type.DType != out[i].dtype {
			refuse("result %d is %v: expected %v", i, out[i].dtype, r.Type.DType)
		}
		if !s.each && r.Type.Kind == stablehlo.Tensor && len(out[i].dims) != len(r.Type.Dims) {
			refuse("result %d is of rank %d: expected %d", i, len(out[i].dims), len(r.Type.Dims))
		}
	}
	return out, nil
}

// function makes a function of the builder's graph, and returns its name. Explicit arguments come first, then captured values.
func (b *builder) function(kind string, args, results []*value) string {
	var out []graph.Output
	for _, r := range results {
		out = append(out, b.operand(b.own(b.whole(r))))
	}
	end := b.g.Node("NoOp", "end", nil, nil, out...)
	if err := b.g.Err(); err != nil {
		refuse("%v", err)
	}
	nodes := make([]*graph.Node, 0, len(args)+len(b.nodes))
	for _, a := range args {
		nodes = append(nodes, a.out.Node)
	}
	nodes = append(nodes, b.nodes...)
	pruned := graph.Prune(b.g.Graph, slices.Concat([]*graph.Node{end}, nodes, b.effects)...)
	f := graphdef.Function{Name: fmt.Sprintf("%s_%s_%d", b.t.prefix, kind, len(b.t.library)), Ends: []*graph.Node{pruned.Node(end.Name)}}
	for _, n := range nodes {
		f.Args = append(f.Args, pruned.Node(n.Name))
	}
	def, err := graphdef.ToFunctionDef(pruned, f)
	if err != nil {
		refuse("%v", err)
	}
	def.Signature.IsStateful = len(b.effects) > 0
	b.t.library = append(b.t.library, def)
	return f.Name
}
