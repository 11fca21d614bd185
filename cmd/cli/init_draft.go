package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// draft is a config for a table that is being written.
type draft struct {
	p        *tabular.Profile
	modelDir string
	uses     []tabular.Use
	reasons  []string
	folds    int
	held     int // rows of the fold that is held out
	model    candidate
	tried    []candidate
	why      string
}

const (
	mostNumbers = 150_000_000 // numbers of examples in memory
	treeValues  = 120         // values of a category that trees tell apart
	// fewestNetValues and mostNetValues bound the values of a category that networks tell apart: one for each rowsOfValue rows of the table.
	fewestNetValues = 1000
	mostNetValues   = 20_000
	rowsOfValue     = 20
	treeWords       = 256 // words that trees tell apart
	netWords        = 8192
	otherWords      = 256 // buckets of words outside the vocabulary
	oneHotValues    = 24
)

// One row of so many is held out. The numbers are prime, since rows often have a period of ten, twelve or seven.
const (
	someFolds = 11
	manyFolds = 23
)

// newDraft decides how a table is read and split.
func newDraft(p *tabular.Profile, modelDir string) (*draft, error) {
	d, folds := &draft{p: p, modelDir: modelDir}, someFolds
	if p.Labelled() < 50 {
		folds = 5
	}
	if p.Labelled() < 10 {
		return nil, fmt.Errorf("%s has %d rows with a label: expected at least 10, some to train on and some to compare models on", p.Path, p.Labelled())
	}
	d.holdOut(folds)
	d.uses, d.reasons = p.Uses()
	if !slices.ContainsFunc(d.uses, func(u tabular.Use) bool { return isFeature(u) }) {
		if len(p.Columns) == 1 {
			return nil, fmt.Errorf("%s has the label alone: expected columns to predict it from", p.Path)
		}
		var why []string
		for i, r := range d.reasons {
			if r != "" {
				why = append(why, p.Columns[i].Name+": "+r)
			}
		}
		return nil, fmt.Errorf("%s has no column of use to a model (%s)", p.Path, strings.Join(why, "; "))
	}
	return d, nil
}

// holdOut holds out one fold of folds.
func (d *draft) holdOut(folds int) {
	d.folds = folds
	d.held = int((d.p.Labelled() + int64(folds) - 1) / int64(folds))
}

// trainOnMore holds out fewer rows than the search, whose folds have measured the model. Networks keep theirs, to stop early.
func (d *draft) trainOnMore() {
	if !d.model.network() && d.p.Labelled() >= 200 {
		d.holdOut(manyFolds)
	}
}

// isFeature reports whether models read columns with this use.
func isFeature(u tabular.Use) bool {
	return u == tabular.Numeric || u == tabular.Category || u == tabular.Texts || u == tabular.Dates
}

func (d *draft) label() tabular.Column { return d.p.Columns[d.p.Label.Column] }

func (d *draft) regression() bool { return d.p.Label.Task == tabular.Regression }

// metric is the metric that candidates are compared by.
func (d *draft) metric() string {
	if d.regression() {
		return "rmse"
	}
	return "average_loss"
}

// labelText describes the label in one line.
func (d *draft) labelText() string {
	l := d.p.Label
	if d.regression() {
		c := d.label()
		return fmt.Sprintf("%s, from %.6g to %.6g", l.Task, c.Min, c.Max)
	}
	var parts []string
	for i, e := range l.Classes {
		if i == 10 {
			parts = append(parts, fmt.Sprintf("... (%d classes)", len(l.Classes)))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %.1f %%", e.Value, 100*float64(e.Count)/float64(d.p.Labelled())))
	}
	return fmt.Sprintf("%s, %s", l.Task, strings.Join(parts, ", "))
}

// notes are what users should know about the data.
func (d *draft) notes() []string {
	var out []string
	for i, r := range d.reasons {
		if r != "" {
			out = append(out, fmt.Sprintf("left out %s: %s", d.p.Columns[i].Name, r))
		}
	}
	if c := d.label(); c.Integers && c.Exact && c.Distinct > 2 && c.Distinct <= 100 && len(d.p.Label.Classes) != 2 {
		is, other, task := "classes", "numbers", "regression"
		if d.regression() {
			is, other, task = other, is, "classification"
		}
		out = append(out, fmt.Sprintf("look at the label: its %d whole numbers are taken for %s; if they are %s: --task %s", c.Distinct, is, other, task))
	}
	for _, h := range d.p.Hints() {
		out = append(out, "look at "+h)
	}
	return out
}

// trainRows is the number of rows trained on.
func (d *draft) trainRows() int { return int(d.p.Labelled()) - d.held }

// width is the number of inputs that trees have.
func (d *draft) width() int {
	n := 0
	for i, u := range d.uses {
		switch u {
		case tabular.Numeric:
			n++
			if d.p.Columns[i].Missing > 0 {
				n++
			}
		case tabular.Dates:
			n += len(d.p.Parts(i))
		case tabular.Category:
			n += min(d.p.Columns[i].Distinct, treeValues) + 1
		case tabular.Texts:
			n += treeWords
		}
	}
	return n
}

// manyColumns reports whether a table has so many columns that giving each tree only a share of them saves much time and costs little accuracy.
func (d *draft) manyColumns() bool {
	n := 0
	for i, u := range d.uses {
		switch u {
		case tabular.Numeric, tabular.Category, tabular.Texts:
			n++
		case tabular.Dates:
			n += len(d.p.Parts(i))
		}
	}
	return n > 100
}

// inMemory is the number of rows that trees are grown from.
func (d *draft) inMemory() int { return min(d.trainRows(), max(mostNumbers/d.width(), 10)) }

// marks are the texts that stand for missing values.
func (d *draft) marks() []string {
	var out []string
	for i, u := range d.uses {
		if !isFeature(u) || d.p.Columns[i].Reading.Part != "" {
			continue
		}
		for _, m := range d.p.Columns[i].Marks {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// unbalanced reports a class that is much rarer than the others.
func (d *draft) unbalanced() bool {
	least := int64(math.MaxInt64)
	for _, e := range d.p.Label.Classes {
		least = min(least, e.Count)
	}
	return !d.regression() && float64(least) < 0.3*float64(d.p.Labelled())/float64(len(d.p.Label.Classes))
}

var plainYAML = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*( [A-Za-z0-9_.]+)*$`)

// yamlText is a text in YAML, quoted if necessary.
func yamlText(s string) string {
	if plainYAML.MatchString(s) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(s)) {
		return s
	}
	return quotedYAML(s)
}

func quotedYAML(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // encoding a string does not fail
	return strings.TrimSuffix(b.String(), "\n")
}

// yamlList is a list of quoted texts on one line.
func yamlList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quotedYAML(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
