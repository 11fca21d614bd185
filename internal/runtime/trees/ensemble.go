package trees

import (
	"errors"
	"fmt"
	"math"
)

// ErrEnsemble is wrapped by errors about arrays that are not a valid ensemble.
var ErrEnsemble = errors.New("invalid ensemble of boosted trees")

// Ensemble is trees in arrays of fixed length, which a checkpoint stores unchanged. Tree t has the nodes from t*treeNodes
// on, its root first, then layer after layer. The children of a node are Left and Left+1.
//
// An example's outputs are the sum over the trees of the Values of the leaves that it reaches. The last layer of a growing
// tree counts as leaves.
type Ensemble struct {
	Feature   []int32   // the example's column that a node compares
	Threshold []float32 // an example that reaches it goes right; math.MaxFloat32 for a leaf
	Left      []int32   // left child; a leaf's is itself
	Values    []float32 // [nodes, dim]: a leaf's, or an inner node's before its split
	Gains     []float32 // a split's gain per example of the layer, minus Complexity
	State     []int64   // see the constants
}

// Indices of State.
const (
	StateTrees  = iota // finished trees
	StateLayers        // layers of the growing tree
	StateFirst         // the nodes to split next: from StateFirst on, before StateEnd
	StateEnd
	StateCentered // steps of centering the bias; -1 once it is centred
	StateSteps    // layers grown plus steps of centering, which identify a layer's sums
	StateBatches  // batches collected for the next layer or step
	StateBounded  // 1 once all features have boundaries
	StateSize
)

// NewEnsemble returns an empty ensemble of the length that c needs.
func NewEnsemble(c *Config) *Ensemble {
	n := c.Nodes()
	e := &Ensemble{Feature: make([]int32, n), Threshold: make([]float32, n), Left: make([]int32, n),
		Values: make([]float32, n*c.Dim), Gains: make([]float32, n), State: make([]int64, StateSize)}
	e.Clear(c)
	return e
}

// Clear makes it empty.
func (e *Ensemble) Clear(c *Config) {
	clear(e.Feature)
	clear(e.Values)
	clear(e.Gains)
	clear(e.State)
	for i := range e.Left {
		e.Left[i], e.Threshold[i] = int32(i), math.MaxFloat32
	}
	e.State[StateEnd] = 1
	if !c.CenterBias {
		e.State[StateCentered] = -1
	}
}

// Check returns an error unless the ensemble fits c and examples of width columns, and all its indices are in range.
func (e *Ensemble) Check(c *Config, width int) error {
	n := c.Nodes()
	if len(e.Feature) != n || len(e.Threshold) != n || len(e.Left) != n || len(e.Gains) != n ||
		len(e.Values) != n*c.Dim || len(e.State) != StateSize {
		return fmt.Errorf("%w: expected %d nodes of %d outputs", ErrEnsemble, n, c.Dim)
	}
	per := int32(c.treeNodes())
	for i, left := range e.Left {
		at := int32(i)
		if left == at {
			continue
		}
		if left < at || left/per != at/per || (left+1)/per != at/per {
			return fmt.Errorf("%w: node %d has the children %d and %d, expected later ones of the same tree", ErrEnsemble, i, left, left+1)
		}
		if e.Feature[i] < 0 || int(e.Feature[i]) >= width {
			return fmt.Errorf("%w: node %d asks for column %d of %d", ErrEnsemble, i, e.Feature[i], width)
		}
	}
	if err := e.checkOutputs(c); err != nil {
		return err
	}
	return e.checkState(c)
}

// checkState returns an error unless there is room for growing the active nodes.
func (e *Ensemble) checkState(c *Config) error {
	s, per := e.State, int64(c.treeNodes())
	wrong := fmt.Errorf("%w: its state is %v", ErrEnsemble, s)
	if s[StateTrees] < 0 || s[StateTrees] > int64(c.Trees) || s[StateLayers] < 0 || s[StateLayers] >= int64(c.Depth) ||
		s[StateBatches] < 0 {
		return wrong
	}
	if e.Done(c) {
		return nil
	}
	root, widest := s[StateTrees]*per, int64(1)<<s[StateLayers]
	first, end := s[StateFirst], s[StateEnd]
	if first < root || first >= end || end-first > widest || end > root+2*widest-1 ||
		s[StateCentered] >= 0 && (first != root || end != root+1) {
		return wrong
	}
	for n := root; n < root+per; n++ {
		if left := int64(e.Left[n]); left != n && (n >= first || left+1 >= end) {
			return fmt.Errorf("%w: node %d has the children %d and %d, where the tree has grown no further than %d", ErrEnsemble, n, left, left+1, end-1)
		}
	}
	return nil
}

// Done reports whether all trees are finished.
func (e *Ensemble) Done(c *Config) bool { return e.State[StateTrees] >= int64(c.Trees) }

// Active returns the nodes that the next layer splits, from first on, before end. There are none when Done.
func (e *Ensemble) Active(c *Config) (first, end int) {
	if e.Done(c) {
		return 0, 0
	}
	return int(e.State[StateFirst]), int(e.State[StateEnd])
}

// Importances returns the gain of each feature or, if normalise is set, its share of the total. Negative gains count as 0.
func (e *Ensemble) Importances(s *Space, normalise bool) []float64 {
	sums := make([]float64, len(s.Features))
	all := 0.0
	for i, left := range e.Left {
		if int(left) == i || e.Gains[i] <= 0 {
			continue
		}
		if f := s.FeatureOf(int(e.Feature[i])); f >= 0 {
			sums[f] += float64(e.Gains[i])
			all += float64(e.Gains[i])
		}
	}
	if normalise && all > 0 {
		for i := range sums {
			sums[i] /= all
		}
	}
	return sums
}

// Set makes e a copy of another ensemble of the same length.
func (e *Ensemble) Set(other *Ensemble) {
	copy(e.Feature, other.Feature)
	copy(e.Threshold, other.Threshold)
	copy(e.Left, other.Left)
	copy(e.Values, other.Values)
	copy(e.Gains, other.Gains)
	copy(e.State, other.State)
}

// Collected counts a batch and reports whether there are n now; then it starts again at 0.
func (e *Ensemble) Collected(n int) bool {
	e.State[StateBatches]++
	if e.State[StateBatches] < int64(n) {
		return false
	}
	e.State[StateBatches] = 0
	return true
}
