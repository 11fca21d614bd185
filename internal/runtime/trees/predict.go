package trees

import "github.com/goestimator/goestimator/internal/runtime/kernels"

// predictRows are rows that go through a tree together.
const predictRows = 64

// Predict sets out, [rows, dim], to the outputs of examples of width columns. A row's bits depend only on that row.
func (e *Ensemble) Predict(c *Config, x []float32, rows, width int, out []float32) {
	clear(out[:rows*c.Dim])
	kernels.Parallel(rows, predictRows, &predictTask{e: e, c: c, x: x, width: width, out: out})
}

// Locate sets nodes to the leaf of the growing tree that each example reaches, and base to the outputs of the trees before
// it. When Done, there is no growing tree and nodes are 0.
func (e *Ensemble) Locate(c *Config, x []float32, rows, width int, base []float32, nodes []int32) {
	clear(base[:rows*c.Dim])
	clear(nodes[:rows])
	kernels.Parallel(rows, predictRows, &predictTask{e: e, c: c, x: x, width: width, out: base, nodes: nodes})
}

type predictTask struct {
	e     *Ensemble
	c     *Config
	x     []float32
	width int
	out   []float32
	nodes []int32 // if set, leaves in the growing tree, whose values are then not added
}

func (t *predictTask) Run(lo, hi int) {
	done := int(t.e.State[StateTrees])
	per := int32(t.c.treeNodes())
	for ; lo < hi; lo += predictRows {
		end := min(lo+predictRows, hi)
		for tree := range done {
			t.add(lo, end, int32(tree)*per)
		}
		if done == t.c.Trees {
			continue
		}
		if t.nodes == nil {
			t.add(lo, end, int32(done)*per)
			continue
		}
		for r := lo; r < end; r++ {
			t.nodes[r] = t.e.leaf(t.x[r*t.width:(r+1)*t.width], int32(done)*per)
		}
	}
}

// add adds a tree's values to the values of the rows.
func (t *predictTask) add(lo, hi int, root int32) {
	dim := t.c.Dim
	if t.e.Left[root] == root && zero(t.e.Values[int(root)*dim:(int(root)+1)*dim]) {
		return
	}
	for r := lo; r < hi; r++ {
		n := int(t.e.leaf(t.x[r*t.width:(r+1)*t.width], root))
		for k, v := range t.e.Values[n*dim : (n+1)*dim] {
			t.out[r*dim+k] += v
		}
	}
}

func zero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// leaf follows an example down a tree.
func (e *Ensemble) leaf(x []float32, n int32) int32 {
	for {
		left := e.Left[n]
		if left == n {
			return n
		}
		if x[e.Feature[n]] >= e.Threshold[n] {
			left++
		}
		n = left
	}
}
