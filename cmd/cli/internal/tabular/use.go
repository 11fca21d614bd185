package tabular

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/spelling"
)

// Use says how models use a column.
type Use int

// The uses of columns.
const (
	LeftOut Use = iota
	Numeric
	Category
	LabelUse
	Texts // several words, which differ from row to row
	Dates
)

// identifiers are names of columns that number or identify rows.
var identifiers = []string{"id", "index", "idx", "key", "uuid", "guid", "rowid", "row_id", "rownum", "row", "no", "nr", "unnamed: 0"}

// Uses says how models use each column, and why columns are left out.
func (p *Profile) Uses() (uses []Use, reasons []string) {
	uses, reasons = make([]Use, len(p.Columns)), make([]string, len(p.Columns))
	for i, c := range p.Columns {
		if p.Label != nil && p.Label.Column == i {
			uses[i] = LabelUse
			continue
		}
		if uses[i], reasons[i] = c.use(); uses[i] == Dates && len(p.Parts(i)) == 0 {
			uses[i], reasons[i] = LeftOut, "its dates are always the same"
		}
	}
	if ids := p.ids(); len(ids) > 1 { // such as users and articles, which are meaningless as numbers
		for _, i := range ids {
			if uses[i] == Numeric {
				uses[i] = Category
			}
		}
	}
	return uses, reasons
}

// TakeForText makes a column with a different value in most rows a text column; otherwise short texts count as names.
func (p *Profile) TakeForText(name string) {
	for i := range p.Columns {
		if p.Columns[i].Name == name {
			p.Columns[i].text = true
		}
	}
}

// Drop leaves out columns by name. It fails for names that no column has, and for the label.
func (p *Profile) Drop(names []string) error {
	for _, name := range names {
		i := slices.IndexFunc(p.Columns, func(c Column) bool { return c.Name == name })
		switch {
		case i < 0:
			near := spelling.Nearest(name, p.Names())
			if near != "" {
				near = fmt.Sprintf(" (did you mean %s?)", near)
			}
			return fmt.Errorf("the table has no column %q%s", name, near)
		case p.Label != nil && p.Label.Column == i:
			return fmt.Errorf("column %q is the label: expected one that the model would read", name)
		}
		p.Columns[i].dropped = true // further columns with this name are left out anyway
	}
	return nil
}

func (c Column) use() (Use, string) {
	present := c.Rows - c.Missing
	switch {
	case c.dropped:
		return LeftOut, "as asked for"
	case c.Name == "":
		return LeftOut, "it has no name"
	case c.Duplicate:
		return LeftOut, "another column has this name: rename one of them in the file"
	case c.Kind == Unreadable:
		return LeftOut, "it cannot be read: " + c.Unreadable
	case c.Kind == Empty:
		return LeftOut, "it has no values"
	case c.Kind == Nested:
		return LeftOut, "it holds lists or objects"
	case c.Kind == Date:
		return Dates, ""
	case c.Distinct == 1 && c.Exact && c.Missing == 0:
		return LeftOut, "it is always " + quoted(c.Top[0].Value)
	}
	unique := !c.Exact || float64(c.Distinct) > 0.9*float64(present)
	if c.Kind == Number {
		switch {
		case present >= 20 && c.Steady:
			return LeftOut, "it numbers the rows"
		case present >= 20 && unique && c.Integers && isIdentifier(c.Name):
			return LeftOut, "it is an id: almost every row has its own"
		}
		return Numeric, ""
	}
	rare := present >= 20 && (!c.Exact || float64(c.Distinct) > 0.5*float64(present))
	switch {
	case rare && (c.text || c.Words >= 2.5):
		return Texts, ""
	case rare && c.SometimesThere():
		return Category, "" // whether there is a value is informative
	case rare:
		return LeftOut, fmt.Sprintf("it has %d different values in %d rows, as names and ids have", c.Distinct, present)
	}
	return Category, ""
}

// SometimesThere reports whether many rows have a value and many have none.
func (c Column) SometimesThere() bool {
	share := float64(c.Missing) / float64(max(c.Rows, 1))
	return share > 0.05 && share < 0.95
}

func isIdentifier(name string) bool {
	n := strings.ToLower(strings.TrimSpace(name))
	return slices.Contains(identifiers, n) || strings.HasSuffix(n, "_id") || strings.HasSuffix(n, " id") || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "ID")
}

func quoted(s string) string { return fmt.Sprintf("%q", printable.Short(s, 40)) }
