package cli

import (
	"fmt"
	"slices"
)

// forest has the settings of boosted trees. l2 and leaf are weights, in examples.
type forest struct {
	trees, depth int
	rate         float64
	l2, leaf     float64
	columns      float64 // share of the columns that each tree may split on
	own          bool    // trees is per class, and each class has its own
}

// known are forests that suit many tables, most often the best one first. Forests with separate trees for each class train faster.
func (d *draft) known() []forest {
	list := append(d.own(), d.shared()...)
	if d.regression() {
		return list
	}
	for i := range list { // a leaf of more than a quarter of the rows leaves little to split
		list[i].leaf = min(list[i].leaf, d.leaf(float64(d.trainRows())/4))
	}
	return list
}

// own are forests with separate trees for each class; none for two classes or regression.
func (d *draft) own() []forest {
	share := 0.6
	if d.manyColumns() {
		share = 0.1
	}
	noisy, deep, fast := forest{100, 6, 0.04, 1, 1, share, true}, forest{100, 8, 0.03, 0.1, 0.1, share, true}, d.fewerTrees(forest{50, 6, 0.15, 1, 0.1, share, true})
	list := []forest{noisy, deep, fast}
	if d.trainRows() >= 3000 { // the fastest first
		list = []forest{fast, noisy, deep}
	}
	return slices.DeleteFunc(list, func(f forest) bool { return !d.holds(f) })
}

// fewestTrees is the least number of trees for a class.
const fewestTrees = 25

// fewerTrees reduces a forest with separate trees to the number of trees that can be written, unless too few would be left.
func (d *draft) fewerTrees(f forest) forest {
	classes := max(len(d.p.Label.Classes), 1)
	if most := mostNodeValues / (classes * classes << (f.depth + 1)); most >= fewestTrees {
		f.trees = min(f.trees, most)
	}
	return f
}

// mostNodeValues limits the numbers in the nodes of a forest: even a tree of one class stores a value for every class.
const mostNodeValues = 10_000_000

// holds reports whether a forest can be written for the classes of the label.
func (d *draft) holds(f forest) bool {
	classes := len(d.p.Label.Classes)
	return !f.own || classes > 2 && f.trees*classes*classes<<(f.depth+1) <= mostNodeValues
}

// shared are forests in which a tree serves all classes.
func (d *draft) shared() []forest {
	if d.trainRows() >= 3000 && d.manyColumns() {
		return []forest{{300, 6, 0.03, 1, 4, 0.2, false}, {150, 5, 0.03, 1, 4, 1, false}, {300, 6, 0.03, 1, 4, 1, false}}
	}
	if d.trainRows() >= 3000 {
		return []forest{{300, 6, 0.03, 1, 4, 1, false}, {100, 3, 0.03, 1, 4, 1, false}, {600, 7, 0.02, 1, 4, 0.6, false}, {150, 5, 0.03, 1, 4, 1, false}, {300, 6, 0.1, 1, 4, 1, false}}
	}
	smooth := forest{300, 6, 0.03, 10, d.leaf(20), 1, false}
	if d.width() > 100 { // easy to overfit
		list := []forest{smooth, {150, 4, 0.02, 1, 4, 1, false}, {600, 4, 0.03, 10, d.leaf(20), 1, false}}
		if d.manyColumns() {
			drawn := smooth
			drawn.columns = 0.2
			list = append([]forest{drawn}, list...)
		}
		return list
	}
	few := []forest{{150, 4, 0.02, 1, 4, 1, false}, {300, 6, 0.1, 1, 4, 1, false}, smooth, {100, 3, 0.03, 1, 4, 1, false}, {60, 2, 0.05, 1, 4, 1, false}, {300, 4, 0.02, 1, 4, 1, false}, {150, 6, 0.015, 1, 4, 1, false}}
	if d.trainRows() >= 1000 { // enough for deep trees, which come first in case time is short
		few = append([]forest{{300, 6, 0.03, 1, 4, 1, false}}, few...)
	}
	return few
}

// leaf is the weight of a leaf with so many examples. In classification an example weighs p (1 - p), at most a quarter.
func (d *draft) leaf(examples float64) float64 {
	if d.regression() {
		return examples
	}
	return examples / 4
}

// near are variations of a forest, which may be better.
func (d *draft) near(f forest) []forest {
	more, deeper, flatter, smooth, large, fine, faster, fewer := f, f, f, f, f, f, f, f
	more.trees, deeper.depth, flatter.depth = 2*f.trees, f.depth+1, f.depth-1
	smooth.l2, large.leaf = 10*f.l2, 3*f.leaf
	fine.l2, fine.leaf = f.l2/10, f.leaf/10
	faster.rate = 3 * f.rate // for data with little noise
	fewer.columns = map[float64]float64{1: 0.6, 0.6: 0.4, 0.4: 0.2, 0.2: 0.1, 0.1: 0.1}[f.columns]
	out := []forest{more, fewer, smooth, fine, large, deeper, faster}
	if f.columns < 1 {
		all := f
		all.columns = 1
		out = append(out, all)
	}
	if f.depth > 2 {
		out = append(out, flatter)
	}
	return slices.DeleteFunc(out, func(g forest) bool {
		return !d.holds(g) || g.trees > 1200 || g.rate > 0.2 || g.depth > 9 || g.l2 > 100 || g.l2 < 0.01 || g.leaf > max(f.leaf, float64(d.trainRows())/10)
	})
}

// boosted is a forest as a candidate.
func (d *draft) boosted(f forest) candidate {
	each := ""
	if f.own {
		each = " for each class"
	}
	what := fmt.Sprintf("boosted trees (%d trees%s of depth %d, rate %g", f.trees, each, f.depth, f.rate)
	if f.l2 != 1 || f.leaf != 4 {
		what += fmt.Sprintf(", l2 %g, leaf %g", f.l2, f.leaf)
	}
	if f.columns != 1 {
		what += fmt.Sprintf(", columns %g", f.columns)
	}
	return candidate{name: "boosted_trees_" + d.kind(), forest: f, what: what + ")"}
}

// quickForests need a thirtieth, a tenth and a third of the usual time, and are less accurate.
var quickForests = []forest{{20, 3, 0.3, 1, 4, 1, false}, {45, 4, 0.2, 1, 4, 1, false}, {100, 6, 0.1, 1, 4, 1, false}}

// quickForests are the quick forests that suit a table. With many columns, each tree gets a share of them; classes have their own trees if possible.
func (d *draft) quickForests() []forest {
	list := slices.Clone(quickForests)
	for i := range list {
		if d.manyColumns() {
			list[i].columns = 0.1
		}
		own := list[i]
		own.own, own.trees, own.leaf, own.rate = true, own.trees/2, 0.1, max(own.rate, 0.15) // examples of rare classes weigh little
		if own = d.fewerTrees(own); d.holds(own) {
			list[i] = own
		}
	}
	return list
}
