package collective

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// Op is the operation of a reduction.
type Op int

// The operations.
const (
	Sum  Op = iota
	Mean    // the sum, divided by the number of workers; of integers rounded toward zero
)

// String is "sum" or "mean".
func (o Op) String() string {
	switch o {
	case Sum:
		return "sum"
	case Mean:
		return "mean"
	}
	return fmt.Sprintf("operation %d", int(o))
}

// schedule is the work of one call: passes, in the same order on all workers.
type schedule struct {
	passes []*pass
	text   *wire.GroupText // describes the call for the peers' errors
	digest uint64          // of text; equal on all workers, unless their programs differ
}

func (s *schedule) describe(text string, details ...any) {
	h := fnv.New64a()
	fmt.Fprint(h, text)
	for _, d := range details {
		fmt.Fprint(h, "|", d)
	}
	s.digest = h.Sum64()
	s.text = &wire.GroupText{Text: fmt.Sprintf("%s, digest %08x", text, s.digest>>32)}
}

// part is the type and size of one tensor of a layout.
type part struct {
	dtype tensor.DType
	bytes int
}

// plan is the schedule of a reduction, kept for the next call with the same layout.
type plan struct {
	schedule
	op    Op
	parts []part
	pass  []int // index by tensor
	small bool  // everything is exchanged, and fits the transport's buffers
	r     Reduction
}

// fits reports whether the plan is for this call.
func (p *plan) fits(op Op, tensors []*tensor.Tensor) bool {
	if p.op != op || len(p.parts) != len(tensors) {
		return false
	}
	for i, t := range tensors {
		if p.parts[i] != (part{t.DType, len(t.Bytes)}) {
			return false
		}
	}
	return true
}

// bind puts the tensors' memory into the passes.
func (p *plan) bind(tensors []*tensor.Tensor) {
	for _, q := range p.passes {
		q.set()
		for _, i := range q.tensors {
			q.vector.add(tensors[i].Bytes)
		}
	}
}

// newPlan packs tensors and makes this rank's stages. Tensors go from the last to the
// first, since the gradients of the last layers are ready first; each type has its own
// pack, which is closed as soon as it holds bytesPerPack. A tensor is never split
// between packs.
func (g *Group) newPlan(op Op, tensors []*tensor.Tensor) (*plan, error) {
	if op != Sum && op != Mean {
		return nil, fmt.Errorf("collective: %v: expected sum or mean", op)
	}
	p := &plan{op: op, pass: make([]int, len(tensors))}
	open := map[tensor.DType]int{}
	size := []int{}
	for i := len(tensors) - 1; i >= 0; i-- {
		t := tensors[i]
		a := arithmeticOf(t.DType)
		if a == nil {
			return nil, fmt.Errorf("collective: tensor %d is of type %v: expected float32, float64 or int64", i, t.DType)
		}
		n, ok := open[t.DType]
		if !ok {
			n = len(p.passes)
			p.passes, size = append(p.passes, &pass{arithmetic: a}), append(size, 0)
			if op == Mean {
				p.passes[n].divisor = g.size
			}
			open[t.DType] = n
		}
		p.pass[i] = n
		p.passes[n].tensors = append(p.passes[n].tensors, i)
		if size[n] += len(t.Bytes); size[n] >= g.bytesPerPack {
			delete(open, t.DType)
		}
	}
	for _, t := range tensors {
		p.parts = append(p.parts, part{t.DType, len(t.Bytes)})
	}
	p.bind(tensors)
	p.small = true
	total := 0
	for _, q := range p.passes {
		q.exchange = g.fullMesh() && q.len() <= exchangeBytes
		total += q.len()
		p.small = p.small && q.exchange && total <= 2*exchangeBytes
		if !q.exchange {
			e := p.parts[q.tensors[0]].dtype.Size()
			q.ring(evenly(nil, q.len()/e, e, g.size), g.rank)
		}
	}
	p.describe(p.summary(), p.parts)
	p.r.init(g, p)
	return p, nil
}

// named is how many tensors of a layout errors name.
const named = 6

// summary describes the layout for people.
func (p *plan) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v of %d tensors", p.op, len(p.parts))
	for i, x := range p.parts {
		if i == named {
			b.WriteString(", ...")
			break
		}
		fmt.Fprintf(&b, "%s %v x %d", [2]string{":", ","}[min(i, 1)], x.dtype, x.bytes/x.dtype.Size())
	}
	return b.String()
}
