package describe

import (
	"math"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// Description is what is known of a table.
type Description struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Rows   int64  `json:"rows"`
	// Duplicates are the rows that are equal to an earlier one, among Compared rows.
	Duplicates int64 `json:"duplicates"`
	Compared   int64 `json:"compared"`
	// Sampled is how many rows, drawn at random, histograms and relations to the label are computed of.
	Sampled int      `json:"sampled"`
	Columns []Column `json:"columns"`
	Label   *Label   `json:"label,omitempty"`
	Hints   []string `json:"hints"`
}

// Column is what is known of a column.
type Column struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Use     string `json:"use"`              // what it is to a model
	Reason  string `json:"reason,omitempty"` // why it is left out
	Missing int64  `json:"missing"`
	// Marks are the cells, besides empty ones, that stand for missing values.
	Marks []string `json:"marks,omitempty"`
	// Distinct is the number of different values, at least so many where it is not Exact.
	Distinct int      `json:"distinct"`
	Exact    bool     `json:"exact"`
	Numbers  *Numbers `json:"numbers,omitempty"`
	Top      []Value  `json:"top"` // the most frequent values; of more values than are counted about so often
	Relation *Related `json:"relation,omitempty"`
}

// Numbers are the statistics of numbers. Quantiles are approximate where there are many numbers.
type Numbers struct {
	Min       float64     `json:"min"`
	Max       float64     `json:"max"`
	Mean      float64     `json:"mean"`
	Std       float64     `json:"std"`
	Quantiles [5]float64  `json:"quantiles"` // at 5, 25, 50, 75 and 95 %
	Histogram []Histogram `json:"histogram"` // of the sample
}

// Histogram is a bar: how many numbers lie from From on, below To.
type Histogram struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
}

// Value is a value with its count.
type Value struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// Related says how a column relates to the label.
type Related struct {
	Correlation *float64 `json:"correlation,omitempty"` // Pearson's, where both are numbers or one has two classes
	Alone       float64  `json:"alone"`                 // share of right classes, or of explained variance, by the column alone
	Guess       float64  `json:"guess"`                 // the same without any column
}

// Label is the column to predict.
type Label struct {
	Name    string  `json:"name"`
	Task    string  `json:"task"`
	Classes []Value `json:"classes,omitempty"`
}

// bars is how many bars a histogram has.
const bars = 24

// uses are the words for uses of columns.
var uses = map[tabular.Use]string{tabular.LeftOut: "left out", tabular.Numeric: "number", tabular.Category: "category", tabular.Texts: "texts", tabular.Dates: "date", tabular.LabelUse: "label"}

// New describes a table.
func New(p *tabular.Profile) *Description {
	d := &Description{Path: p.Path, Format: p.Form.Format, Rows: p.Rows, Duplicates: p.Duplicates, Compared: p.Compared, Sampled: p.Sampled, Hints: append([]string{}, p.Hints()...)}
	used, reasons := p.Uses()
	relations := p.Relations()
	for i, c := range p.Columns {
		out := Column{Name: c.Name, Kind: c.Kind.String(), Use: uses[used[i]], Reason: reasons[i], Missing: c.Missing, Marks: c.Marks, Distinct: c.Distinct, Exact: c.Exact, Top: []Value{}}
		for _, e := range c.Top {
			out.Top = append(out.Top, Value{e.Value, e.Count})
		}
		if c.Kind == tabular.Number && !math.IsInf(c.Min, 0) && !math.IsInf(c.Max, 0) {
			n := &Numbers{Min: c.Min, Max: c.Max, Mean: c.Mean, Std: c.Std, Quantiles: c.Quantiles, Histogram: []Histogram{}}
			edges, counts := p.Histogram(i, bars)
			for k, count := range counts {
				n.Histogram = append(n.Histogram, Histogram{edges[k], edges[k+1], count})
			}
			out.Numbers = finiteNumbers(n)
		}
		if p.Label != nil && p.Label.Column != i && readable(c.Kind) {
			out.Relation = &Related{Alone: relations[i].Alone, Guess: relations[i].Guess}
			if r := relations[i].Correlation; !math.IsNaN(r) {
				out.Relation.Correlation = &r
			}
		}
		d.Columns = append(d.Columns, out)
	}
	if p.Label != nil {
		d.Label = &Label{Name: p.Columns[p.Label.Column].Name, Task: string(p.Label.Task)}
		for _, e := range p.Label.Classes {
			d.Label.Classes = append(d.Label.Classes, Value{e.Value, e.Count})
		}
	}
	return d
}

func readable(k tabular.Kind) bool {
	return k != tabular.Nested && k != tabular.Unreadable && k != tabular.Empty
}

// finiteNumbers is n, or nil where a sum of very large numbers is not finite.
func finiteNumbers(n *Numbers) *Numbers {
	for _, v := range append([]float64{n.Min, n.Max, n.Mean, n.Std}, n.Quantiles[:]...) {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
	}
	return n
}
