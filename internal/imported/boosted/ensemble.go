package boosted

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/format/treeensemble"
	"google.golang.org/protobuf/proto"
)

// Ensemble is a set of trees whose weighted leaf values are added. It does not change.
type Ensemble struct {
	trees []tree
	width int // values per leaf, 0 if there is no tree
}

// tree has the nodes of a tree, the root first; children come after their parents.
type tree struct {
	weight float32
	nodes  []node
	values []float32 // of the leaves
}

// node is a split, or a leaf whose values begin at left.
type node struct {
	kind            nodeKind
	feature, column int32
	threshold       int32
	left, right     int32
}

type nodeKind uint8

const (
	leaf nodeKind = iota
	bucketized
	categorical
)

// Parse reads a serialized TreeEnsemble. All leaves must have the same number of values, and no node may lead back to an earlier one.
func Parse(serialized []byte) (*Ensemble, error) {
	m := &treeensemble.TreeEnsemble{}
	if err := proto.Unmarshal(serialized, m); err != nil {
		return nil, errors.New("Unable to parse tree ensemble proto.")
	}
	e := &Ensemble{trees: make([]tree, len(m.Trees))}
	if len(m.TreeWeights) < len(m.Trees) {
		return nil, fmt.Errorf("tree ensemble: expected a weight for each of %d trees, got %d", len(m.Trees), len(m.TreeWeights))
	}
	for i, t := range m.Trees {
		if err := e.add(i, t.GetNodes(), m.TreeWeights[i]); err != nil {
			return nil, fmt.Errorf("tree ensemble: tree %d: %w", i, err)
		}
	}
	return e, nil
}

// add reads tree i.
func (e *Ensemble) add(i int, nodes []*treeensemble.Node, weight float32) error {
	if len(nodes) == 0 {
		return errors.New("expected a root")
	}
	t := tree{weight: weight, nodes: make([]node, len(nodes))}
	for id, n := range nodes {
		var err error
		switch n := n.GetNode().(type) {
		case *treeensemble.Node_Leaf:
			t.nodes[id].left = int32(len(t.values))
			err = e.leaf(&t, n.Leaf)
		case *treeensemble.Node_BucketizedSplit:
			s := n.BucketizedSplit
			t.nodes[id] = node{bucketized, s.FeatureId, s.DimensionId, s.Threshold, s.LeftId, s.RightId}
			err = t.nodes[id].check(id, len(nodes))
		case *treeensemble.Node_CategoricalSplit:
			s := n.CategoricalSplit
			t.nodes[id] = node{categorical, s.FeatureId, s.DimensionId, s.Value, s.LeftId, s.RightId}
			err = t.nodes[id].check(id, len(nodes))
		default:
			err = errors.New("expected a leaf or a split")
		}
		if err != nil {
			return fmt.Errorf("node %d: %w", id, err)
		}
	}
	e.trees[i] = t
	return nil
}

// leaf appends the values of a leaf.
func (e *Ensemble) leaf(t *tree, l *treeensemble.Leaf) error {
	values := []float32{l.GetScalar()}
	if l.GetVector() != nil {
		values = l.GetVector().GetValue()
	}
	if e.width == 0 {
		e.width = len(values)
	}
	if len(values) != e.width || e.width == 0 {
		return fmt.Errorf("expected a leaf of %d values, got %d", max(e.width, 1), len(values))
	}
	t.values = append(t.values, values...)
	return nil
}

// check refuses children that the tree does not have, or that lead back.
func (n node) check(id, nodes int) error {
	for _, child := range [2]int32{n.left, n.right} {
		if int(child) <= id || int(child) >= nodes {
			return fmt.Errorf("child %d: expected %d to %d", child, id+1, nodes-1)
		}
	}
	if n.feature < 0 || n.column < 0 {
		return fmt.Errorf("expected a feature and its dimension, got %d and %d", n.feature, n.column)
	}
	return nil
}

// Trees returns the number of trees.
func (e *Ensemble) Trees() int { return len(e.trees) }

// Width returns the number of values of a leaf, the dimension of the logits; 0 if there is no tree.
func (e *Ensemble) Width() int { return e.width }
