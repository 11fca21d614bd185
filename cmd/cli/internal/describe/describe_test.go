package describe_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/describe"
	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// described is a table of 200 rows with five columns: a number, its double as the label, a word, a hostile text and a constant.
func described(t *testing.T, label string) *describe.Description {
	t.Helper()
	var b strings.Builder
	b.WriteString("x,word,</script><b>,huge,y\n")
	for r := range 200 {
		word := []string{"red", "blue", "", "NA"}[r%4]
		fmt.Fprintf(&b, "%d,%s,<i>&\"\"'%d,%d1e308,%d.5\n", r*37%200, word, r%3, 1-r%2*2, r*37%200*2)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(b.String(), `""`, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := tabular.Read(t.Context(), path, tabular.Options{Label: label})
	if err != nil {
		t.Fatal(err)
	}
	return describe.New(p)
}

// TestNew: counts, statistics, histogram and relation agree with the rows.
func TestNew(t *testing.T) {
	d := described(t, "y")
	x, word := d.Columns[0], d.Columns[1]
	if x.Numbers == nil || x.Numbers.Min != 0 || x.Numbers.Max != 199 || math.Abs(x.Numbers.Mean-99.5) > 1e-9 || x.Distinct != 200 || !x.Exact {
		t.Fatalf("x: got %+v", x)
	}
	sum := 0
	for i, h := range x.Numbers.Histogram {
		sum += h.Count
		if h.Count < 8 || h.Count > 9 || h.To <= h.From {
			t.Errorf("bar %d of numbers that are evenly spread: %+v", i, h)
		}
	}
	if sum != 200 {
		t.Errorf("the histogram has %d of 200 numbers", sum)
	}
	if r := x.Relation; r == nil || r.Correlation == nil || *r.Correlation < 0.9999 || r.Alone < 0.95 {
		t.Errorf("x is the label: got %+v", r)
	}
	if word.Missing != 100 || word.Distinct != 2 || word.Relation.Correlation != nil || word.Relation.Alone > 0.2 {
		t.Errorf("word: got %+v", word)
	}
	if len(d.Hints) != 1 || !strings.HasPrefix(d.Hints[0], "x: it alone predicts") || d.Label.Task != "regression" {
		t.Errorf("got hints %q and label %+v", d.Hints, d.Label)
	}
	if d := described(t, ""); d.Label != nil || d.Columns[0].Relation != nil || len(d.Hints) != 0 {
		t.Errorf("without a label: got %+v", d)
	}
}

// TestWrite: each format has the description, and a table cannot inject code into the page.
func TestWrite(t *testing.T) {
	d := described(t, "y")
	var text, doc, page strings.Builder
	if err := d.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"t.csv: 200 rows, 5 columns, csv\n", "label y: regression\n", "word ", "100 (50.0 %)", "blue 50, red 50", "0 of 200 rows are equal", "look at x: it alone predicts"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("expected %q in\n%s", want, text.String())
		}
	}
	if err := d.WriteJSON(&doc); err != nil {
		t.Fatal(err)
	}
	var back describe.Description
	if err := json.Unmarshal([]byte(doc.String()), &back); err != nil || len(back.Columns) != 5 || back.Columns[0].Numbers.Mean != d.Columns[0].Numbers.Mean {
		t.Errorf("got %v and %+v", err, back)
	}
	if err := d.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	body := page.String()[strings.Index(page.String(), "<body>"):]
	if strings.Count(page.String(), "</script>") != 2 || strings.Contains(body, "<b>") || strings.Contains(body, "<i>") {
		t.Error("a name of the table is part of the page's code")
	}
	if n := strings.Count(body, "draw(\"chart"); n < 4 || n != strings.Count(body, `class="chart"`) {
		t.Errorf("%d charts are drawn in %d places", n, strings.Count(body, `class="chart"`))
	}
	if loads := regexp.MustCompile(`(src|href)="[^d]`).FindString(body); loads != "" {
		t.Errorf("the page loads something: %s", loads)
	}
}
