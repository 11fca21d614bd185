package tabular_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// TestKindHints: labels and columns that are not what they look like are pointed out, others are not.
func TestKindHints(t *testing.T) {
	words := []string{"red", "green", "blue"}
	for _, c := range []struct {
		name, header string
		row          func(r int) string
		want         string // in a hint; empty: no hint
	}{
		{"lists of classes", "a,y", func(r int) string { return fmt.Sprintf("%d,%s", r*7%40, []string{"x", "y", "x|y", "y|z"}[r%4]) }, `lists separated by "|"`},
		{"names with a mark", "a,y", func(r int) string { return fmt.Sprintf("%d,%s", r*7%40, []string{"a|1", "b|2", "c|3"}[r%3]) }, ""},
		{"images", "picture,y", func(r int) string { return fmt.Sprintf("p/%d.JPG,%d", r, r%2) }, "picture: it names files"},
		{"rows by time", "day,a,y", func(r int) string { return fmt.Sprintf("2021-%02d-%02d,%d,%d", 1+r/28, 1+r%28, r*7%40, r*11%50) }, "day: rows go by time"},
		{"days in any order", "day,a,y", func(r int) string {
			return fmt.Sprintf("2021-%02d-%02d,%d,%d", 1+r*5%12, 1+r*7%28, r*7%40, r*11%50)
		}, ""},
		{"few days", "day,a,y", func(r int) string { return fmt.Sprintf("2021-01-%02d,%d,%d", 1+r/20, r*7%40, r*11%50) }, ""},
		{"lists", "tags,y", func(r int) string { return fmt.Sprintf("%s|%s,%d", words[r%3], words[r/3%3], r%2) }, "tags: its values are lists"},
		{"two ids", "user_id,item_id,y", func(r int) string { return fmt.Sprintf("%d,%d,%d", r*7%40, r*11%30, r%5) }, "user_id and item_id: they are ids"},
		{"an id", "query_id,a,y", func(r int) string { return fmt.Sprintf("%d,%d,%d", r/8, r*11%30, r%5) }, `crossval --by "group:query_id"`},
		{"plain", "a,b,y", func(r int) string { return fmt.Sprintf("%d,%s,%d", r*7%40, words[r%3], r%2) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(c.header + "\n")
			for r := range 200 {
				b.WriteString(c.row(r) + "\n")
			}
			p, err := tabular.Read(t.Context(), write(t, "t.csv", b.String()), tabular.Options{Label: "y"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range p.Hints() {
				if slices.ContainsFunc([]string{"lists", "names files", "go by time", "are ids", "group:"}, func(s string) bool { return strings.Contains(h, s) }) {
					got = append(got, h)
				}
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("expected %q alone, got %q", c.want, got)
			}
		})
	}
}

// TestSeveralLabels: a list of columns cannot be the label, and the error says what to do instead.
func TestSeveralLabels(t *testing.T) {
	names := []string{"a", "b", "c"}
	for label, several := range map[string]bool{"a,b": true, "b;c": true, "a, c ": true, "a,d": false, "a": false, ",": false} {
		got := (&tabular.UnknownLabelError{Label: label, Names: names}).Error()
		if strings.Contains(got, "--leave-out") != several {
			t.Errorf("%s: got %s", label, got)
		}
	}
}
