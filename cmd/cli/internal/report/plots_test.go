package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestPlots: charts and tables are on the page, texts in them are escaped, and nothing is loaded from elsewhere.
func TestPlots(t *testing.T) {
	p := Plots{Title: "A <b>", Note: "note", Tables: []Table{{Title: "T", Header: []string{"h"}, Rows: [][]string{{"</script>"}}}}}
	for _, err := range []error{p.AddLines("L", "x", true, Points{"one", [][2]float64{{1, 2}, {10, 3}}}), p.AddBars("B", []string{"a", "b</script>"}, []float64{0.25, 0.5}),
		p.AddParallel("P", []Axis{{Name: "n", Logarithmic: true}, {Name: "c", Names: []string{"u", "v"}}}, [][]any{{0.5, "u"}, {"-", "v"}})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(out.String(), "<body>")
	for _, want := range []string{"A &lt;b&gt;", "&lt;/script&gt;", `"type":"log"`, `"type":"parallel"`, `"data":["a","b`, `draw("plot2"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "http") || strings.Count(page, "</script>") != 1 {
		t.Error("the page loads something, or a text ends its script")
	}
}
