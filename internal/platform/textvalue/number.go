package textvalue

import (
	"math"
	"regexp"
	"strconv"
)

// NumberForm states how numbers are written. A text that Pattern matches as a whole is one: a sign, a currency or another word before
// it, digits with or without separators of thousands, a fraction, an exponent, and a unit behind it.
type NumberForm struct {
	Pattern    string // groups 1 and 2 are the sign, of which one is empty at least, group 3 the digits
	Separators string // matches what stands between digits and is left out
	Decimal    string // the mark that becomes a point
}

const (
	wordBefore = `[^0-9+\-.,\s()"':/_]{0,8}`
	unitBehind = `(?:\s*[^0-9\s+\-.,()"':/_][^0-9\s]{0,15}[23]?(?:\s[^0-9\s]{1,15})?)?`
	space      = ` \x{a0}\x{202f}`
)

func numberForm(group, decimal, mark string) NumberForm {
	digits := `(?:[0-9]{1,3}(?:[` + group + `'_` + space + `][0-9]{3})+|[0-9]+)(?:` + decimal + `[0-9]+)?|` + decimal + `[0-9]+`
	return NumberForm{
		Pattern:    `\s*(?:(?:\+|(-))\s*` + wordBefore + `\s*|` + wordBefore + `\s*(?:\+|(-))?)((?:` + digits + `)(?:[eE][-+]?[0-9]{1,3})?)` + decimal + `?` + unitBehind + `\s*`,
		Separators: `[` + group + `'_` + space + `]`,
		Decimal:    mark,
	}
}

var (
	points = numberForm(`,`, `\.`, ".")
	commas = numberForm(`.`, `,`, ",")

	pointsRE, commasRE    = regexp.MustCompile(`^(?:` + points.Pattern + `)$`), regexp.MustCompile(`^(?:` + commas.Pattern + `)$`)
	pointsSeps, commaSeps = regexp.MustCompile(points.Separators), regexp.MustCompile(commas.Separators)
)

// FormOf is the form of numbers with a decimal mark; "" is ".".
func FormOf(decimal string) NumberForm {
	if decimal == "," {
		return commas
	}
	return points
}

func parseNumber(text []byte, decimal string) float64 {
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
	v, err := strconv.ParseFloat(string(m[1])+string(m[2])+string(digits), 64)
	if err != nil && !math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// Units are what stands before and behind the digits of a number.
func Units(text, decimal string) (before, behind string, ok bool) {
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

var word = regexp.MustCompile(`[^\s+\-.,].*[^\s+\-]|[^\s+\-.,]`)
