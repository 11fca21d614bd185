package spelling

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func Example() {
	fmt.Println(Nearest("confg", []string{"checkpoint", "config", "json"}))
	// Output: config
}

func TestNearest(t *testing.T) {
	known := []string{"config", "fast-dev-run", "json", "on", "ps", "set", "output-format", "output", "outset"}
	for name, want := range map[string]string{
		"config": "config", "conifg": "config", "colour": "", "": "", "fastdevrun": "fast-dev-run", "sets": "set", "jsn": "json",
		"xy":  "", // two letters of two may not differ
		"out": "output", "outp": "output", "output-": "output-format", "ou": "on", "outs": "outset",
		"px": "ps", "quite-another-name": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, expected %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 1}, {"mpl", "mlp", 1}, {"abc", "cab", 2}, {"ca", "abc", 3}, {"same", "same", 0}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, expected %d", c.a, c.b, got, c.want)
		}
	}
}

// Swapped neighbours are one edit, so a swap beats two replacements.
func TestNearestExchange(t *testing.T) {
	if got := Nearest("mpl", []string{"gpt", "mlp"}); got != "mlp" {
		t.Errorf("got %q, expected mlp", got)
	}
}

// Only equal words have distance zero, the distance is symmetric, and one edit is a distance of one.
func TestDistanceProperties(t *testing.T) {
	word := rapid.StringMatching(`[a-c]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if (Distance(a, b) == 0) != (a == b) || Distance(a, b) != Distance(b, a) {
			t.Fatalf("%q and %q: %d and %d", a, b, Distance(a, b), Distance(b, a))
		}
		i := rapid.IntRange(0, len(a)).Draw(t, "at")
		if got := Distance(a, a[:i]+"x"+a[i:]); got != 1 {
			t.Fatalf("an insertion: %d", got)
		}
		if strings.Contains(a, b) && Distance(a, b) != len(a)-len(b) {
			t.Fatalf("a part: %d", Distance(a, b))
		}
	})
}
