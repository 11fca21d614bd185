package describe

import (
	"math"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// Description describes a table.
type Description struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Rows   int64  `json:"rows"`
	// Duplicates counts rows that equal an earlier one, among Compared rows.
	Duplicates int64 `json:"duplicates"`
	Compared   int64 `json:"compared"`
	// Sampled is the number of randomly drawn rows from which histograms and relations to the label are computed.
	Sampled int      `json:"sampled"`
	Columns []Column `json:"columns"`
	Label   *Label   `json:"label,omitempty"`
	Hints   []string `json:"hints"`
}

// Column describes a column.
type Column struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Use     string `json:"use"`              // how models use it
	Reason  string `json:"reason,omitempty"` // why it is left out
	Missing int64  `json:"missing"`
	// Marks are the texts, besides the empty one, that stand for missing values.
	Marks []string `json:"marks,omitempty"`
	// Distinct is the number of different values; a lower bound unless Exact.
	Distinct int      `json:"distinct"`
	Exact    bool     `json:"exact"`
	Numbers  *Numbers `json:"numbers,omitempty"`
	Top      []Value  `json:"top"` // the most frequent values; approximate if there are too many to count
	Relation *Related `json:"relation,omitempty"`
}

// Numbers are statistics of numbers. Quantiles are approximate for many numbers.
type Numbers struct {
	Min       float64     `json:"min"`
	Max       float64     `json:"max"`
	Mean      float64     `json:"mean"`
	Std       float64     `json:"std"`
	Quantiles [5]float64  `json:"quantiles"` // at 5, 25, 50, 75 and 95 %
	Histogram []Histogram `json:"histogram"` // of the sample
}

// Histogram is a bar: the count of numbers in [From, To).
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
	Correlation *float64 `json:"correlation,omitempty"` // Pearson's, if both are numbers or one has two classes
	Alone       float64  `json:"alone"`                 // share of right classes, or of explained variance, with only this column
	Guess       float64  `json:"guess"`                 // the same without any column
}

// Label is the column to predict.
type Label struct {
	Name    string  `json:"name"`
	Task    string  `json:"task"`
	Classes []Value `json:"classes,omitempty"`
}

// bars is the number of bars in a histogram.
const bars = 24

// uses are the names for uses of columns.
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

// finiteNumbers is n, or nil if a statistic is not finite, as with very large numbers.
func finiteNumbers(n *Numbers) *Numbers {
	for _, v := range append([]float64{n.Min, n.Max, n.Mean, n.Std}, n.Quantiles[:]...) {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
	}
	return n
}
