package trees

import (
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Trainer grows an ensemble from examples that stay in memory: their bins, the order of their rows by node, and their
// outputs. Its trees equal, bit for bit, the trees grown from the same examples passed again for every layer.
type Trainer struct {
	Config   *Config
	Ensemble *Ensemble
	data     *Binned
	space    *Space
	given    Loss // the loss of all outputs
	loss     Loss // the loss of the growing tree's outputs, [from, to)
	division Division
	from, to int

	rows, spare []int32 // rows by node
	spans       []span  // the active nodes' rows
	all         outputs // outputs of the finished trees
	base        outputs // the growing tree's part of all, plus its leaves that are not split any more
	nodes       []int32 // node of each row in the growing tree; nil unless finished trees are pruned
	grads       gradients
	hist        histograms
	part        part    // the part of the data that the growing tree may split by
	splits      []Split // the active nodes' splits
	steps       []float64

	first  int // first active node
	work   []chunk
	places []place // for each chunk
	next   []span  // spans of the left and right node of each split
	free   sync.Pool
}

// NewTrainer returns a trainer that continues an ensemble. x are the examples, rows of s.Width numbers.
func NewTrainer(c *Config, s *Space, e *Ensemble, x []float32, rows int, loss Loss) (*Trainer, error) {
	data, err := s.Bin(x, rows)
	if err != nil {
		return nil, err
	}
	if _, ok := loss.(Divided); !ok && c.ClassTrees {
		return nil, fmt.Errorf("%w: class_trees with a loss %T, expected one of several classes", ErrConfig, loss)
	}
	t := &Trainer{Config: c, Ensemble: e, data: data, space: s, given: loss, loss: loss, to: c.Dim, rows: make([]int32, rows),
		spare: make([]int32, rows), all: make([]float32, rows*c.Dim), nodes: make([]int32, rows)}
	e.Locate(c, x, rows, s.Width, t.all, t.nodes)
	t.base = t.all
	if e.Done(c) {
		return t, nil
	}
	t.turn()
	first, end := e.Active(c)
	t.spans = sortRows(t.rows, t.nodes, first, end)
	if c.Pruning != PostPrune {
		t.leave(first)
	}
	return t, t.begin(first)
}

// leave adds the leaf's values to the base of each row at a leaf before the active nodes.
func (t *Trainer) leave(first int) {
	for r, n := range t.nodes {
		if int(n) < first {
			t.base.add([]int32{int32(r)}, t.values(int(n)))
		}
	}
	t.nodes = nil
}

// sortRows orders rows by their node and returns the spans of the nodes [first, end). Rows at other nodes are left out.
func sortRows(rows, nodes []int32, first, end int) []span {
	spans := make([]span, end-first)
	for _, n := range nodes {
		if int(n) >= first && int(n) < end {
			spans[int(n)-first].to++
		}
	}
	at := 0
	for i, s := range spans {
		spans[i] = span{at, at}
		at += s.to
	}
	for r, n := range nodes {
		if int(n) >= first && int(n) < end {
			s := &spans[int(n)-first]
			rows[s.to] = int32(r)
			s.to++
		}
	}
	return spans
}

// begin computes the gradients of all rows in the spans of the active nodes, which start at first.
func (t *Trainer) begin(first int) error {
	t.first = first
	t.work = cut(t.work[:0], t.spans, packedRows)
	t.grads.resize(len(t.rows), len(t.work), t.width())
	t.spare, t.rows = t.rows, t.spare
	kernels.Parallel(len(t.work), 1, (*starter)(t))
	t.spare, t.rows = t.rows, t.spare
	return t.grads.scale()
}

// starter computes the gradients of each chunk.
type starter Trainer

func (t *starter) Run(lo, hi int) {
	buffer := (*Trainer)(t).buffer()
	defer t.free.Put(buffer)
	for i := lo; i < hi; i++ {
		c := t.work[i]
		(*Trainer)(t).arrive(span{c.from, c.to}, t.first+c.node, i, *buffer)
	}
}

// buffer returns memory for the outputs of a chunk, from free if possible.
func (t *Trainer) buffer() *[]float32 {
	if b, _ := t.free.Get().(*[]float32); b != nil {
		return b
	}
	fresh := make([]float32, packedRows*t.Config.Dim+Lanes)
	return &fresh
}

// Layer grows the next layer, or takes a step of centering the bias, by the loss at the current outputs. It does nothing if
// the ensemble is Done.
func (t *Trainer) Layer() error {
	if t.Ensemble.Done(t.Config) {
		return nil
	}
	examples := float64(len(t.rows))
	reg := t.Config.regularization(examples)
	t.splits = grown(t.splits, len(t.spans))
	t.hist.data, t.hist.grads, t.hist.rows, t.hist.nodes = t.data, &t.grads, t.rows, t.spans
	if t.Ensemble.State[StateCentered] >= 0 {
		t.steps = grown(t.steps, t.Config.Dim)
		t.hist.done = func(_ int, s *Sums) {
			for k := range t.steps {
				t.steps[k] = reg.step(s.all(0, k))
			}
		}
		t.hist.build()
		t.Ensemble.center(t.Config, t.steps)
		t.turn()
		return t.begin(t.first)
	}
	t.seek(reg)
	growth := t.Ensemble.grow(t.Config, t.space, t.splits, examples)
	if growth.Finished {
		return t.finish(growth)
	}
	return t.descend()
}

// seek finds the best split of each active node.
func (t *Trainer) seek(reg regularization) {
	tree := t.Ensemble.State[StateTrees]
	drawn := t.Config.drawn(len(t.space.Groups), tree)
	if drawn == nil {
		t.hist.done = func(n int, s *Sums) { s.best(0, t.space, reg, nil, &t.splits[n]) }
		t.hist.build()
		return
	}
	t.part.choose(t.data, drawn, tree)
	t.hist.data = t.part.data
	t.hist.done = func(n int, s *Sums) {
		split := &t.splits[n]
		if s.best(0, t.part.data.space, reg, nil, split); split.Group >= 0 {
			split.Group = t.part.groups[split.Group]
		}
	}
	t.hist.build()
}

// descend moves the rows to the next layer's nodes.
func (t *Trainer) descend() error {
	t.arrange()
	t.grads.resize(len(t.rows), len(t.work), t.width())
	kernels.Parallel(len(t.work), 1, (*mover)(t))
	t.rows, t.spare = t.spare, t.rows
	t.spans = t.spans[:0]
	for n := range t.splits {
		if t.splits[n].Group >= 0 {
			t.spans = append(t.spans, t.next[2*n], t.next[2*n+1])
		}
	}
	t.first, _ = t.Ensemble.Active(t.Config)
	return t.grads.scale()
}

// finish adds the finished tree's values to the base of all rows and moves on to the next tree's root.
func (t *Trainer) finish(growth Growth) error {
	t.work = cut(t.work[:0], t.spans, packedRows)
	kernels.Parallel(len(t.work), 1, (*finisher)(t))
	if t.nodes != nil {
		t.survive(growth.Survivor)
	}
	t.keep(t.base, t.all)
	if t.Ensemble.Done(t.Config) {
		return nil
	}
	t.turn()
	for r := range t.rows {
		t.rows[r] = int32(r)
	}
	t.spans = append(t.spans[:0], span{0, len(t.rows)})
	first, _ := t.Ensemble.Active(t.Config)
	return t.begin(first)
}

// survive adds to the base of each row the values of the leaf that its leaf was merged into.
func (t *Trainer) survive(survivor []int32) {
	per := t.Config.treeNodes()
	root := t.first / per * per
	for r, n := range t.nodes {
		leaf := root + int(survivor[int(n)-root])
		t.base.add([]int32{int32(r)}, t.values(leaf))
	}
}

// Outputs returns the current outputs of the examples, [rows, dim]. They change with the next Layer.
func (t *Trainer) Outputs() []float32 {
	base := append(outputs(nil), t.base...)
	for n, s := range t.spans {
		base.add(t.rows[s.from:s.to], t.values(t.first+n))
	}
	if t.width() == t.Config.Dim {
		return base
	}
	out := append(outputs(nil), t.all...)
	t.keep(base, out)
	return out
}
