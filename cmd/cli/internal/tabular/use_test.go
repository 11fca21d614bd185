package tabular_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// TestUses: how models use each sort of column.
func TestUses(t *testing.T) {
	words := func(r int) string { return fmt.Sprintf("the %d quick brown foxes", r) }
	mostly := func(r int) string {
		if r%50 == 7 {
			return "unknown"
		}
		return fmt.Sprint(r * 31 % 97)
	}
	for _, c := range []struct {
		name, column string
		rows         int
		cell         func(int) string
		kind         tabular.Kind
		use          tabular.Use
		reason       string
	}{
		{"row numbers", "n", 100, format("%d", 1, 0), tabular.Number, tabular.LeftOut, "numbers the rows"},
		{"id", "user_id", 100, format("%d", 7919, 100_003), tabular.Number, tabular.LeftOut, "is an id"},
		{"id of more rows than values are counted", "user_id", 40_000, format("%d", 7919, 100_003), tabular.Number, tabular.LeftOut, "is an id"},
		{"different integers that are no id", "income", 100, format("%d", 7919, 100_003), tabular.Number, tabular.Numeric, ""},
		{"text id", "code", 100, format("k%d", 1, 0), tabular.Text, tabular.LeftOut, "100 different values in 100 rows"},
		{"text id of more rows than values are counted", "code", 40_000, format("k%d", 1, 0), tabular.Text, tabular.LeftOut, "32768 different values"},
		{"constant number", "c", 100, format("%d", 0, 0), tabular.Number, tabular.LeftOut, `always "0"`},
		{"constant text", "c", 100, format("x%d", 0, 0), tabular.Text, tabular.LeftOut, `always "x0"`},
		{"dates", "d", 50, func(r int) string { return fmt.Sprintf("2020-01-%02d", 1+r%28) }, tabular.Date, tabular.Dates, ""},
		{"times", "d", 50, func(r int) string { return fmt.Sprintf("2020-01-02T15:04:%02dZ", r%60) }, tabular.Date, tabular.LeftOut, "always the same"},
		{"days before months", "d", 50, func(r int) string { return fmt.Sprintf("%02d/%02d/21", 1+r%28, 1+r%12) }, tabular.Date, tabular.Dates, ""},
		{"prices", "p", 100, func(r int) string { return fmt.Sprintf(`"$1,%03d.50"`, r*7%100) }, tabular.Number, tabular.Numeric, ""},
		{"units and plain numbers", "w", 100, func(r int) string { return fmt.Sprint(r*7%50, []string{"", " kg"}[r%2]) }, tabular.Number, tabular.Numeric, ""},
		{"several units", "w", 100, func(r int) string { return fmt.Sprint(r*7%50, []string{"", " kg", " g"}[r%3]) }, tabular.Text, tabular.LeftOut, "different values"},
		{"a unit with a space of another sort", "w", 100, func(r int) string { return fmt.Sprint(r*7%50, []string{" kg", "\u00a0kg"}[r%2]) }, tabular.Number, tabular.Numeric, ""},
		{"thousands beside numbers", "w", 100, func(r int) string { return []string{"900", "1.2K", "850", "3K"}[r%4] }, tabular.Number, tabular.Numeric, ""},
		{"thousands beside long numbers", "w", 100, func(r int) string { return []string{`"1,900"`, "1.2k"}[r%2] }, tabular.Number, tabular.Numeric, ""},
		{"millions of money", "w", 100, func(r int) string { return []string{"€900K", "€1.2M", "€0"}[r%3] }, tabular.Number, tabular.Numeric, ""},
		{"kilograms and grams", "w", 100, func(r int) string { return fmt.Sprint(r*7%50, []string{" kg", " g"}[r%2]) }, tabular.Number, tabular.Numeric, ""},
		{"weeks and years", "w", 100, func(r int) string { return []string{"1 year", "2 years", "3 weeks", "1 week"}[r%4] }, tabular.Number, tabular.Numeric, ""},
		{"one and several", "w", 100, func(r int) string { return []string{"1 room", "2 rooms"}[r%2] }, tabular.Number, tabular.Numeric, ""},
		{"units and a word for missing", "w", 200, func(r int) string { return []string{"varies", fmt.Sprint(r, "k"), fmt.Sprint(r, "M")}[r%3] }, tabular.Number, tabular.Numeric, ""},
		{"words for missing, then units", "w", 200, func(r int) string {
			return []string{"varies", fmt.Sprint(r, "k"), fmt.Sprint(r, "M")}[min(r/80, 1+r%2)]
		}, tabular.Number, tabular.Numeric, ""},
		{"units and many words", "w", 200, func(r int) string { return []string{"a", fmt.Sprint(r, "k"), "b", "c", "d", fmt.Sprint(r, "M")}[r%6] }, tabular.Text, tabular.Category, ""},
		{"units and more words", "w", 200, func(r int) string { return []string{"varies", fmt.Sprint(r, "k"), "varies"}[r%3] }, tabular.Text, tabular.Category, ""},
		{"few values with units and a word", "w", 200, func(r int) string { return []string{"none", "1 kg", "2 kg"}[r%3] }, tabular.Text, tabular.Category, ""},
		{"dates and a word for missing", "d", 200, func(r int) string {
			return []string{"never", fmt.Sprintf("2020-%02d-%02d", 1+r%12, 1+r%28)}[min(r%5, 1)]
		}, tabular.Date, tabular.Dates, ""},
		{"kilograms and centimetres", "w", 100, func(r int) string { return []string{"1 kg", "2 cm"}[r%2] }, tabular.Text, tabular.Category, ""},
		{"dollars and euros", "w", 100, func(r int) string { return []string{"$1K", "€2M"}[r%2] }, tabular.Text, tabular.Category, ""},
		{"thousands alone", "w", 100, func(r int) string { return fmt.Sprint(r*7%50, "K") }, tabular.Number, tabular.Numeric, ""},
		{"shares beside numbers", "w", 100, func(r int) string { return []string{"0.5", "50 %", "12%"}[r%3] }, tabular.Text, tabular.Category, ""},
		{"millions and metres", "w", 100, func(r int) string { return []string{"5 M", "5 m"}[r%2] }, tabular.Text, tabular.Category, ""},
		{"ordinals", "w", 100, func(r int) string { return []string{"1st", "2nd", "3rd"}[r%3] }, tabular.Text, tabular.Category, ""},
		{"quarters", "w", 100, func(r int) string { return fmt.Sprint("Q", 1+r%4) }, tabular.Text, tabular.Category, ""},
		{"long texts", "review", 50, words, tabular.Text, tabular.Texts, ""},
		{"very long texts", "review", 50, func(r int) string { return fmt.Sprint(r, strings.Repeat(" word", 99)) }, tabular.Text, tabular.Texts, ""},
		{"names of few rows", "cabin", 100, func(r int) string { return map[bool]string{true: fmt.Sprint("C", r)}[r%3 == 0] }, tabular.Text, tabular.Category, ""},
		{"all missing", "m", 50, func(int) string { return "" }, tabular.Empty, tabular.LeftOut, "no values"},
		{"all marks", "m", 50, func(int) string { return "NA" }, tabular.Empty, tabular.LeftOut, "no values"},
		{"1000 categories", "city", 3000, format("c%d", 1, 1000), tabular.Text, tabular.Category, ""},
		{"few integers", "grade", 100, format("%d", 3, 7), tabular.Number, tabular.Numeric, ""},
		{"decimals", "x", 100, format("%d.5", 3, 7), tabular.Number, tabular.Numeric, ""},
		{"booleans", "b", 100, func(r int) string { return fmt.Sprint(r%3 == 0) }, tabular.Text, tabular.Category, ""},
		{"numbers and a word for missing", "x", 200, mostly, tabular.Number, tabular.Numeric, ""},
		{"no name", "", 100, format("%d", 3, 7), tabular.Number, tabular.LeftOut, "no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := read(t, "t.csv", table(c.rows, "y,"+c.column, format("%d", 1, 2), c.cell), tabular.Options{Label: "y"})
			uses, reasons := p.Uses()
			if uses[0] != tabular.LabelUse {
				t.Errorf("the label has use %d", uses[0])
			}
			if p.Columns[1].Kind != c.kind || uses[1] != c.use || !strings.Contains(reasons[1], c.reason) {
				t.Errorf("got kind %s, use %d %q, expected kind %s, use %d %q", p.Columns[1].Kind, uses[1], reasons[1], c.kind, c.use, c.reason)
			}
		})
	}
}

// TestMissingDates: among dates and times, other words count as missing, like marks and empty cells.
func TestMissingDates(t *testing.T) {
	for name, value := range map[string]func(r int) string{
		"dates":                       func(r int) string { return fmt.Sprintf("2020-%02d-%02d", 1+r%12, 1+r%28) },
		"days before months":          func(r int) string { return fmt.Sprintf("%02d/%02d/21", 1+r%28, 1+r%12) },
		"days and months of any size": func(r int) string { return fmt.Sprintf("%02d/%02d/21", 1+r%12, 1+r/12%12) },
		"times":                       func(r int) string { return fmt.Sprintf("%02d:%02d", r%24, r%60) },
	} {
		p := read(t, "t.csv", table(400, "y,d", format("%d", 1, 2), func(r int) string {
			return []string{"unknown", "n/a", "", "not yet", value(r)}[min(r%10, 4)]
		}), tabular.Options{})
		if c := p.Columns[1]; c.Kind != tabular.Date || c.Missing != 160 {
			t.Errorf("%s: kind %s, %d missing of %d", name, c.Kind, c.Missing, c.Rows)
		}
	}
}

// TestMissing: marks and empty cells count as missing, and words among numbers become marks.
func TestMissing(t *testing.T) {
	cells := []string{"1", "?", "NA", "", "2.5", "null", "-"}
	p := read(t, "t.csv", table(70, "y,x", format("%d", 1, 2), func(r int) string { return cells[r%7] }), tabular.Options{})
	c := p.Columns[1]
	if c.Kind != tabular.Number || c.Missing != 50 || c.Distinct != 2 || !slices.Equal(c.Marks, []string{"?", "NA", "null", "-"}) {
		t.Errorf("got %+v", c)
	}
	if len(c.Top) != 2 || c.Top[0].Count != 10 {
		t.Errorf("the most frequent values are %v", c.Top)
	}
	p = read(t, "t.csv", table(200, "y,x", format("%d", 1, 2), func(r int) string {
		if r%20 == 3 {
			return "none yet"
		}
		return fmt.Sprint(r)
	}), tabular.Options{})
	if c = p.Columns[1]; c.Missing != 10 || !slices.Equal(c.Marks, []string{"none yet"}) || c.Max != 199 {
		t.Errorf("got %+v", c)
	}
}

// TestNumbers: the statistics of 0, 2, ... 198, shuffled, with decimal commas.
func TestNumbers(t *testing.T) {
	var b strings.Builder
	b.WriteString("y;x\n")
	for r := range 100 {
		fmt.Fprintf(&b, "%d;%d,5\n", r%2, r*37%100*2)
	}
	c := read(t, "t.csv", b.String(), tabular.Options{}).Columns[1]
	if c.Min != 0.5 || c.Max != 198.5 || c.Mean < 99.4999 || c.Mean > 99.5001 || c.Std < 57.73 || c.Std > 57.74 || c.Integers {
		t.Errorf("got %+v", c)
	}
	for i, want := range []float64{10.5, 50.5, 100.5, 150.5, 190.5} {
		if d := c.Quantiles[i] - want; d < -4 || d > 4 {
			t.Errorf("quantile %d is %g, expected about %g", i, c.Quantiles[i], want)
		}
	}
}

// TestIDsAreCategories: two columns of repeated ids are categories; a single one, and ids with few values, stay numbers.
func TestIDsAreCategories(t *testing.T) {
	for _, c := range []struct {
		names string
		want  []tabular.Use
	}{
		{"user_id,item_id,n", []tabular.Use{tabular.Category, tabular.Category, tabular.Numeric}},
		{"user_id,n,item", []tabular.Use{tabular.Numeric, tabular.Numeric, tabular.Numeric}},
		{"userId,nine_id,item_id", []tabular.Use{tabular.Category, tabular.Numeric, tabular.Category}},
	} {
		var b strings.Builder
		b.WriteString(c.names + ",y\n")
		for r := range 400 {
			cells := []int{r * 7 % 41, r * 5 % 31, r * 3 % 29}
			for i, name := range strings.Split(c.names, ",") {
				if name == "nine_id" { // too few values for ids
					cells[i] %= 9
				}
				fmt.Fprintf(&b, "%d,", cells[i])
			}
			fmt.Fprintf(&b, "%d\n", r%2)
		}
		p := read(t, "t.csv", b.String(), tabular.Options{Label: "y"})
		uses, _ := p.Uses()
		if !slices.Equal(uses[:3], c.want) {
			t.Errorf("%s: got %v, expected %v", c.names, uses[:3], c.want)
		}
		if err := p.Drop([]string{"item_id"}); err == nil {
			if uses, _ = p.Uses(); c.names == "user_id,item_id,n" && uses[0] != tabular.Numeric {
				t.Errorf("%s: the other id was left out: got %v, expected a number", c.names, uses[0])
			}
		}
	}
}

// TestTakeForText: short texts that differ count as names, unless the caller knows better.
func TestTakeForText(t *testing.T) {
	var b strings.Builder
	b.WriteString("text,code,y\n")
	for r := range 60 {
		fmt.Fprintf(&b, "good%d,c%d,%d\n", r, r, r%2)
	}
	p := read(t, "t.csv", b.String(), tabular.Options{Label: "y"})
	p.TakeForText("text")
	if uses, _ := p.Uses(); uses[0] != tabular.Texts || uses[1] != tabular.LeftOut {
		t.Errorf("got %v, expected the text as texts and the code left out", uses)
	}
}
