package onnxgraph

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// scope has the values that the nodes of a graph see, by name.
type scope struct {
	t       *translation
	b       *builder
	parent  *scope // its values are visible too; nil if there is none
	opsets  map[string]int
	values  map[string]*value     // nil if a value could not be made, which is reported elsewhere
	known   map[string]onnx.Value // what the model states about values
	attrs   map[string]any        // of the function that the nodes belong to
	inFuncs bool
}

func (t *translation) scope(b *builder, parent *scope, opsets map[string]int) *scope {
	return &scope{t: t, b: b, parent: parent, opsets: opsets, values: map[string]*value{}, known: map[string]onnx.Value{}}
}

// define gives a value a name.
func (s *scope) define(name string, v *value) {
	if _, twice := s.values[name]; twice {
		refuse("value %q is defined twice", name)
	}
	s.values[name] = v
}

// initializers defines the constants of a graph.
func (s *scope) initializers(g *onnx.Graph) {
	for _, i := range g.Initializers {
		s.define(i.Name, constant(i.Tensor))
	}
	for _, name := range g.Sparse {
		s.t.gap("initializer", "sparse tensors", name)
		s.define(name, nil)
	}
	for _, v := range g.Known {
		s.known[v.Name] = v
	}
	for _, v := range g.Outputs {
		s.known[v.Name] = v
	}
}

// errNoted says that a node cannot be translated for reasons that have been noted.
var errNoted = errors.New("")

// absent is an optional input that the caller of a function leaves out.
var absent = &value{}

var errNoValue = errors.New("no node makes it before it is needed, and it is neither an input nor an initializer")

// find returns the value of a name, or nil if it could not be made.
func (s *scope) find(name string) (*value, error) {
	for at := s; at != nil; at = at.parent {
		if v, ok := at.values[name]; ok {
			return v, nil
		}
	}
	return nil, fmt.Errorf("value %q: %w", name, errNoValue)
}

// run translates nodes, inputs first; what cannot be translated is noted.
func (s *scope) run(nodes []onnx.Node) {
	if s.t.budget -= len(nodes); s.t.budget < 0 {
		refuse("more than %d nodes; a function counts at each call", maxTranslated)
	}
	nodes = s.t.orders.of(nodes)
	for i := range nodes {
		s.node(&nodes[i])
	}
}

// node translates one node.
func (s *scope) node(n *onnx.Node) {
	if s.t.ctx.Err() != nil {
		refuse("the load has ended")
	}
	name, op := n.Name, n.Op
	if name == "" {
		name = n.Op
		if len(n.Outputs) > 0 {
			name += " of " + n.Outputs[0]
		}
	}
	if n.Domain != "" {
		op = n.Domain + "." + n.Op
	}
	in, whole := s.operands(n, name)
	do, version, why := s.translator(n)
	if do == nil {
		s.t.gap(op, why, name)
	}
	var out []*value
	if do != nil && whole {
		x := &site{builder: s.b, n: n, version: version, in: in, read: map[string]bool{}, scope: s}
		s.b.name = name
		var err error
		if out, err = s.try(x, do); err != nil && err != errNoted {
			s.t.gap(op, err.Error(), name)
		}
	}
	for i, o := range n.Outputs {
		if o == "" {
			continue
		}
		if i < len(out) && out[i] != nil {
			s.note(o, out[i])
			s.define(o, out[i])
			continue
		}
		if out != nil {
			s.t.gap(op, fmt.Sprintf("output %d", i), name)
		}
		s.define(o, nil)
	}
}

// operands returns a node's inputs, nil for absent ones; whole says that all named inputs could be made.
func (s *scope) operands(n *onnx.Node, name string) (in []*value, whole bool) {
	whole = true
	for _, input := range n.Inputs {
		if input == "" {
			in = append(in, nil)
			continue
		}
		v, err := s.find(input)
		if err != nil {
			refuse("node %s (%s): %v", name, n.Op, err)
		}
		if v == absent {
			in = append(in, nil)
			continue
		}
		whole = whole && v != nil
		in = append(in, v)
	}
	return in, whole
}

// translator returns the function that translates a node and the version of its operators, or why there is none.
func (s *scope) translator(n *onnx.Node) (do func(x *site) []*value, version int, why string) {
	if f := s.t.functions[[2]string{n.Domain, n.Op}]; f != nil {
		return func(x *site) []*value { return x.call(f) }, 0, ""
	}
	table, ok := domains()[n.Domain]
	if !ok {
		return nil, 0, "the domain is not known"
	}
	version, ok = s.opsets[n.Domain]
	switch {
	case !ok:
		return nil, 0, fmt.Sprintf("the model states no version of the operators of domain %q", n.Domain)
	case version > latest[n.Domain]:
		return nil, 0, fmt.Sprintf("version %d of the operators: expected at most %d", version, latest[n.Domain])
	}
	o, ok := table[n.Op]
	if !ok {
		return nil, 0, fmt.Sprintf("the operator is not translated (version %d)", version)
	}
	return o.do, version, ""
}

// try translates a node; the error says why it cannot.
func (s *scope) try(x *site, do func(x *site) []*value) (out []*value, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			if out, err = nil, errors.New(r.why); r.why == "" {
				err = errNoted
			}
		case runtime.Error, string: // an index or a negative count: inputs and attributes are untrusted
			out, err = nil, errors.New("inputs or attributes that do not fit the operator")
		default:
			panic(r)
		}
	}()
	x.n = s.resolved(x.n)
	if out = do(x); out == nil {
		out = []*value{}
	}
	x.keepFour(out)
	var unread []string
	for name := range x.n.Attrs {
		if !x.read[name] {
			unread = append(unread, name)
		}
	}
	if sort.Strings(unread); len(unread) > 0 {
		refuse("attribute %s is not supported", unread[0])
	}
	return out, nil
}

// resolved returns a node of a function with the attributes that refer to the call's filled in.
func (s *scope) resolved(n *onnx.Node) *onnx.Node {
	m := *n
	m.Attrs = map[string]any{}
	for name, v := range n.Attrs {
		if ref, ok := v.(onnx.AttrRef); ok {
			if !s.inFuncs {
				refuse("attribute %s refers to %s of a function, but the node is in none", name, ref)
			}
			if v = s.attrs[string(ref)]; v == nil {
				continue
			}
		}
		m.Attrs[name] = v
	}
	return &m
}

// note adds what the model states about a value to what is known about it.
func (s *scope) note(name string, v *value) {
	said, ok := s.known[name]
	if !ok || v.seq || v.list != nil || said.Unranked || said.Kind != "" || v.rank() >= 0 {
		return
	}
	for k, a := range s.t.assumed(said) {
		v.known[k] = a
	}
}

// call translates a call of one of the model's functions inline.
func (x *site) call(f *onnx.Function) []*value {
	t := x.scope.t
	if t.calls++; t.calls > maxCalls {
		refuse("calls of functions lie in each other: expected at most %d", maxCalls)
	}
	defer func() { t.calls-- }()
	s := t.scope(x.builder, nil, f.Opsets)
	if len(f.Opsets) == 0 {
		s.opsets = x.scope.opsets
	}
	s.inFuncs, s.attrs = true, map[string]any{}
	for name, v := range f.Defaults {
		s.attrs[name] = v
	}
	for _, name := range slices.Concat(f.Attrs, sortedKeys(f.Defaults)) {
		if v := x.attr(name); v != nil {
			s.attrs[name] = v
		}
	}
	for i, name := range f.Inputs {
		var v *value
		if x.has(i) {
			v = x.in[i]
		}
		if v == nil {
			s.values[name] = absent
			continue
		}
		s.define(name, v)
	}
	s.run(f.Nodes)
	var out []*value
	for _, name := range f.Outputs {
		v, err := s.find(name)
		if err != nil {
			refuse("function %s: output %v", f.Name, err)
		}
		if v == nil {
			panic(refusal{}) // what is missing is noted already
		}
		out = append(out, v)
	}
	return out
}

// assumedLike returns what is known about a value of that rank with open sizes.
func (t *translation) assumedLike(rank int, name string) (p probes) {
	if rank < 0 {
		return p
	}
	v := onnx.Value{Name: name, Dims: make([]onnx.Dim, rank)}
	for i := range v.Dims {
		v.Dims[i].Size = -1
	}
	return t.assumed(v)
}

// constantOf returns the only element of a constant value.
func constantOf(v *value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	t := v.fixed()
	if t == nil || t.Len() != 1 || t.DType == tensor.String {
		return 0, false
	}
	return t.Float(0), true
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
