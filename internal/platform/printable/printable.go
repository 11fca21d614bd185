package printable

import (
	"strconv"
	"strings"
	"unicode"
)

// Text returns s with every character that is neither graphic nor a space escaped as in a Go
// string: a line break as \n, the escape character as \x1b.
func Text(s string) string {
	if !strings.ContainsFunc(s, hidden) && strings.ToValidUTF8(s, "") == s {
		return s
	}
	var b []byte
	for i, r := range s {
		switch {
		case r == '\uFFFD' && !strings.HasPrefix(s[i:], "\uFFFD"): // an invalid UTF-8 byte
			b = append(b, `\x`...)
			b = append(b, hex[s[i]>>4], hex[s[i]&15])
		case hidden(r):
			q := strconv.AppendQuoteRune(nil, r)
			b = append(b, q[1:len(q)-1]...)
		default:
			b = append(b, string(r)...)
		}
	}
	return string(b)
}

const hex = "0123456789abcdef"

func hidden(r rune) bool { return !strconv.IsGraphic(r) }

// Value returns s as the value of a key=value pair: quoted as a Go string if it could
// otherwise be taken for more than one value.
func Value(s string) string {
	if s == "" || strings.ContainsAny(s, "=\"") || strings.ContainsFunc(s, unicode.IsSpace) || Text(s) != s {
		return strconv.QuoteToGraphic(s)
	}
	return s
}

// Short returns s, or its beginning of at most most bytes followed by "...".
func Short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
