package describe

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/goestimator/goestimator/internal/platform/printable"
)

// WriteJSON writes one JSON object.
func (d *Description) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

// WriteText writes a table of the columns, and the other facts.
func (d *Description) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d rows, %d columns, %s\n", printable.Text(d.Path), d.Rows, len(d.Columns), d.Format)
	if l := d.Label; l != nil {
		fmt.Fprintf(&b, "label %s: %s%s\n", printable.Text(l.Name), l.Task, d.balance())
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	head := []string{"column", "kind", "use", "missing", "different", "mean or most frequent values", "min", "25%", "median", "75%", "max"}
	if d.Label != nil {
		head = append(head, "correlation", "alone")
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, c := range d.Columns {
		fmt.Fprintln(t, strings.Join(d.cells(c), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%d of %d rows are equal to an earlier one\n", d.Duplicates, d.Compared)
	for _, c := range d.Columns {
		if c.Reason != "" {
			fmt.Fprintf(&b, "%s would be left out: %s\n", printable.Text(c.Name), printable.Text(c.Reason))
		}
	}
	for _, h := range d.Hints {
		fmt.Fprintf(&b, "look at %s\n", printable.Text(h))
	}
	if d.Label != nil {
		fmt.Fprintf(&b, "correlation is Pearson's; alone is how much of the label a column alone tells, of %d rows\n", d.Sampled)
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

// balance shows the shares of the classes.
func (d *Description) balance() string {
	var parts []string
	for i, c := range d.Label.Classes {
		if i == 10 {
			parts = append(parts, fmt.Sprintf("... (%d classes)", len(d.Label.Classes)))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d (%.1f %%)", brief(c.Value), c.Count, 100*float64(c.Count)/float64(d.Rows)))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// cells is the row of the table for a column.
func (d *Description) cells(c Column) []string {
	at := ""
	if !c.Exact {
		at = ">="
	}
	missing := "0"
	if c.Missing > 0 {
		missing = fmt.Sprintf("%d (%.1f %%)", c.Missing, 100*float64(c.Missing)/float64(d.Rows))
	}
	out := []string{brief(c.Name), c.Kind, c.Use, missing, fmt.Sprint(at, c.Distinct)}
	if n := c.Numbers; n != nil {
		out = append(out, fmt.Sprintf("%.5g (std %.5g)", n.Mean, n.Std), short(n.Min), short(n.Quantiles[1]), short(n.Quantiles[2]), short(n.Quantiles[3]), short(n.Max))
	} else {
		var top []string
		for _, v := range c.Top[:min(len(c.Top), 3)] {
			top = append(top, fmt.Sprintf("%s %d", brief(v.Value), v.Count))
		}
		out = append(out, strings.Join(top, ", "), "", "", "", "", "")
	}
	if r := c.Relation; r != nil {
		correlation := ""
		if r.Correlation != nil {
			correlation = fmt.Sprintf("%.2f", *r.Correlation)
		}
		out = append(out, correlation, fmt.Sprintf("%.1f %%", 100*r.Alone))
	}
	return out
}

func short(v float64) string { return fmt.Sprintf("%.5g", v) }

// brief is a text on one printable line, cut if it is long.
func brief(s string) string {
	s = printable.Text(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return s
}
