package violation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "nothing"}, {"a\nb", `"a\nb"`}, {[]int{1, 2}, "[1 2]"}, {json.RawMessage("{\n  \"a\": 1}"), `{ "a": 1}`},
		{strings.Repeat("é", 100), `"` + strings.Repeat("é", 59) + "..."},
	} {
		if got := Quote(c.value); got != c.want {
			t.Errorf("%v: got %s, want %s", c.value, got, c.want)
		}
	}
}

func TestInclude(t *testing.T) {
	var in, l List
	if l.Include("a", nil); l.Err() != nil {
		t.Errorf("no error is a violation: %v", l.Err())
	}
	in.Add("[1].b", 2, "expected 3")
	l.Include("a", fmt.Errorf("within: %w", in.Err()))
	l.Include("c", errors.New("expected a d"))
	const want = "invalid configuration: 2 violations\n  a[1].b: got 2, expected 3\n  c: got nothing, expected a d"
	if err := l.Err(); err == nil || err.Error() != want || !errors.Is(err, ErrMistake) {
		t.Errorf("got %v, want %s", err, want)
	}
	if !l.Below("a[1]") || !l.Below("c") || l.Below("a[1].bc") || l.Below("a.b") {
		t.Error("what is below a key is wrong")
	}
}

func TestWords(t *testing.T) {
	var l List
	l.OneOf("x", "", "", "a")
	l.OneOf("x", "b", "", "a", "c")
	l.Regexp("y", "(")
	l.Regexp("y", "a|b")
	if len(l.Found) != 2 || l.Found[0].Bound != "expected one of a, c" || !strings.HasPrefix(l.Found[1].Bound, "expected a regular expression: ") {
		t.Errorf("got %v", l.Found)
	}
}
