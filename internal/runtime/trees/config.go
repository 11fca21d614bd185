package trees

import (
	"errors"
	"fmt"
	"math"
)

// ErrConfig is wrapped by errors about settings out of their range.
var ErrConfig = errors.New("invalid setting of boosted trees")

// Pruning says which splits are not made or are undone. "" means PruneNone.
type Pruning string

// The kinds of pruning, by tf.estimator's names.
const (
	PruneNone Pruning = "none" // makes every split with a gain before Complexity
	PrePrune  Pruning = "pre"  // makes no split that gains less than Complexity
	PostPrune Pruning = "post" // undoes splits of a complete tree if no split below them is worth Complexity
)

// Config are the settings of a training. Names and meanings are tf.estimator's: L1, L2, Complexity and MinNodeWeight
// apply to the mean over the examples of a layer, so XGBoost's lambda is L2 times the number of examples.
type Config struct {
	Trees         int     `json:"n_trees"`
	Depth         int     `json:"max_depth"`
	LearningRate  float64 `json:"learning_rate"`
	L1            float64 `json:"l1_regularization"`
	L2            float64 `json:"l2_regularization"`
	Complexity    float64 `json:"tree_complexity"`
	MinNodeWeight float64 `json:"min_node_weight"`
	CenterBias    bool    `json:"center_bias"`
	Pruning       Pruning `json:"pruning_mode"`
	Dim           int     `json:"dim"` // outputs
	// ColumnShare is the share of the columns that each tree may split by, drawn for each tree; 0 means all. Up to 255 ids count as
	// one column. It is XGBoost's colsample_bytree.
	ColumnShare float64 `json:"column_share,omitempty"`
	// ClassTrees says that each tree is for one output: tree t for output t mod Dim. Otherwise all outputs share each tree.
	ClassTrees bool `json:"class_trees,omitempty"`
	// Softmax says that the outputs are logits of classes and depend on each other, since each example has one class.
	Softmax bool `json:"softmax,omitempty"`
}

const (
	maxDepth = 20
	maxNodes = 1 << 24 // a node's number is exact as float32
)

// Check returns an error that wraps ErrConfig and names the setting that is out of its range.
func (c *Config) Check() error {
	switch {
	case c.Trees < 1:
		return fmt.Errorf("%w: n_trees %d, expected at least 1", ErrConfig, c.Trees)
	case c.Depth < 1 || c.Depth > maxDepth:
		return fmt.Errorf("%w: max_depth %d, expected 1 to %d", ErrConfig, c.Depth, maxDepth)
	case c.Dim < 1:
		return fmt.Errorf("%w: %d outputs, expected at least 1", ErrConfig, c.Dim)
	case c.Trees > maxNodes/c.treeNodes():
		return fmt.Errorf("%w: %d trees of depth %d may have %d nodes, expected at most %d: use fewer or less deep trees",
			ErrConfig, c.Trees, c.Depth, c.Trees*c.treeNodes(), maxNodes)
	case c.Pruning != "" && c.Pruning != PruneNone && c.Pruning != PrePrune && c.Pruning != PostPrune:
		return fmt.Errorf("%w: pruning_mode %q, expected none, pre or post", ErrConfig, c.Pruning)
	case (c.Pruning == "" || c.Pruning == PruneNone) && c.Complexity != 0:
		return fmt.Errorf("%w: tree_complexity %v has no effect without pruning: set pruning_mode to pre or post",
			ErrConfig, c.Complexity)
	case !(c.ColumnShare >= 0 && c.ColumnShare <= 1):
		return fmt.Errorf("%w: column_share %v, expected more than 0 and at most 1", ErrConfig, c.ColumnShare)
	case c.LearningRate <= 0 || !finite(c.LearningRate):
		return fmt.Errorf("%w: learning_rate %v, expected more than 0", ErrConfig, c.LearningRate)
	}
	for name, v := range map[string]float64{"l1_regularization": c.L1, "l2_regularization": c.L2,
		"tree_complexity": c.Complexity, "min_node_weight": c.MinNodeWeight} {
		if v < 0 || !finite(v) {
			return fmt.Errorf("%w: %s %v, expected a number from 0 on", ErrConfig, name, v)
		}
	}
	return c.checkClassTrees()
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// treeNodes returns the largest number of nodes of a tree.
func (c *Config) treeNodes() int { return 1<<(c.Depth+1) - 1 }

// Nodes returns the number of nodes that the ensemble has room for.
func (c *Config) Nodes() int { return c.Trees * c.treeNodes() }

// regularization returns the penalties on sums over a number of examples.
func (c *Config) regularization(examples float64) regularization {
	return regularization{l1: c.L1 * examples, l2: c.L2 * examples, minWeight: c.MinNodeWeight * examples}
}
