package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/internal/platform/printable"
)

// part is the part of a table that a config trains on: all of it, or the rows of a trial.
type part struct {
	fold int // the held-out fold
	most int // rows to train on; 0: all
}

// text is the config of the chosen model.
func (d *draft) text() string { return d.config(d.model, part{}) + d.predictText() + d.sweepText() }

// predictText says how to write columns that the model does not read before its predictions.
func (d *draft) predictText() string {
	if d.p.Form.Format == "jsonl" || d.p.Form.Format == "csv" && !d.p.Form.Header {
		return ""
	}
	for i, r := range d.reasons {
		c := d.p.Columns[i]
		if tells := !c.Exact || int64(c.Distinct) > c.Rows/2; r != "" && tells { // it identifies rows, like an id
			return fmt.Sprintf("\n# Columns of the file that goestimator predict writes before the predictions:\n# predict: {columns: %s}\n", yamlList([]string{c.Name}))
		}
	}
	return ""
}

// config is the config of a model, with comments.
func (d *draft) config(m candidate, on part) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	lines, names := d.columns(m)
	say("# A model of %s, written by goestimator init:", oneLineText(d.p.Path))
	say("# %d rows; %s is the label, %s.", d.p.Rows, oneLineText(d.label().Name), oneLineText(d.labelText()))
	say("#\n#   goestimator train --config FILE, then evaluate, predict, export\n")
	say("model_dir: %s", quotedYAML(d.modelDir))
	say("seed: 1\n")
	d.sayLeftOut(say)
	if !m.network() {
		say("# A number that is missing is NaN, which trees put on the side of the small ones, or, by a second column, on that of the large ones.")
		say("# Vocabularies are those of the training rows, the most frequent values first; they are kept in checkpoints and exported. Rarer")
		say("# values share a bucket.")
	} else {
		say("# Means, deviations, medians and vocabularies are those of the training rows; they are kept in checkpoints and")
		say("# exported. A median stands for a missing number.")
	}
	say("feature_columns:")
	for _, l := range lines {
		say("  - %s", l)
	}
	say("")
	for _, line := range d.reasoning() {
		say("# %s", line)
	}
	say("model:\n  name: %s\n  params:", m.name)
	for _, p := range d.params(m, names) {
		say("    %s", p)
	}
	d.sayInputs(say, m, on)
	return b.String()
}

func oneLineText(s string) string { return printable.Text(strings.Join(strings.Fields(s), " ")) }

func (d *draft) sayLeftOut(say func(string, ...any)) {
	for i, r := range d.reasons {
		if r != "" {
			say("# %s is left out: %s.", oneLineText(d.p.Columns[i].Name), oneLineText(r))
		}
	}
	for i, u := range d.uses {
		if c := d.p.Columns[i]; u == tabular.Numeric && c.Odd > 0 {
			say("# %d texts of %s are no numbers, for example %q: they count as missing.", c.Odd, oneLineText(c.Name), oneLineText(c.OddText))
		}
	}
	for _, h := range d.p.Hints() {
		say("# Look at %s", oneLineText(h))
	}
}

// reasoning says why the model was chosen.
func (d *draft) reasoning() []string {
	out := []string{d.why}
	for _, c := range d.tried {
		if c.score != 0 {
			out = append(out, fmt.Sprintf("  %-52s %s %.5g", c.what, d.metric(), c.score))
		}
	}
	if d.unbalanced() {
		out = append(out, "Some class is rare: besides accuracy, which a model has that never says it, look at the area under the ROC curve",
			"and, with goestimator evaluate --per-class, at each class's precision and recall.")
	}
	return out
}

func (d *draft) sayInputs(say func(string, ...any), m candidate, on part) {
	rows := d.trainRows()
	if !m.network() {
		rows = d.inMemory()
	}
	if on.most > 0 {
		rows = min(rows, on.most)
	}
	say("\ntrain:\n  input:")
	d.saySource(say, "    ", true)
	say("    # One row of %d is held out: in any order of the rows, classes are spread evenly.", d.folds)
	say("    split: {folds: %d, held_out: %d, part: train}", d.folds, on.fold)
	switch {
	case !m.network():
		if rows < d.trainRows() {
			say("    # As many rows as memory is meant to hold.")
		}
		say("    take: %d", rows)
		say("    batch_size: %d\n    repeat: true", rows)
		say("  max_steps: 100000   # all trees are grown long before")
	default:
		if on.most > 0 {
			say("    take: %d", rows)
		}
		say("    shuffle: %d\n    batch_size: %d\n    repeat: true", min(rows, 50_000), d.netBatch(m))
		say("  max_steps: %d   # %d passes; the learning rate is then 0", d.netSteps(m), d.netEpochs(m))
		say("  early_stopping: {metric: %s, max_steps_without_improvement: %d, check_every_steps: %d, restore_best: true}", "loss", max(d.netSteps(m)/3, 1), max(d.netSteps(m)/20, 1))
	}
	say("\neval:\n  input:")
	d.saySource(say, "    ", false)
	say("    split: {folds: %d, held_out: %d, part: eval}", d.folds, on.fold)
	if on.most > 0 {
		say("    take: %d", on.most)
	}
	say("    batch_size: %d", min(d.held, 4096))
	if m.network() {
		say("  every_steps: %d", max(d.netSteps(m)/20, 1))
	}
	say("  exporters: [{name: final, kind: final}]   # a SavedModel below model_dir/export/final, for goestimator serve")
	if m.network() {
		every := max(d.netSteps(m)/20, 1) // checkpoints are evaluated at the same steps
		say("\nrun: {save_checkpoints_steps: %d, log_step_count_steps: %d}", 4*every, 2*every)
	}
}

// saySource writes the keys that say how the file is read.
func (d *draft) saySource(say func(string, ...any), indent string, define bool) {
	f := d.p.Form
	say("%sformat: %s\n%sfiles: %s", indent, f.Format, indent, quotedYAML(d.p.Path))
	if f.Format == "csv" {
		if f.Header {
			say("%sheader: true", indent)
		}
		if f.Delimiter != "," {
			say("%sdelimiter: %s", indent, quotedYAML(f.Delimiter))
		}
		if f.Decimal == "," {
			say("%sdecimal: \",\"", indent)
		}
		if m := d.marks(); len(m) > 0 {
			say("%smissing_values: %s", indent, yamlList(m))
		}
	}
	switch n, again := d.p.Label.Missing, d.p.Repeated; {
	case n > 0:
		say("%son_error: skip   # leaves out the %d rows without a label; others that cannot be read, too", indent, n)
	case again > 0:
		say("%son_error: skip   # leaves out the %d rows that repeat the names of the columns; others that cannot be read, too", indent, again)
	}
	defer d.sayTransforms(say, indent)
	if !define {
		say("%scolumns: *columns", indent)
		return
	}
	say("%scolumns: &columns", indent)
	for i, u := range d.uses {
		if line := d.column(i, u); line != "" {
			say("%s  - %s", indent, line)
		}
	}
}

// sayTransforms writes the step that reads a label such as $1,234.50.
func (d *draft) sayTransforms(say func(string, ...any), indent string) {
	c := d.label()
	if !d.regression() || c.Reading.Part == "" {
		return
	}
	expression := fmt.Sprintf("number(col(%q))", c.Name)
	switch decimal := cmp.Or(c.Reading.Decimal, "."); {
	case c.Reading.Unit != "":
		expression = fmt.Sprintf("number(col(%q), %q, %q)", c.Name, decimal, c.Reading.Unit)
	case decimal == ",":
		expression = fmt.Sprintf("number(col(%q), %q)", c.Name, decimal)
	}
	say("%stransforms:\n%s  - {kind: compute, column: %s, expression: %s}", indent, indent, yamlText(c.Name), quotedYAML(expression))
}

// noID stands for a missing id.
const noID = -1

// numbered reports whether a column is a category with numbers as values in the file. Values of CSV are texts.
func (d *draft) numbered(i int, u tabular.Use) bool {
	return u == tabular.Category && d.p.Columns[i].Kind == tabular.Number && d.p.Form.Format != "csv"
}

// column declares a column of the file; empty if the column needs no declaration.
func (d *draft) column(i int, u tabular.Use) string {
	c := d.p.Columns[i]
	name := yamlText(c.Name)
	dtype := ""
	if d.p.Form.Format != "csv" {
		dtype = ", dtype: float64"
	}
	switch u {
	case tabular.Numeric, tabular.Category, tabular.Texts, tabular.Dates:
		if u == tabular.Numeric && c.Reading.Part == "" {
			return fmt.Sprintf("{name: %s%s, default: .nan}", name, dtype)
		}
		if d.numbered(i, u) {
			return fmt.Sprintf("{name: %s, dtype: int64, default: %d}", name, noID)
		}
		return fmt.Sprintf("{name: %s, dtype: string, default: \"\"}", name)
	case tabular.LabelUse:
		if d.regression() && c.Reading.Part != "" { // a transform parses it into a number
			return fmt.Sprintf("{name: %s, dtype: string, role: label}", name)
		}
		if d.regression() {
			return fmt.Sprintf("{name: %s%s, role: label}", name, dtype)
		}
		var values []string
		for _, e := range d.p.Label.Classes {
			values = append(values, e.Value)
		}
		return fmt.Sprintf("{name: %s, role: label, vocabulary: %s}", name, yamlList(values))
	}
	if d.p.Form.Format == "csv" && !d.p.Form.Header {
		return fmt.Sprintf("{name: %s, role: ignore}", name)
	}
	return ""
}
