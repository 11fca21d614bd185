package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// Limits on an ensemble of trees.
const (
	maxTreeNodes = 1 << 22
	maxTreeDepth = 256
)

// ensemble has trees as vectors: node i tests a feature of a row as its mode says, and continues at yes[i] or no[i]. Leaves
// continue at themselves.
type ensemble struct {
	features, modes, yes, no []int32
	thresholds               []float64
	missing                  []bool // NaN continues at yes
	roots                    []int32
	depth                    int
	at                       map[[2]int]int // nodes by tree and number
	ends                     *value         // see leaves; nil: nobody has asked
}

// The modes of nodes, by name.
var treeModes = map[string]int32{"BRANCH_LEQ": 0, "BRANCH_LT": 1, "BRANCH_GTE": 2, "BRANCH_GT": 3, "BRANCH_EQ": 4, "BRANCH_NEQ": 5, "LEAF": 6}

var treeTests = []*ops.Def{ops.LessEqual, ops.Less, ops.GreaterEqual, ops.Greater, ops.Equal, ops.NotEqual}

// ensemble reads the nodes. The roots are the nodes that no other node leads to.
func (x *site) ensemble() *ensemble { return x.ensembleOf(nil) }

// ensembleOf reads nodes; roots has the roots' numbers if it is not nil.
func (x *site) ensembleOf(roots []int) *ensemble {
	trees, ids, features := x.intList("nodes_treeids", nil), x.intList("nodes_nodeids", nil), x.intList("nodes_featureids", nil)
	yes, no, modes := x.intList("nodes_truenodeids", nil), x.intList("nodes_falsenodeids", nil), x.strList("nodes_modes")
	thresholds, missing := x.reals("nodes_values"), x.intList("nodes_missing_value_tracks_true", nil)
	x.attr("nodes_hitrates")
	x.attr("nodes_hitrates_as_tensor")
	n := len(ids)
	if n == 0 || n > maxTreeNodes {
		refuse("%d nodes of trees: expected 1 to %d", n, maxTreeNodes)
	}
	for _, have := range []int{len(trees), len(features), len(yes), len(no), len(modes), len(thresholds)} {
		if have != n {
			refuse("lists of %d and %d nodes", n, have)
		}
	}
	e := &ensemble{at: map[[2]int]int{}, thresholds: thresholds, missing: make([]bool, n)}
	for i := range ids {
		key := [2]int{trees[i], ids[i]}
		if _, twice := e.at[key]; twice {
			refuse("node %d of tree %d is there twice", ids[i], trees[i])
		}
		e.at[key] = i
		mode, ok := treeModes[modes[i]]
		if !ok || features[i] < 0 || features[i] > 1<<24 {
			refuse("node %d of tree %d: mode %s, feature %d", ids[i], trees[i], modes[i], features[i])
		}
		e.modes, e.features = append(e.modes, mode), append(e.features, int32(features[i]))
		e.missing[i] = i < len(missing) && missing[i] != 0
	}
	level := e.link(trees, yes, no)
	if roots != nil {
		level = level[:0]
		for _, r := range roots {
			at, ok := e.at[[2]int{0, r}]
			if !ok || len(level) >= n {
				refuse("root %d of %d nodes", r, n)
			}
			level = append(level, int32(at))
		}
	} else {
		seen := map[int]bool{}
		for _, i := range level {
			if seen[trees[i]] {
				refuse("tree %d has two roots", trees[i])
			}
			seen[trees[i]] = true
		}
	}
	e.measure(level)
	return e
}

// link finds the nodes after each node, and returns the nodes that no other one leads to.
func (e *ensemble) link(trees, yes, no []int) (level []int32) {
	n := len(trees)
	e.yes, e.no = make([]int32, n), make([]int32, n)
	isChild := make([]bool, n)
	for i := range trees {
		e.yes[i], e.no[i] = int32(i), int32(i)
		if e.modes[i] == treeModes["LEAF"] {
			continue
		}
		a, okA := e.at[[2]int{trees[i], yes[i]}]
		b, okB := e.at[[2]int{trees[i], no[i]}]
		if !okA || !okB {
			refuse("a node of tree %d goes on at %d and %d, which are not there", trees[i], yes[i], no[i])
		}
		e.yes[i], e.no[i], isChild[a], isChild[b] = int32(a), int32(b), true, true
	}
	for i := range trees {
		if !isChild[i] {
			level = append(level, int32(i))
		}
	}
	return level
}

// maxTreeSteps bounds the nodes that are visited to find the depth of trees, which may share nodes.
const maxTreeSteps = 1 << 26

// measure notes the roots, and finds the depth of the trees.
func (e *ensemble) measure(level []int32) {
	e.roots = level
	if len(e.roots) == 0 {
		refuse("trees without a root")
	}
	for steps := 0; len(level) > 0; e.depth++ {
		if steps += len(level); steps > maxTreeSteps || e.depth > maxTreeDepth {
			refuse("trees that are deeper than %d, or have circles", maxTreeDepth)
		}
		var next []int32
		for _, i := range level {
			if e.modes[i] != treeModes["LEAF"] {
				next = append(next, e.yes[i], e.no[i])
			}
		}
		slices.Sort(next)
		level = slices.Compact(next)
	}
	e.depth--
}

func (x *site) i32s(list []int32) *value {
	t, _ := tensor.FromSlice(list, len(list))
	return constant(t)
}

// treeType is the type in which trees compare and sum: float64 if the rows are.
func (x *site) treeType() tensor.DType {
	if x.at(0).dtype == tensor.Float64 {
		return tensor.Float64
	}
	return tensor.Float32
}

// reals returns the numbers of an attribute, which may be a list or a tensor.
func (x *site) reals(name string) []float64 {
	if list, ok := x.attr(name).([]float64); ok { // of a node made by treeEnsemble
		return list
	}
	list, t := x.floatList(name), x.tensorOf(name+"_as_tensor")
	if t != nil && len(list) > 0 {
		refuse("attributes %s and %[1]s_as_tensor", name)
	}
	if t != nil {
		return x.realsOf(name+"_as_tensor", t)
	}
	return widened(list)
}

// realsOf returns the numbers of a tensor attribute. It may be float64 if the rows are.
func (x *site) realsOf(name string, t *tensor.Tensor) []float64 {
	switch {
	case t.DType == tensor.Float32:
		return widened(tensor.Values[float32](t))
	case t.DType != tensor.Float64 || x.treeType() != tensor.Float64:
		refuse("attribute %s of type %v for rows of type %v", name, t.DType, x.at(0).dtype)
	}
	return tensor.Values[float64](t)
}

func widened(list []float32) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}

// ofTrees returns a constant of the type in which trees compare and sum.
func (x *site) ofTrees(list []float64, shape ...int) *value {
	if x.treeType() == tensor.Float64 {
		t, err := tensor.FromSlice(list, shape...)
		if err != nil {
			refuse("%d numbers for shape %v", len(list), shape)
		}
		return constant(t)
	}
	short := make([]float32, len(list))
	for i, v := range list {
		short[i] = float32(v)
	}
	return x.floats(short, shape...)
}

// leaves returns the node that each row reaches in each tree, [rows, trees].
func (x *site) leaves(e *ensemble) *value {
	if e.ends == nil {
		e.ends = x.walked(e)
	}
	return e.ends
}

func (x *site) walked(e *ensemble) *value {
	u := x.cast(x.at(0), x.treeType())
	rows := x.size(u, 0)
	at := x.op(ops.BroadcastTo, nil, x.reshape(x.i32s(e.roots), 1, len(e.roots)), x.pack(rows, x.i32(len(e.roots))))
	features, yes, no := x.i32s(e.features), x.i32s(e.yes), x.i32s(e.no)
	thresholds := x.ofTrees(e.thresholds, len(e.thresholds))
	// In the flattened rows, feature f of row r is at r*columns + f.
	columns := x.size(u, 1)
	base := x.op(ops.Mul, nil, x.steps(rows, tensor.Int32, 1), columns)
	flat := x.reshape(u, -1)
	of := func(list *value) *value { return x.op(ops.GatherV2, nil, list, at, x.i32(0)) }
	for range e.depth {
		feature := x.op(ops.GatherV2, nil, flat, x.op(ops.AddV2, nil, base, of(features)), x.i32(0))
		at = x.op(ops.SelectV2, nil, x.asked(e, feature, of(thresholds), of), of(yes), of(no))
	}
	return at
}

// asked reports for each row and tree whether it continues at yes.
func (x *site) asked(e *ensemble, feature, threshold *value, of func(*value) *value) *value {
	var hit *value
	modes := slices.Compact(slices.Sorted(slices.Values(e.modes)))
	for _, m := range modes {
		if int(m) >= len(treeTests) { // leaves have no test
			continue
		}
		test := x.op(treeTests[m], nil, feature, threshold)
		if hit == nil {
			hit = test
		} else {
			hit = x.op(ops.SelectV2, nil, x.op(ops.Equal, nil, of(x.i32s(e.modes)), x.i32(int(m))), test, hit)
		}
	}
	if slices.Contains(e.missing, true) {
		t := tensor.New(tensor.Bool, len(e.missing))
		for i, m := range e.missing {
			if m {
				t.Bytes[i] = 1
			}
		}
		lost := x.op(ops.LogicalAnd, nil, x.op(ops.IsNan, nil, feature), of(constant(t)))
		hit = x.op(ops.LogicalOr, nil, hit, lost)
	}
	return hit
}

// summed returns the sum, or another aggregate, of the trees' values for n targets, [rows, targets].
func (x *site) summed(e *ensemble, kind string, n int, how string) *value {
	trees, nodes, targets, weights := x.intList(kind+"_treeids", nil), x.intList(kind+"_nodeids", nil), x.intList(kind+"_ids", nil), x.reals(kind+"_weights")
	if len(trees) != len(weights) || len(nodes) != len(weights) || len(targets) != len(weights) || n < 1 || n > maxTreeNodes/max(len(e.yes), 1) {
		refuse("%d weights of %d targets", len(weights), n)
	}
	x.t.pay(12 * n * len(e.yes))
	table := make([]float64, n*len(e.yes))
	none := 0.0 // the value of a node without a weight for a target
	if n > 1 {
		none = map[string]float64{"MIN": math.Inf(1), "MAX": math.Inf(-1)}[how]
	}
	given := make(map[int]bool, len(weights))
	for i := range table {
		table[i] = none
	}
	for i, w := range weights {
		at, ok := e.at[[2]int{trees[i], nodes[i]}]
		if !ok || targets[i] < 0 || targets[i] >= n {
			refuse("a weight of node %d of tree %d for target %d", nodes[i], trees[i], targets[i])
		}
		if cell := at*n + targets[i]; given[cell] {
			table[cell] += w
		} else {
			given[cell], table[cell] = true, w
		}
	}
	each := x.op(ops.GatherV2, nil, x.ofTrees(table, len(e.yes), n), x.leaves(e), x.i32(0)) // [rows, trees, targets]
	switch how {
	case "SUM":
		return x.op(ops.Sum, nil, each, x.i32(1))
	case "AVERAGE":
		return x.op(ops.Mean, nil, each, x.i32(1))
	case "MIN":
		return x.reached(x.op(ops.Min, nil, each, x.i32(1)))
	case "MAX":
		return x.reached(x.op(ops.Max, nil, each, x.i32(1)))
	}
	refuse("aggregate_function %s", how)
	return nil
}

// reached returns 0 for targets for which no tree has a weight.
func (x *site) reached(y *value) *value {
	return x.op(ops.SelectV2, nil, x.op(ops.IsInf, nil, y), x.scalar(y.dtype, 0), y)
}

// weighed reports which of several targets any leaf of a row has a weight for, [rows, targets]: ONNX Runtime leaves the others at 0, without their base
// value. nil: all, whatever the row is.
func (x *site) weighed(e *ensemble, n int) *value {
	if n == 1 {
		return nil
	}
	x.t.pay(12 * n * len(e.yes))
	table := make([]float64, n*len(e.yes))
	trees, nodes, targets := x.intList("target_treeids", nil), x.intList("target_nodeids", nil), x.intList("target_ids", nil)
	for i := range trees {
		table[e.at[[2]int{trees[i], nodes[i]}]*n+targets[i]] = 1
	}
	if e.weighAll(table, n) {
		return nil
	}
	each := x.op(ops.GatherV2, nil, x.ofTrees(table, len(e.yes), n), x.leaves(e), x.i32(0))
	return x.op(ops.Greater, nil, x.op(ops.Max, nil, each, x.i32(1)), x.scalar(each.dtype, 0))
}

// weighAll reports whether there is for each of n targets a tree whose leaves all have a weight for it.
func (e *ensemble) weighAll(table []float64, n int) bool {
	sure := make([]bool, n)
	for _, root := range e.roots {
		here := slices.Repeat([]bool{true}, n)
		for _, leaf := range e.under(root) {
			for t := range n {
				here[t] = here[t] && table[int(leaf)*n+t] != 0
			}
		}
		for t := range n {
			sure[t] = sure[t] || here[t]
		}
	}
	return !slices.Contains(sure, false)
}

// under are the leaves below a node.
func (e *ensemble) under(root int32) (leaves []int32) {
	seen, open := map[int32]bool{root: true}, []int32{root}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if e.modes[i] == treeModes["LEAF"] {
			leaves = append(leaves, i)
			continue
		}
		for _, next := range []int32{e.yes[i], e.no[i]} {
			if !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	return leaves
}

func treeRegressor(x *site) *value {
	n := x.int("n_targets", 1)
	e := x.ensemble()
	y := x.summed(e, "target", n, x.str("aggregate_function", "SUM"))
	if base := x.reals("base_values"); len(base) > 0 {
		y = x.op(ops.AddV2, nil, y, x.ofTrees(base, len(base)))
		if weighed := x.weighed(e, n); weighed != nil {
			y = x.op(ops.SelectV2, nil, weighed, y, x.scalar(y.dtype, 0))
		}
	}
	return x.cast(x.regressed(y, n), tensor.Float32)
}

// treeClassifier returns labels and scores as ONNX Runtime does. Of two classes it chooses the second if its score is above 0, or above
// 0.5 if only one class has weights, and none is negative. If only the first class has weights, its score s is the second's, and the first
// has 1-s or -s.
func treeClassifier(x *site) []*value {
	labels := x.labels()
	n := labels.t.Len()
	y := x.summed(x.ensemble(), "class", n, "SUM")
	base := x.reals("base_values")
	ids := slices.Compact(slices.Sorted(slices.Values(x.intList("class_ids", nil))))
	positive := len(ids) == 1 && !slices.ContainsFunc(x.reals("class_weights"), func(w float64) bool { return w < 0 })
	if n == 2 && len(ids) != 1 && labels.dtype == tensor.Int64 {
		labels = constant(x.longs(0, 1)) // whatever the names are, as in ONNX Runtime
	}
	threshold := 0.0
	if positive {
		threshold = 0.5
	}
	alone := n == 2 && len(ids) == 1 && ids[0] == 0
	if len(base) > 0 && len(base) != n && !(alone && len(base) == 1) || n == 2 && len(ids) == 1 && len(base) == 2 {
		refuse("%d base_values for %d classes", len(base), n)
	}
	if len(base) == n {
		y = x.op(ops.AddV2, nil, y, x.ofTrees(base, n))
	}
	column := func(i int) *value {
		return x.op(ops.StridedSlice, graph.Attrs{"begin_mask": int64(1), "end_mask": int64(1)}, y, x.ints(0, i), x.ints(0, i+1), x.ints(1, 1))
	}
	switch {
	case n != 2:
		return []*value{x.named(labels, y), x.cast(x.transformed(y), tensor.Float32)}
	case !alone:
		return []*value{x.above(labels, column(1), threshold), x.cast(x.transformed(y), tensor.Float32)}
	}
	score := column(0)
	if len(base) == 1 {
		score = x.plus(score, base[0])
	}
	label := x.above(labels, score, threshold)
	if positive {
		return []*value{label, x.cast(x.bothOf(score), tensor.Float32)}
	}
	scores := x.concat(1, x.op(ops.Neg, nil, score), score)
	if x.str("post_transform", "NONE") == "LOGISTIC" {
		scores = x.op(ops.Sigmoid, nil, scores)
	}
	return []*value{label, x.cast(scores, tensor.Float32)}
}
