package forest

import (
	"errors"
	"fmt"
	"strconv"

	y "github.com/goestimator/goestimator/internal/format/yggdrasil"
)

// Forest is a model that predicts. It is safe for concurrent use.
type Forest struct {
	*y.Model
	engine  engine
	imputes bool // missing numbers are replaced by the means of their columns
	sums    sums
	names   []string
	banks   [banks][]int // columns of the features of each bank
	mean    []float32    // what replaces missing numbers and truths, by column
	threads
}

// The banks that features are given in, each with its columns in the order of the model's features.
const (
	numbers = iota
	truths
	categories
	sets
	banks
)

// New prepares a model, which then belongs to the forest. With leaves, the forest uses the slow engine, as the library does for
// models whose leaves are asked for.
func New(m *y.Model, leaves bool) (*Forest, error) {
	f := &Forest{Model: m, mean: make([]float32, len(m.Columns))}
	for _, c := range m.Inputs {
		bank := map[y.Kind]int{y.Numerical: numbers, y.Discretized: numbers, y.Boolean: truths, y.Categorical: categories, y.Set: sets}[m.Columns[c].Kind]
		f.banks[bank] = append(f.banks[bank], c)
	}
	if !leaves {
		f.engine = f.choose()
	}
	f.replace()
	f.names = f.outputNames()
	f.sums = f.newSums()
	switch width := f.sums.width; {
	case width < 1:
		return nil, errors.New("the model has no outputs")
	case f.Task >= y.CategoricalUplift && width > f.Effects:
		return nil, fmt.Errorf("leaves have effects of %d treatments: expected %d", f.Effects, width)
	}
	return f, nil
}

// Trees returns the number of trees.
func (f *Forest) Trees() int { return len(f.Roots) }

// Features returns the number of features of each bank: numbers, truths, categories, sets.
func (f *Forest) Features() (n [banks]int) {
	for i := range n {
		n[i] = len(f.banks[i])
	}
	return n
}

// Names returns the names of the outputs: the classes, or "logit", or "".
func (f *Forest) Names() []string { return f.names }

// classes is the number of classes of the label.
func (f *Forest) classes() int { return f.Columns[f.Label].Categories - 1 }

func (f *Forest) outputNames() []string {
	if f.Task != y.Classification {
		return []string{""}
	}
	if f.classes() == 2 && !f.Probabilities {
		return []string{"logit"}
	}
	label := &f.Columns[f.Label]
	words := map[int64]string{}
	for _, w := range label.Words {
		words[w.Index] = w.Text
	}
	var names []string
	for i := 1; i <= min(f.classes(), maxNames); i++ {
		name, ok := words[int64(i)]
		switch {
		case label.Integers:
			name = strconv.Itoa(i)
		case !ok:
			name = fmt.Sprintf("NA(%d)", i)
		}
		names = append(names, name)
	}
	return names
}

// maxNames bounds the number of class names, which a damaged file may state.
const maxNames = 1 << 20

// replace prepares the values that the engine puts in place of missing ones. All fast engines replace truths and categories.
func (f *Forest) replace() {
	if f.engine == slow {
		return
	}
	f.imputes = f.structure().imputesAll
	for _, c := range f.banks[numbers] {
		f.mean[c] = float32(f.Columns[c].Mean)
	}
	for _, c := range f.banks[truths] {
		f.mean[c] = truth(f.Columns[c].True >= f.Columns[c].False)
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if f.imputes || f.engine == quickScorer && n.Test == y.HigherBin { // the quick scorer does not check
			switch n.Test {
			case y.Higher, y.HigherBin:
				n.WhenNA = false
			}
		}
	}
}

func truth(b bool) float32 {
	if b {
		return 1
	}
	return 0
}
