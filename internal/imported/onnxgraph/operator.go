package onnxgraph

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// Operator says what is translated of an operator.
type Operator struct {
	Domain string // "" for the default one
	Name   string
	Except string // what is refused, besides types that no kernel takes; "" for nothing
}

// operator says how an operator is translated.
type operator struct {
	do     func(x *site) []*value
	except string
}

// operators has the operators of one domain, by name.
type operators map[string]operator

// as is an operator that is translated in full.
func as(do func(x *site) []*value) operator { return operator{do: do} }

// but returns an operator that is refused in part.
func (o operator) but(what string) operator { return operator{o.do, what} }

// one is an operator with one result.
func one(do func(x *site) *value) operator {
	return as(func(x *site) []*value { return []*value{do(x)} })
}

// mlDomain is the domain of classic models, runtimeDomain the domain of ONNX Runtime's own operators.
const mlDomain, runtimeDomain = "ai.onnx.ml", "com.microsoft"

// table is what domains returns; it is not initialized statically, since operators with subgraphs look others up.
var table struct {
	once sync.Once
	all  map[string]operators
}

// domains returns all operators, by domain.
func domains() map[string]operators {
	table.once.Do(func() { table.all = gathered() })
	return table.all
}

func gathered() map[string]operators {
	all := map[string]operators{"": {}, mlDomain: {}, runtimeDomain: {}}
	for _, f := range families() {
		for name, o := range f {
			if _, twice := all[""][name]; twice {
				panic("onnxgraph: two translations of " + name)
			}
			all[""][name] = o
		}
	}
	for name, o := range stated() {
		if _, own := all[""][name]; !own {
			all[""][name] = o
		}
	}
	for _, f := range mlFamilies() {
		maps.Copy(all[mlDomain], f)
	}
	for _, f := range runtimeFamilies() {
		maps.Copy(all[runtimeDomain], f)
	}
	return all
}

// latest has the newest known versions of the domains.
var latest = map[string]int{"": 28, mlDomain: 5, runtimeDomain: 1}

// Operators lists what is translated, sorted by domain and name.
func Operators() (all []Operator) {
	for domain, table := range domains() {
		for name, o := range table {
			all = append(all, Operator{domain, name, o.except})
		}
	}
	slices.SortFunc(all, func(a, b Operator) int { return strings.Compare(a.Domain+"\x00"+a.Name, b.Domain+"\x00"+b.Name) })
	return all
}

// site is a node that is being translated. Its attribute readers note what was read: unread attributes are refused.
type site struct {
	*builder
	n       *onnx.Node
	version int // of its domain's operators
	in      []*value
	read    map[string]bool
	scope   *scope
}

// has reports whether input i is there.
func (x *site) has(i int) bool { return i < len(x.in) && x.in[i] != nil }

// at returns input i, a tensor in any layout.
func (x *site) at(i int) *value {
	v := x.any(i)
	if v.list != nil && !v.seq {
		refuse("a sequence where a tensor is expected")
	}
	return v
}

// any returns input i, which may be a sequence.
func (x *site) any(i int) *value {
	if !x.has(i) {
		refuse("expected an input %d", i)
	}
	return x.own(x.in[i])
}

// attr returns an attribute, or nil if it is absent.
func (x *site) attr(name string) any {
	x.read[name] = true
	return x.n.Attrs[name]
}

// attribute returns an attribute, or def if it is absent.
func attribute[T any](x *site, name string, def T) T {
	switch v := x.attr(name).(type) {
	case T:
		return v
	case nil:
		return def
	default:
		refuse("attribute %s: expected %T, got %T", name, def, v)
		return def
	}
}

func (x *site) int(name string, def int) int { return attribute(x, name, def) }
func (x *site) flag(name string, def bool) bool {
	return attribute(x, name, map[bool]int{true: 1}[def]) != 0
}
func (x *site) float(name string, def float32) float64 { return float64(attribute(x, name, def)) }
func (x *site) str(name, def string) string            { return attribute(x, name, def) }
func (x *site) intList(name string, def []int) []int   { return attribute(x, name, def) }
func (x *site) floatList(name string) []float32        { return attribute[[]float32](x, name, nil) }
func (x *site) strList(name string) []string           { return attribute[[]string](x, name, nil) }
func (x *site) tensorOf(name string) *tensor.Tensor    { return attribute[*tensor.Tensor](x, name, nil) }

// rank returns the rank of an input, which must be known.
func (x *site) rank(i int) int {
	r := x.at(i).rank()
	if r < 0 {
		refuse("the rank of input %d (%s) is not known", i, x.n.Inputs[i])
	}
	return r
}

// dtype returns the element type in an attribute, or def if it is absent.
func (x *site) dtype(name string, def tensor.DType) tensor.DType {
	n := x.int(name, 0)
	if n == 0 {
		return def
	}
	d, err := onnx.DTypeOf(n)
	if err != nil {
		refuse("attribute %s: %v", name, err)
	}
	return d
}

// knownInts returns the integers of input i, or nil if it is absent. They must not depend on feeds.
func (x *site) knownInts(i int) []int {
	if !x.has(i) {
		return nil
	}
	t := x.at(i).fixed()
	if t == nil {
		refuse("input %d (%s) has to be a constant", i, x.n.Inputs[i])
	}
	return intsOf(t)
}

func intsOf(t *tensor.Tensor) []int {
	all := make([]int, t.Len())
	for i := range all {
		all[i] = int(t.Int(i))
	}
	return all
}

// knownFloats returns the numbers of input i, or nil if it is absent.
func (x *site) knownFloats(i int) []float64 {
	if !x.has(i) {
		return nil
	}
	t := x.at(i).fixed()
	if t == nil {
		refuse("input %d (%s) has to be a constant", i, x.n.Inputs[i])
	}
	all := make([]float64, t.Len())
	for k := range all {
		all[k] = t.Float(k)
	}
	return all
}

// intsOr returns the integers of an attribute, which newer versions have as input i; def if both are absent.
func (x *site) intsOr(name string, i int, def []int) []int {
	if v, ok := x.attr(name).([]int); ok {
		return v
	}
	if v := x.knownInts(i); v != nil {
		return v
	}
	return def
}

// axisOf makes an axis non-negative.
func axisOf(a, rank int) int {
	if a < -rank || a >= rank {
		refuse("axis %d of rank %d", a, rank)
	}
	return (a + rank) % rank
}

// axesOf makes axes non-negative.
func axesOf(axes []int, rank int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = axisOf(a, rank)
	}
	return out
}

// without returns the axes 0 to rank-1, except the given ones.
func without(rank int, axes ...int) (rest []int) {
	for i := range rank {
		if !slices.Contains(axes, i) {
			rest = append(rest, i)
		}
	}
	return rest
}
