package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

const (
	chainBlock  = 4096 // elements that go through all links of a chain at a time, so that they stay in the L1 cache
	chainInputs = 8    // most operands of a chain
)

// elemental is the kernel of an op that works element by element on floats. A binary one takes the op's inputs in the
// order first, second.
type elemental struct {
	binary        bool
	op            int // a kernels.BinaryOp or kernels.UnaryOp
	first, second int
}

// link is one op of a chain. Its operands are inputs of the chain, or before: the result of the link before it.
type link struct {
	elemental
	a, b int
}

const before = -1

// chains merges ops that work element by element into one pass over memory, where each result is used by the next one
// alone. Where results are checked for NaN nothing is merged, so that the node is named in which one arises.
func (f *fuser) chains(ops []*op) {
	varies := map[*op]bool{}
	for _, o := range ops {
		varies[o] = o.feed >= 0 || o.reads != nil || slices.ContainsFunc(o.in, func(p port) bool { return varies[p.op] && !o.def.shape })
		if f.gone[o] || !varies[o] || !linkable(o) {
			continue
		}
		for i := range o.in {
			if x := f.only(o.in[i]); x != nil && varies[x] && linkable(x) && whole(o, i) && len(x.in)+len(o.in) <= chainInputs+1 {
				f.chain(x, o, i)
				break
			}
		}
	}
}

// linkable reports whether an op is a chain or can be part of one: each input is of the result's shape, or a scalar.
func linkable(o *op) bool {
	if e := o.def.elemental; o.links == nil && (e == nil || e.binary != (len(o.in) == 2) || len(o.in) < 1 || len(o.in) > 2) ||
		o.feed >= 0 || len(o.node.Outputs) != 1 {
		return false
	}
	t := o.node.Outputs[0]
	if t.DType != tensor.Float32 && t.DType != tensor.Float64 {
		return false
	}
	vectors := 0
	for i, p := range o.in {
		if in := p.op.node.Outputs[p.idx]; whole(o, i) {
			vectors++
		} else if in.DType != t.DType || len(in.Shape.Dims) != 0 {
			return false
		}
	}
	return vectors > 0
}

// whole reports whether input i has the type of the result.
func whole(o *op, i int) bool {
	return sameType(o.in[i].op.node.Outputs[o.in[i].idx], o.node.Outputs[0])
}

// chain makes o do the work of x, its input i, too.
func (f *fuser) chain(x, o *op, i int) {
	links := append(linksOf(x), linksOf(o)...)
	head := len(x.in)
	in := slices.Clone(x.in)
	for k, p := range o.in {
		if k != i {
			in = append(in, p)
		}
	}
	for k := len(links) - len(linksOf(o)); k < len(links); k++ {
		links[k].a, links[k].b = moved(links[k].a, i, head), moved(links[k].b, i, head)
	}
	n := &graph.Node{Name: o.node.Name, Op: x.node.Op + "+" + o.node.Op, Device: o.node.Device, Outputs: o.node.Outputs}
	o.node, o.in, o.links, o.after = n, in, links, append(slices.Clone(x.after), o.after...)
	o.def = &opDef{inplace: startOnly(links), alone: true, compile: floats(compileChain[float32], compileChain[float64])}
	f.gone[x] = true
}

// moved is where operand at of o is among the inputs of the chain that begins with an op of head inputs and gives o its
// input i.
func moved(at, i, head int) int {
	switch {
	case at == i:
		return before
	case at == before:
		return before
	case at > i:
		at--
	}
	return head + at
}

func linksOf(o *op) []link {
	if o.links != nil {
		return slices.Clone(o.links)
	}
	e := *o.def.elemental
	if !e.binary {
		return []link{{e, e.first, before}}
	}
	return []link{{e, e.first, e.second}}
}

// startOnly are the inputs whose storage the result may take: those that the first link alone reads.
func startOnly(links []link) []int {
	later := map[int]bool{}
	for _, l := range links[1:] {
		later[l.a], later[l.b] = true, true
	}
	var at []int
	for _, i := range []int{links[0].a, links[0].b} {
		if i != before && !later[i] {
			at = append(at, i)
		}
	}
	return at
}

func compileChain[T kernels.Float](c *binding) (runFunc, error) {
	out, links := c.out[0], c.op.links
	if err := checkTypes[T](append(slices.Clone(c.in), out)...); err != nil {
		return nil, err
	}
	operands := make([][]T, len(c.in))
	do := parallel(2*chainBlock, func(lo, hi int) {
		dst := view[T](out)
		for ; lo < hi; lo += chainBlock {
			to := min(lo+chainBlock, hi)
			for i := range links {
				runLink(&links[i], dst, operands, lo, to)
			}
		}
	})
	return func() error {
		for i, v := range c.in {
			operands[i] = view[T](v)
		}
		do(out.n)
		clear(operands) // they are the memory of feeds, too
		return nil
	}, nil
}

// runLink applies a link to the elements [lo, hi) of dst.
func runLink[T kernels.Float](l *link, dst []T, operands [][]T, lo, hi int) {
	d := dst[lo:hi]
	operand := func(at int) (v []T, scalar bool) {
		switch {
		case at == before:
			return d, false
		case len(operands[at]) == len(dst):
			return operands[at][lo:hi], false
		}
		return operands[at], true
	}
	a, scalarA := operand(l.a)
	if !l.binary {
		kernels.Unary(kernels.UnaryOp(l.op), d, a)
		return
	}
	op := kernels.BinaryOp(l.op)
	switch b, scalarB := operand(l.b); {
	case scalarA:
		kernels.ScalarBinary(op, d, a[0], b)
	case scalarB:
		kernels.BinaryScalar(op, d, a, b[0])
	default:
		kernels.Binary(op, d, a, b)
	}
}
