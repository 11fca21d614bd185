package inputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSplitText: the parts of texts are lists with the role of the text; unbatch makes a row of each part.
func TestSplitText(t *testing.T) {
	texts := must[Indexed](t)(Slices(checked(t), Strings("kinds", Label, []string{"drama|comedy", " a  b | c", "", "||", "x"}), Slice("id", Feature, []int64{1, 2, 3, 4, 5})))
	ds := Pipe(texts, Map(SplitText("kinds", "|")), Batch(5, false))
	if got := ds.Schema().String(); got != "kinds string[...] label, id int64 feature" {
		t.Errorf("got %s", got)
	}
	got := drain(t, iterate(t, ds), ds.Schema(), 9)
	if want := `kinds[5] [0 2 4 4 4 5]  ["drama" "comedy" "a  b" "c" "x"];`; len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("got %q, expected %s", got, want)
	}
	rows := Pipe(texts, Map(SplitText("kinds", "|")), Unbatch("kinds"), Batch(9, false))
	if d := cmp.Diff([]int64{1, 1, 2, 2, 5}, column[int64](t, rows, "id")); d != "" {
		t.Error(d)
	}
	for want, m := range map[string]Mapper{"expected texts": SplitText("id", ","), "expected a separator": SplitText("kinds", ""), "unknown column": SplitText("kind", ",")} {
		if _, err := Pipe(texts, Map(m)).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	shaped := must[Dataset](t)(CSV([]string{write(t, "t.csv", []byte("a|b\n"))}, CSVOptions{Columns: []ColumnSpec{{Name: "kinds", DType: "string", Shape: []int{1}}}}))
	if _, err := Pipe(shaped, Map(SplitText("kinds", "|"))).Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "without a shape") {
		t.Errorf("of a shape: got %v", err)
	}
	twice := Pipe(texts, Map(SplitText("kinds", "|")), Map(SplitText("kinds", ",")))
	if _, err := twice.Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "expected texts") {
		t.Errorf("twice: got %v", err)
	}
}
