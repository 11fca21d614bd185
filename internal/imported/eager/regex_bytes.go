package eager

import (
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// byteRegexp matches as RE2 does also in strings that are not UTF-8: no part of a pattern matches a byte outside of a character. Package
// regexp reads such a byte as U+FFFD, which "." and classes such as [^0-9] match.
type byteRegexp struct {
	*regexp.Regexp
	strict func() *regexp.Regexp // never matches U+FFFD
}

func newByteRegexp(pattern string) (byteRegexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return byteRegexp{}, err
	}
	return byteRegexp{re, sync.OnceValue(func() *regexp.Regexp {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return re
		}
		leaveOut(tree)
		strict, err := regexp.Compile(tree.String())
		if err != nil {
			return re
		}
		return strict
	})}, nil
}

// in returns the expression for a string. In a string that is not UTF-8, it doesn't match a literal U+FFFD either.
func (r byteRegexp) in(s []byte) *regexp.Regexp {
	if utf8.Valid(s) {
		return r.Regexp
	}
	return r.strict()
}

// leaveOut removes U+FFFD from what an expression matches.
func leaveOut(re *syntax.Regexp) {
	for _, sub := range re.Sub {
		leaveOut(sub)
	}
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op, re.Rune = syntax.OpCharClass, without(utf8.RuneError, []rune{0, utf8.MaxRune})
	case syntax.OpAnyCharNotNL:
		re.Op, re.Rune = syntax.OpCharClass, without(utf8.RuneError, []rune{0, '\n' - 1, '\n' + 1, utf8.MaxRune})
	case syntax.OpCharClass:
		re.Rune = without(utf8.RuneError, re.Rune)
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == utf8.RuneError {
				re.Op, re.Rune = syntax.OpNoMatch, nil
				break
			}
		}
	}
}

// without returns a class, pairs of first and last characters of ranges, without a character.
func without(r rune, class []rune) []rune {
	var out []rune
	for i := 0; i < len(class); i += 2 {
		lo, hi := class[i], class[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}
