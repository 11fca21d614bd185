package textvalue

import (
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// NumberForm says how numbers are written. A text is a number if Pattern matches all of it: a sign, a currency or another word before
// it, digits with or without thousands separators, a fraction, an exponent, and a unit after it.
type NumberForm struct {
	Pattern    string // groups 1 and 2 are the sign (at most one is not empty), group 3 the digits
	WithUnit   string // Pattern, with the unit as group 4
	Minus      string // matches the minus sign, which becomes a hyphen
	Separators string // matches separators between digits, which are dropped
	Decimal    string // the decimal mark, which becomes a point
}

const (
	space = ` \x{a0}\x{202f}`
	gap   = `[\s` + space + `]*`
	// minus are the minus signs: the hyphen, the minus, the en dash, and the wide and the small hyphen.
	minus = `\-\x{2212}\x{2013}\x{ff0d}\x{fe63}`
	// noWord are characters that are never in a word: after digits, some of them make a range, a date or a ratio.
	noWord     = `0-9\s+.,()"':/_\p{Pd}` + minus + space
	wordBefore = `[^` + noWord + `]{0,8}`
	unitFirst  = `[^` + noWord + `*×^;|=<>~]` // nor characters of calculations and lists
	unitBehind = `(?:` + gap + `(?:` + unitFirst + `[^0-9\s]{0,15}|(?:` + unitFirst + `[^0-9\s]{0,13})?[mMtdn]\^?[23])(?:\s[^0-9\s]{1,15})?)?`
)

func numberForm(group, decimal, mark string) NumberForm {
	digits := `(?:[0-9]{1,3}(?:[` + group + `'_` + space + `][0-9]{3})+|[0-9]+)(?:` + decimal + `[0-9]+)?|` + decimal + `[0-9]+`
	sign := `(?:\+|([` + minus + `]))`
	number := gap + `(?:` + sign + gap + wordBefore + gap + `|` + wordBefore + gap + sign + `?)((?:` + digits + `)(?:[eE][-+]?[0-9]{1,3})?)` + decimal + `?`
	return NumberForm{
		Pattern:    number + unitBehind + gap,
		WithUnit:   number + `(` + unitBehind + `)` + gap,
		Minus:      `^[` + minus + `]`,
		Separators: `[` + group + `'_` + space + `]`,
		Decimal:    mark,
	}
}

var (
	points = numberForm(`,`, `\.`, ".")
	commas = numberForm(`.`, `,`, ",")

	pointsRE, commasRE    = regexp.MustCompile(`^(?:` + points.WithUnit + `)$`), regexp.MustCompile(`^(?:` + commas.WithUnit + `)$`)
	pointsSeps, commaSeps = regexp.MustCompile(points.Separators), regexp.MustCompile(commas.Separators)
)

// FormOf is the form of numbers with a decimal mark; "" means ".".
func FormOf(decimal string) NumberForm {
	if decimal == "," {
		return commas
	}
	return points
}

func parseNumber(text []byte, decimal, unit string) float64 {
	re, seps := pointsRE, pointsSeps
	if decimal == "," {
		re, seps = commasRE, commaSeps
	}
	m := re.FindSubmatch(text)
	if m == nil {
		return math.NaN()
	}
	digits := seps.ReplaceAll(m[3], nil)
	if decimal == "," {
		for i, b := range digits {
			if b == ',' {
				digits[i] = '.'
			}
		}
	}
	sign := ""
	if len(m[1])+len(m[2]) > 0 {
		sign = "-"
	}
	v, err := strconv.ParseFloat(sign+string(digits), 64)
	if err != nil && !math.IsInf(v, 0) {
		return math.NaN()
	}
	if unit != "" {
		v *= factorOf(m[4], unit)
	}
	return v
}

// Units returns the text before and after the digits of a number, without its sign.
func Units(text, decimal string) (before, behind string, ok bool) {
	if !utf8.ValidString(text) {
		return "", "", false
	}
	re := pointsRE
	if decimal == "," {
		re = commasRE
	}
	m := re.FindStringSubmatchIndex(text)
	if m == nil {
		return "", "", false
	}
	return word.FindString(text[:m[6]]), word.FindString(text[m[7]:]), true
}

var word = regexp.MustCompile(`[^+.,\s` + minus + space + `](?:.*[^+\s` + minus + space + `])?`)
