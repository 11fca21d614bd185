package onnxgraph

import (
	"maps"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/format/onnx"
)

// ensembleOperators are trees of any kind, in the form of version 5.
var ensembleOperators = operators{"TreeEnsemble": one(treeEnsemble).but("post_transform PROBIT")}

// The names in older operators for the numbers of version 5. Transforms 1 and 2 are as in ONNX Runtime; the standard has them the
// other way round.
var (
	nodeModes      = []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", memberMode}
	aggregateNames = []string{"AVERAGE", "SUM", "MIN", "MAX"}
	transformNames = []string{"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"}
)

// memberMode tests whether a feature is one of several numbers.
const memberMode = "BRANCH_MEMBER"

// oldTrees has the lists of a TreeEnsembleRegressor: all nodes in one tree, with several roots.
type oldTrees struct {
	trees, ids, features, yes, no []int
	modes                         []string
	values                        []float64
	missing                       []int
}

func (o *oldTrees) add(tree, id, feature int, mode string, value float64, yes, no, missing int) {
	o.trees, o.ids, o.features, o.modes = append(o.trees, tree), append(o.ids, id), append(o.features, feature), append(o.modes, mode)
	o.values, o.yes, o.no, o.missing = append(o.values, value), append(o.yes, yes), append(o.no, no), append(o.missing, missing)
}

// nameAt returns element i of a list of names.
func nameAt(names []string, i int) string {
	if i < 0 || i >= len(names) {
		refuse("number %d: expected 0 to %d", i, len(names)-1)
	}
	return names[i]
}

// realTensor returns the numbers of a tensor attribute, or nil if it is absent.
func (x *site) realTensor(name string) []float64 {
	if t := x.tensorOf(name); t != nil {
		return x.realsOf(name, t)
	}
	return nil
}

// treeEnsemble converts the nodes to TreeEnsembleRegressor's form, where leaves are nodes too, and a set of numbers is a chain of nodes.
func treeEnsemble(x *site) *value {
	o := &oldTrees{}
	leaves := x.intList("leaf_targetids", nil)
	weights := x.realTensor("leaf_weights")
	n := x.interior(o, len(leaves))
	trees := make([]int, len(leaves))
	ids := make([]int, len(leaves))
	for i := range leaves {
		ids[i] = n + i
		o.add(0, n+i, 0, "LEAF", 0, 0, 0, 0)
	}
	x.tensorOf("nodes_hitrates")
	attrs := map[string]any{"nodes_treeids": o.trees, "nodes_nodeids": o.ids, "nodes_featureids": o.features, "nodes_truenodeids": o.yes, "nodes_falsenodeids": o.no,
		"nodes_modes": o.modes, "nodes_values": o.values, "nodes_missing_value_tracks_true": o.missing,
		"target_treeids": trees, "target_nodeids": ids, "target_ids": leaves, "target_weights": weights,
		"post_transform": nameAt(transformNames, x.int("post_transform", 0))}
	here := *x
	here.n = &onnx.Node{Op: x.n.Op, Name: x.n.Name, Inputs: x.n.Inputs, Attrs: attrs}
	here.read = maps.Clone(x.read)
	e := here.ensembleOf(x.intList("tree_roots", nil))
	targets := x.int("n_targets", 1)
	return here.regressed(here.summed(e, "target", targets, nameAt(aggregateNames, x.int("aggregate_function", 1))), targets)
}

// interior adds the interior nodes, and returns how many numbers they take: leaves are numbered after them.
func (x *site) interior(o *oldTrees, leaves int) int {
	features, modes, splits := x.intList("nodes_featureids", nil), x.tensorOf("nodes_modes"), x.realTensor("nodes_splits")
	yes, no, yesLeaf, noLeaf := x.intList("nodes_truenodeids", nil), x.intList("nodes_falsenodeids", nil), x.intList("nodes_trueleafs", nil), x.intList("nodes_falseleafs", nil)
	missing, members := x.intList("nodes_missing_value_tracks_true", nil), x.realTensor("membership_values")
	n := len(features)
	if modes == nil || n == 0 || n+len(members)+leaves > maxTreeNodes || modes.Len() != n || len(splits) != n || len(yes) != n || len(no) != n || len(yesLeaf) != n || len(noLeaf) != n {
		refuse("lists of nodes of different lengths, or more than %d nodes", maxTreeNodes)
	}
	extra := n + len(members) // further members of sets are numbered from n on, leaves from here on
	next := func(to, leaf int) int {
		if leaf != 0 {
			return extra + to
		}
		return to
	}
	free := n
	for i := range n {
		tracks := 0
		if i < len(missing) {
			tracks = missing[i]
		}
		mode, a, b := nameAt(nodeModes, int(modes.Int(i))), next(yes[i], yesLeaf[i]), next(no[i], noLeaf[i])
		if mode != memberMode {
			o.add(0, i, features[i], mode, splits[i], a, b, tracks)
			continue
		}
		end := slices.IndexFunc(members, math.IsNaN)
		if end < 0 {
			end = len(members)
		}
		set := members[:end]
		members = members[min(end+1, len(members)):]
		if len(set) == 0 {
			refuse("a set without numbers")
		}
		id := i
		for k, v := range set {
			otherwise := b
			if k+1 < len(set) {
				otherwise = free
			}
			o.add(0, id, features[i], "BRANCH_EQ", v, a, otherwise, tracks)
			id = free
			if k+1 < len(set) {
				free++
			}
		}
	}
	return extra
}
