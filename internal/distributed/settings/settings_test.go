package settings

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name         string
		mine, theirs Settings
		want         []Difference
	}{
		{"none", nil, Settings{}, nil},
		{"equal", Settings{"a": "1", "b": ""}, Settings{"b": "", "a": "1"}, nil},
		{"value", Settings{"a": "1", "b": "2"}, Settings{"a": "1", "b": "3"}, []Difference{{"b", "2", "3"}}},
		{"missing here", Settings{}, Settings{"a": "1"}, []Difference{{"a", "none", "1"}}},
		{"missing there", Settings{"a": ""}, Settings{}, []Difference{{"a", "", "none"}}},
		{"by name", Settings{"b": "1", "a": "1"}, Settings{"a": "2", "b": "2"}, []Difference{{"a", "1", "2"}, {"b", "1", "2"}}},
		{"left to the rest here", Settings{Rest: "2, digest x"}, Settings{"a": "1", Rest: "1, digest y"}, []Difference{{Rest, "2, digest x", "1, digest y"}}},
		{"left to the rest there", Settings{"a": "1"}, Settings{Rest: "1, digest y"}, []Difference{{Rest, "none", "1, digest y"}}},
	} {
		if got := c.mine.Differences(c.theirs); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}

// TestBounds: settings are short for any list, and differ if any entry of the list does.
func TestBounds(t *testing.T) {
	var list []Setting
	for i := range 3000 {
		list = append(list, Setting{fmt.Sprintf("variable %04d", i), strings.Repeat("\x00", 1+i%400)})
	}
	s := Make(list)
	if n := len(s.Encode()); n > 2*maxText {
		t.Errorf("%d bytes, expected at most %d", n, 2*maxText)
	}
	if s["variable 0000"] != "\x00" || s[Rest] == "" {
		t.Errorf("the first and the rest are not among %d settings", len(s))
	}
	for _, i := range []int{0, 2999} {
		other := slices.Clone(list)
		other[i].Value += "x"
		if len(s.Differences(Make(other))) == 0 {
			t.Errorf("another value of %s is no difference", list[i].Name)
		}
	}
	long := strings.Repeat("v", maxValue)
	if got := Make([]Setting{{"a", long}})["a"]; got != long {
		t.Errorf("a value of %d bytes was clipped to %q", maxValue, got)
	}
	if a, b := Make([]Setting{{"a", long + "v"}}), Make([]Setting{{"a", long + "w"}}); len(a["a"]) > maxValue || len(a.Differences(b)) != 1 {
		t.Errorf("longer values are %v and %v", a, b)
	}
}

func TestParse(t *testing.T) {
	s := Make([]Setting{{"optimizer", "Adam{Beta1:0.9}"}, {"no_decay", "<bias>\n"}, {"name\xff", strings.Repeat("é", maxValue)}})
	got, err := Parse(s.Encode())
	if err != nil || len(got.Differences(s)) > 0 || !bytes.Equal(got.Encode(), s.Encode()) {
		t.Errorf("%v, %v: expected %v", got, err, s)
	}
	for _, bad := range []string{"", "[]", `{"a":1}`, `"` + strings.Repeat("x", 2*maxText) + `"`} {
		if s, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%.20q: %v, expected an error", bad, s)
		}
	}
}

func TestDifferErrorNamesSome(t *testing.T) {
	e := &DifferError{Mine: "one", Theirs: "two", Differences: []Difference{{"learning_rate", "0.2", "0.1"}}}
	if got := e.Error(); !strings.Contains(got, "one has learning_rate=0.2; two has learning_rate=0.1:") || !errors.Is(e, ErrDiffer) {
		t.Error(got)
	}
	for range maxNamed {
		e.Differences = append(e.Differences, Difference{"x", "1", "2"})
	}
	if got := e.Error(); strings.Count(got, "x=1") != maxNamed-1 || !strings.Contains(got, "; 1 more differ") {
		t.Error(got)
	}
}
