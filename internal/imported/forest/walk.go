package forest

import (
	"math"
	"slices"

	y "github.com/goestimator/goestimator/internal/format/yggdrasil"
)

// row is an example as the engine sees it, by column.
type row struct {
	numbers    []float32 // numbers, and truths as 0 or 1; NaN: missing
	categories []int32   // -1: missing
	sets       [][]int32 // a set that begins with -1 is missing
}

func (f *Forest) newRow() *row {
	n := len(f.Columns)
	return &row{make([]float32, n), make([]int32, n), make([][]int32, n)}
}

// number returns a number as the engine sees it.
func (f *Forest) number(column int, v float32) float32 {
	if v != v && f.imputes {
		return f.mean[column]
	}
	return v
}

// truth returns a truth as the engine sees it.
func (f *Forest) truth(column int, v float32) float32 {
	switch {
	case f.engine == slow && v != v:
		return v
	case f.engine == slow:
		return truth(v >= 0.5)
	case v != v:
		return f.mean[column]
	}
	return truth(v != 0)
}

// category returns a category as the engine sees it: 0 if the model does not know it.
func (f *Forest) category(column int, v int32) int32 {
	c := &f.Columns[column]
	switch {
	case v == -1 && f.engine != slow:
		return int32(c.MostFrequent)
	case v < -1 || int(v) >= c.Categories:
		return 0
	}
	return v
}

// leaf returns the leaf of a tree that an example reaches.
func (f *Forest) leaf(root int32, x *row) int32 {
	at := root
	for {
		n := &f.Nodes[at]
		if n.Test == y.Leaf {
			return at
		}
		if f.holds(n, x) {
			at = n.Positive
		} else {
			at++
		}
	}
}

// holds reports whether a condition holds.
func (f *Forest) holds(n *y.Node, x *row) bool {
	switch n.Test {
	case y.Higher, y.HigherBin:
		if v := x.numbers[n.Column]; v == v {
			return v >= n.Threshold
		}
	case y.True:
		if v := x.numbers[n.Column]; v == v {
			return v >= 0.5
		}
	case y.AnyOf, y.AnyBit:
		if f.Columns[n.Column].Kind == y.Set {
			return f.anyAmong(n, x.sets[n.Column])
		}
		if v := x.categories[n.Column]; v >= 0 {
			return f.among(n, v)
		}
	case y.Oblique:
		return f.oblique(n, x)
	case y.Missing:
		return f.missing(int(n.Column), x)
	}
	return n.WhenNA
}

// among reports whether a category is in a condition's set.
func (f *Forest) among(n *y.Node, v int32) bool {
	if n.Test == y.AnyOf {
		_, found := slices.BinarySearch(f.Elements[n.First:n.End], v)
		return found
	}
	bits := f.Bitmaps[n.First:n.End]
	return v >= 0 && int(v)/8 < len(bits) && bits[v/8]>>(v%8)&1 == 1
}

// anyAmong reports whether any element of set is. A missing element is treated as the condition treats missing sets.
func (f *Forest) anyAmong(n *y.Node, set []int32) bool {
	for _, v := range set {
		if v < 0 && n.WhenNA || v >= 0 && f.among(n, v) {
			return true
		}
	}
	return false
}

// oblique reports whether a weighted sum of columns reaches the threshold.
func (f *Forest) oblique(n *y.Node, x *row) bool {
	columns := f.Elements[n.First:n.End]
	weights := f.Weights[n.FirstWeight:][:len(columns)]
	var sum float32
	for i, c := range columns {
		v := x.numbers[c]
		if v != v && f.engine == slow {
			if !n.Replaces {
				return n.WhenNA
			}
			v = f.Weights[int(n.FirstWeight)+len(columns)+i]
		}
		sum += float32(v * weights[i])
	}
	return sum >= n.Threshold
}

// missing reports whether the value of a column is missing.
func (f *Forest) missing(column int, x *row) bool {
	switch f.Columns[column].Kind {
	case y.Categorical:
		return x.categories[column] < 0
	case y.Set:
		return len(x.sets[column]) > 0 && x.sets[column][0] < 0
	}
	return math.IsNaN(float64(x.numbers[column]))
}
