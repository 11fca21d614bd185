package trees

import (
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// centred is the size of a step of an output's bias below which centering ends, and centerSteps the most steps.
const (
	centred     = 0.01
	centerSteps = 20
)

// Growth says what became of the active nodes.
type Growth struct {
	Splits   []Split // each node's; nil if the bias was centred
	Finished bool    // whether the tree is complete
	Survivor []int32 // with PostPrune, for each node of a finished tree, the node that it was merged into, counted from the root
}

// Grow splits the active nodes by the sums of the gradients of a layer's examples, or centres the bias. Equal sums give
// equal bits. The ensemble must not be Done.
func (e *Ensemble) Grow(c *Config, s *Space, sums *Sums, examples float64) Growth {
	reg := c.regularization(examples)
	if e.State[StateCentered] >= 0 {
		steps := make([]float64, c.Dim)
		for k := range steps {
			steps[k] = reg.step(sums.all(0, k))
		}
		e.center(c, steps)
		return Growth{}
	}
	sums = sums.of(c.outputs(e.State[StateTrees]))
	splits := make([]Split, sums.Nodes)
	kernels.Parallel(len(splits), 1, &splitTask{sums: sums, space: s, reg: reg, drawn: c.drawn(len(s.Groups), e.State[StateTrees]), splits: splits})
	return e.grow(c, s, splits, examples)
}

type splitTask struct {
	sums   *Sums
	space  *Space
	reg    regularization
	drawn  []bool
	splits []Split
}

func (t *splitTask) Run(lo, hi int) {
	for n := lo; n < hi; n++ {
		t.sums.best(n, t.space, t.reg, t.drawn, &t.splits[n])
	}
}

// grow makes the splits of the active nodes.
func (e *Ensemble) grow(c *Config, s *Space, splits []Split, examples float64) Growth {
	e.State[StateSteps]++
	first, end := e.Active(c)
	next := end
	for n := range splits {
		split := &splits[n]
		net := split.Gain/examples - c.Complexity
		if split.Group >= 0 && c.Pruning == PrePrune && net < 0 {
			split.Group = -1
		}
		if split.Group < 0 {
			continue
		}
		split.Left = next
		e.divide(c, s, first+n, split)
		e.Gains[first+n] = float32(net)
		next += 2
	}
	growth := Growth{Splits: splits}
	growth.Finished, growth.Survivor = e.advance(c, end, next)
	return growth
}

// divide makes a node's split.
func (e *Ensemble) divide(c *Config, s *Space, node int, split *Split) {
	column, threshold := s.Cut(split.Group, split.Bin)
	e.Feature[node], e.Threshold[node], e.Left[node] = int32(column), threshold, int32(split.Left)
	left, right := split.Left*c.Dim, (split.Left+1)*c.Dim
	before := e.Values[node*c.Dim : (node+1)*c.Dim]
	copy(e.Values[left:right], before)
	copy(e.Values[right:right+c.Dim], before)
	from, to := c.outputs(e.State[StateTrees])
	for k := from; k < to; k++ {
		steps := split.Steps[2*(k-from):]
		e.Values[left+k] += float32(c.LearningRate * steps[0])
		e.Values[right+k] += float32(c.LearningRate * steps[1])
	}
}

// center takes a Newton step of the first root's values, and ends centering after a small one.
func (e *Ensemble) center(c *Config, steps []float64) {
	e.State[StateSteps]++
	root := int(e.State[StateFirst])
	largest := 0.0
	for k, step := range steps {
		if c.Softmax {
			step = ofClasses(step)
		}
		e.Values[root*c.Dim+k] += float32(step)
		largest = max(largest, math.Abs(step))
	}
	e.State[StateCentered]++
	if largest < centred || e.State[StateCentered] >= centerSteps {
		e.State[StateCentered] = -1
	}
}

// ofClasses returns the step of a class's bias, given the Newton step of its logit alone. The whole step goes too far, since the
// logits of the other classes move as well; with many rare classes it diverges. The Hessian of softmax is one to two times its
// diagonal, except in the direction in which all logits move alike. So near the end, 2/3 of the step leaves at most a third of the
// distance.
func ofClasses(step float64) float64 {
	const share, most = 2.0 / 3, 1
	return min(max(share*step, -most), most)
}

// advance moves on to the layer of the nodes [first, end), or to the next tree.
func (e *Ensemble) advance(c *Config, first, end int) (finished bool, survivor []int32) {
	e.State[StateLayers]++
	if e.State[StateLayers] < int64(c.Depth) && first < end {
		e.State[StateFirst], e.State[StateEnd] = int64(first), int64(end)
		return false, nil
	}
	if c.Pruning == PostPrune {
		survivor = e.prune(c, end)
	}
	e.State[StateTrees]++
	e.State[StateLayers] = 0
	root := min(e.State[StateTrees], int64(c.Trees-1)) * int64(c.treeNodes())
	e.State[StateFirst], e.State[StateEnd] = root, root+1
	return true, survivor
}

// prune undoes, from the last node of the finished tree backwards, splits into two leaves that are not worth their complexity.
func (e *Ensemble) prune(c *Config, end int) []int32 {
	root := int(e.State[StateTrees]) * c.treeNodes()
	survivor := make([]int32, end-root)
	for n := end - 1; n >= root; n-- {
		survivor[n-root] = int32(n - root)
		left := int(e.Left[n])
		if left == n || int(e.Left[left]) != left || int(e.Left[left+1]) != left+1 || e.Gains[n] >= 0 {
			continue
		}
		e.Feature[n], e.Threshold[n], e.Left[n], e.Gains[n] = 0, math.MaxFloat32, int32(n), 0
		clear(e.Values[left*c.Dim : (left+2)*c.Dim])
		survivor[left-root], survivor[left+1-root] = int32(n-root), int32(n-root)
	}
	for n, s := range survivor { // parents come before their children
		survivor[n] = survivor[s]
	}
	return survivor
}
