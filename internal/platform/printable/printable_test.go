package printable

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"half_plus_two":          "half_plus_two",
		"a b=\"c\"":              "a b=\"c\"",
		"Zürich, 東京 ✓":           "Zürich, 東京 ✓",
		"m\nready grpc=:8500":    `m\nready grpc=:8500`,
		"\x1b[2J\r\t\x00\x7f":    `\x1b[2J\r\t\x00\x7f`,
		"\u009b31m":              `\u009b31m`,
		"\u202etxt.exe\u2028":    `\u202etxt.exe\u2028`,
		"\xff\xc3(":              `\xff\xc3(`,
		"\uFFFD kept":            "\uFFFD kept",
		"\U000e0001":             `\U000e0001`,
		"it's":                   "it's",
		`C:\new`:                 `C:\new`,
		"zero\u200bwidth\u00a0.": "zero\\u200bwidth\u00a0.",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: got %s, expected %s", in, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "a": "a", "a b": `"a b"`, "a=b": `"a=b"`, `"`: `"\""`, "\n": `"\n"`, "127.0.0.1:8500": "127.0.0.1:8500", "a,b": "a,b",
	} {
		if got := Value(in); got != want {
			t.Errorf("%q: got %s, expected %s", in, got, want)
		}
	}
}

// Every input becomes printable; a quoted value reads back unchanged.
func TestNothingHiddenComesOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, out := range []string{Text(s), Value(s)} {
			if !utf8.ValidString(out) || strings.ContainsFunc(out, hidden) {
				t.Fatalf("%q became %q", s, out)
			}
		}
		v := Value(s)
		if back, err := strconv.Unquote(v); v[0] == '"' && (err != nil || back != s) || v[0] != '"' && v != s {
			t.Fatalf("%q became %s, which reads %q, %v", s, v, back, err)
		}
	})
}

func ExampleText() {
	fmt.Println("no model " + Text("m\x1b[31m\nready"))
	// Output: no model m\x1b[31m\nready
}

func TestShort(t *testing.T) {
	for in, want := range map[string]string{"": "", "four": "four", "abcde": "abcd...", "abcé": "abc...", "éé": "éé", "ééx": "éé..."} {
		if got := Short(in, 4); got != want {
			t.Errorf("%q: got %q, expected %q", in, got, want)
		}
	}
}
