package trees

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Collector computes the sums of a batch of examples for the layer that grows next. It has no state but memory for reuse.
type Collector struct {
	hist  histograms
	grads gradients
	rows  []int32
	nodes []int32
}

// Size returns the length of a layer's sums, Sums.V.
func (e *Ensemble) Size(c *Config, s *Space) int {
	first, end := e.Active(c)
	return (end - first) * c.Dim * (s.Bins + 1) * 2
}

// Collect adds the sums of a batch to into, of length Size: x are examples of s.Width columns, g and h the gradients and
// hessians of their losses, [rows, dim]. Hessians below 0 count as 0.
func (k *Collector) Collect(c *Config, s *Space, e *Ensemble, x []float32, loss Given, into []float64) error {
	rows := len(loss.G) / c.Dim
	if len(into) != e.Size(c, s) {
		return fmt.Errorf("%d sums, expected %d", len(into), e.Size(c, s))
	}
	data, err := s.Bin(x, rows)
	if err != nil {
		return err
	}
	first, end := e.Active(c)
	k.nodes, k.rows = grown(k.nodes, rows), grown(k.rows, rows)
	e.Grown(c, x, s.Width, k.nodes)
	spans := sortRows(k.rows, k.nodes, first, end)
	used := 0
	for _, s := range spans {
		used = max(used, s.to)
	}
	k.grads.resize(used, 1, c.Dim)
	loss.Gradients(k.rows[:used], nil, k.grads.v)
	k.grads.measure(0, 0, used)
	if err := k.grads.scale(); err != nil {
		return err
	}
	size := c.Dim * (s.Bins + 1) * 2
	k.hist.data, k.hist.grads, k.hist.rows, k.hist.nodes = data, &k.grads, k.rows, spans
	k.hist.done = func(n int, sums *Sums) {
		for i, v := range sums.V[:size] {
			into[n*size+i] += v
		}
	}
	k.hist.build()
	return nil
}

// Grown sets nodes to the leaf of the growing tree that each example reaches.
func (e *Ensemble) Grown(c *Config, x []float32, width int, nodes []int32) {
	root := int32(min(e.State[StateTrees], int64(c.Trees-1))) * int32(c.treeNodes())
	kernels.Parallel(len(nodes), predictRows, &grownTask{e: e, x: x, width: width, nodes: nodes, root: root})
}

type grownTask struct {
	e     *Ensemble
	x     []float32
	width int
	nodes []int32
	root  int32
}

func (t *grownTask) Run(lo, hi int) {
	for r := lo; r < hi; r++ {
		t.nodes[r] = t.e.leaf(t.x[r*t.width:(r+1)*t.width], t.root)
	}
}
