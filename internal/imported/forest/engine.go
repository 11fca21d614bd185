package forest

import (
	"slices"

	y "github.com/goestimator/goestimator/internal/format/yggdrasil"
)

// engine is one of the library's implementations of prediction.
type engine int

const (
	slow        engine = iota // takes every model
	generic                   // walks trees as they are
	compact                   // only numbers and small categorical features, no missing values: "OptPred"
	quickScorer               // small boosted trees: "QuickScorerExtended"
)

// Limits of engines.
const (
	maxQuickLeaves   = 64
	maxQuickTrees    = 1<<16 - 1
	maxCompactLeaves = 1<<16 - 1
	maxCompactWords  = 32
	maxOffset        = 1<<16 - 1 // nodes between a node and its positive child
)

// choose returns the engine that the library takes for a model. If the best engine that claims to support it then fails, it takes the slow one.
func (f *Forest) choose() engine {
	fits := f.structure()
	if f.Boosted {
		return f.chooseBoosted(fits)
	}
	single := f.Task == y.Regression || f.Task == y.Classification && f.classes() == 2
	switch {
	case !fits.imputesOthers, fits.has(y.Missing), !f.votes(), f.Task == y.NumericalUplift && f.Effects != 1:
		return slow
	case single && fits.imputesAll && fits.compact:
		return compact
	}
	return generic
}

func (f *Forest) chooseBoosted(fits structure) engine {
	single := f.Task != y.Classification || f.classes() == 2
	binary := f.Loss == y.BinomialLogLikelihood || f.Loss == y.BinaryFocal
	switch {
	case !fits.imputesOthers:
		return slow
	case single && fits.leaves <= maxQuickLeaves && len(f.Roots) <= maxQuickTrees && !fits.has(y.Missing, y.Oblique):
		if f.Task == y.Classification && (!binary || len(f.Initial) != 1) || f.Task == y.Ranking && f.Loss != y.LambdaMART && f.Loss != y.CrossEntropyNDCG {
			return slow
		}
		return quickScorer
	case f.Loss == y.Poisson, len(f.Initial) != 1 && f.Loss != y.MultinomialLogLikelihood:
		return slow
	case f.Task == y.Classification && binary != single, f.Task == y.Regression && f.Loss != y.SquaredError, f.Task == y.Ranking && f.Loss != y.LambdaMART:
		return slow
	case single && fits.imputesAll && fits.compact:
		return compact
	case fits.has(y.Missing), fits.tooFar && (f.Task != y.Classification || !single || fits.nodes < maxOffset):
		return slow
	}
	return generic
}

// votes reports whether fast engines take the class votes of a random forest's leaves: no leaf may vote for an out-of-dictionary class.
func (f *Forest) votes() bool {
	if f.Task != y.Classification || !f.WinnerTakeAll {
		return true
	}
	return !slices.ContainsFunc(f.Nodes, func(n y.Node) bool { return n.Test == y.Leaf && n.Class == 0 })
}

// structure is what the engines need to know about a model.
type structure struct {
	// Conditions treat a missing value like the column's mean, or most frequent value: all of them do, or all except conditions
	// on numbers.
	imputesAll, imputesOthers bool

	compact bool // the compact engine supports all features and conditions
	tests   [y.Oblique + 1]bool
	leaves  int  // of the largest tree
	nodes   int  // of the largest tree
	tooFar  bool // a positive child is too far from its node for 16 bits
}

func (s structure) has(tests ...y.Test) bool {
	return slices.ContainsFunc(tests, func(t y.Test) bool { return s.tests[t] })
}

func (f *Forest) structure() structure {
	s := structure{imputesAll: true, imputesOthers: true, compact: true}
	for i, root := range f.Roots {
		end := len(f.Nodes)
		if i+1 < len(f.Roots) {
			end = int(f.Roots[i+1])
		}
		tree := f.Nodes[root:end]
		s.nodes, s.leaves = max(s.nodes, len(tree)), max(s.leaves, (len(tree)+1)/2)
		for k, n := range tree {
			s.tests[n.Test] = true
			s.tooFar = s.tooFar || n.Test != y.Leaf && int(n.Positive)-int(root)-k >= maxOffset
		}
		s.imputesAll = s.imputesAll && f.agrees(root, true)
		s.imputesOthers = s.imputesOthers && f.agrees(root, false)
	}
	for _, c := range f.Inputs {
		column := &f.Columns[c]
		if column.Kind != y.Numerical && (column.Kind != y.Categorical || column.Categories > maxCompactWords) {
			s.compact = false
		}
	}
	s.compact = s.compact && s.leaves <= maxCompactLeaves && !s.tooFar && !s.has(y.Missing, y.HigherBin, y.Oblique)
	return s
}

// agrees reports whether the conditions of a tree treat missing values like the values that replace them. As in the
// library, conditions below an oblique one are not checked.
func (f *Forest) agrees(root int32, numbers bool) bool {
	for open := []int32{root}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		n := &f.Nodes[at]
		c := &f.Columns[n.Column]
		says := n.WhenNA
		switch n.Test {
		case y.Leaf, y.Oblique:
			continue
		case y.Higher:
			if numbers {
				says = float32(c.Mean) >= n.Threshold
			}
		case y.HigherBin:
			if numbers {
				says = c.Mean >= float64(n.Threshold)
			}
		case y.True:
			says = c.True >= c.False
		case y.AnyOf, y.AnyBit:
			if c.Kind == y.Categorical {
				says = f.among(n, int32(c.MostFrequent))
			}
		}
		if says != n.WhenNA {
			return false
		}
		open = append(open, n.Positive, at+1)
	}
	return true
}
