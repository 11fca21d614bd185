package tabular

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/goestimator/goestimator/internal/platform/textvalue"
)

// written counts the texts of a column that are numbers with units or separators, or dates.
type written struct {
	decimals     [2]string // decimal marks to try: the file's, then the other one
	numbers      [2]int64  // texts that are numbers with each mark
	plainPoints  int64     // plain numbers that contain the file's mark
	units        map[[2]string]bool
	bare         bool             // some numbers have no unit
	scaled       bool             // some units are multipliers, such as K in 1.2K
	unread       [2]string        // for each mark, a text that is no number with it
	words        map[string]int64 // texts without digits; one more than can be missing values
	dates        [3]int64         // texts that are dates, by order
	times, hours int64            // texts with a time, and texts with only a time
	failed       int64            // texts that are none of these
}

const (
	mostUnits  = 16 // limit on the different units of a column, which are converted to one
	mostFailed = 64 // texts that are none of these, after which add gives up
)

// orders are the orders of dates; among equally good ones, the first is chosen.
var orders = [3]textvalue.Order{textvalue.YMD, textvalue.DMY, textvalue.MDY}

func newWritten(decimal string) *written {
	w := &written{decimals: [2]string{".", ","}, units: map[[2]string]bool{}, words: map[string]int64{}}
	if decimal == "," {
		w.decimals = [2]string{",", "."}
	}
	return w
}

// plain counts a plain number.
func (w *written) plain(cell string) {
	if strings.ContainsAny(cell, w.decimals[0]) {
		w.plainPoints++
	}
}

// add counts a text that is no plain number.
func (w *written) add(cell string) {
	if w.failed > mostFailed && w.failed > w.numbers[0]+w.numbers[1]+slices.Max(w.dates[:])+w.hours {
		return
	}
	digits := strings.ContainsAny(cell, "0123456789")
	if len(cell) > 64 || !digits {
		w.unread = [2]string{cmp.Or(w.unread[0], cell), cmp.Or(w.unread[1], cell)}
		if digits || !w.missingWord(cell) {
			w.failed++
		}
		return
	}
	known := false
	for i, d := range w.decimals {
		before, behind, ok := textvalue.Units(cell, d)
		if !ok || before != "" && !isCurrency(before) {
			w.unread[i] = cmp.Or(w.unread[i], cell)
			continue
		}
		known = true
		w.numbers[i]++
		w.unit(before, behind)
	}
	dated := false
	for i, o := range orders {
		if !math.IsNaN(textvalue.Reading{Part: textvalue.Year, Order: o}.Parse([]byte(cell))) {
			known, dated = true, true
			w.dates[i]++
		}
	}
	if strings.Contains(cell, ":") {
		if !math.IsNaN(textvalue.Reading{Part: textvalue.Hour, Order: w.order()}.Parse([]byte(cell))) {
			known = true
			w.times++
			if !dated {
				w.hours++
			}
		}
	}
	if !known {
		w.failed++
	}
}

// missingWord counts a text without digits, and reports whether there are few enough different ones to stand for missing values.
func (w *written) missingWord(cell string) bool {
	if _, known := w.words[cell]; known || len(w.words) <= mostMissingWords {
		w.words[cell]++
	}
	return len(w.words) <= mostMissingWords
}

// unit records the words around a number. M is millions while m may be metres; otherwise case does not matter.
func (w *written) unit(before, behind string) {
	if before == "" && behind == "" {
		w.bare = true
		return
	}
	if behind != "M" {
		behind = strings.ToLower(behind)
	}
	if len(behind) > 3 {
		behind = strings.TrimSuffix(behind, "s") // 1 day, 2 days
	}
	if first, _, _ := strings.Cut(behind, " "); slices.Contains(multipliers, first) {
		w.scaled = true
	}
	if len(w.units) <= mostUnits {
		w.units[[2]string{before, behind}] = true
	}
}

// multipliers are units that are never implied: 900 beside 1.2K is not 900K.
var multipliers = []string{"k", "m", "M", "mn", "mio", "mil", "mln", "million", "b", "bn", "billion", "t", "thousand", "%", "‰"}

// isCurrency reports whether the word before a number is a currency.
func isCurrency(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Sc, r) }) ||
		slices.Contains([]string{"USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "Rs", "kr"}, s)
}

// order is the order that reads the most dates. If no date distinguishes days from months, days come first; reading corrects that for slashes.
func (w *written) order() textvalue.Order {
	best := 0
	for i, n := range w.dates {
		if n > w.dates[best] {
			best = i
		}
	}
	return orders[best]
}

// missing counts the words, such as unknown, that stand for missing values in a column with so many texts and numbers. There must be few
// different ones, in less than half of the rows.
func (w *written) missing(all int64) (n int64) {
	for _, count := range w.words {
		n += count
	}
	if len(w.words) > mostMissingWords || 2*n >= all {
		return 0
	}
	return n
}

// reading says how to parse a column with so many plain numbers and other texts; slash reports whether dates have slashes.
func (w *written) reading(plain, others int64, slash bool) textvalue.Reading {
	enough := func(n int64) bool { return n > 0 && 100*(others-n) <= others+plain } // all but one in a hundred
	date := w.order()
	if date == textvalue.DMY && slash && w.dates[1] == w.dates[2] {
		date = textvalue.MDY
	}
	dates := slices.Max(w.dates[:])
	switch {
	case plain == 0 && enough(dates):
		return textvalue.Reading{Part: textvalue.Days, Order: date}
	case plain == 0 && enough(w.hours):
		return textvalue.Reading{Part: textvalue.Hour}
	}
	unit, ok := w.commonUnit(w.bare || plain > 0)
	switch {
	case !ok:
	case enough(w.numbers[0]):
		return textvalue.Reading{Part: textvalue.Number, Decimal: decimalKey(w.decimals[0]), Unit: unit}
	case w.plainPoints == 0 && enough(w.numbers[1]):
		return textvalue.Reading{Part: textvalue.Number, Decimal: decimalKey(w.decimals[1]), Unit: unit}
	}
	return textvalue.Reading{}
}

// commonUnit is the unit that numbers are converted to, empty if all have the same; ok is false if units have nothing in common.
// Numbers without a unit only go with multipliers such as thousands: 900 beside 1.2K is 900, but beside 5 kg and 3 g it is ambiguous.
func (w *written) commonUnit(bare bool) (unit string, ok bool) {
	if len(w.units) <= 1 && !(w.scaled && bare) {
		return "", true
	}
	if len(w.units) > mostUnits {
		return "", false
	}
	var behind []string
	money := ""
	for u := range w.units {
		if money = cmp.Or(money, u[0]); u[0] != money && u[0] != "" {
			return "", false // two currencies
		}
		bare = bare || u[1] == ""
		behind = append(behind, u[1])
	}
	unit, ok = textvalue.CommonUnit(behind)
	return unit, ok && (unit == "one" || !bare)
}

// odd counts the texts, out of others, that the reading of a numeric column cannot parse. They are missing.
func (w *written) odd(c *Column, others int64) {
	at := 0
	if decimalKey(w.decimals[0]) != c.Reading.Decimal {
		at = 1
	}
	if c.Odd = others - w.numbers[at]; c.Odd > 0 {
		c.OddText = w.unread[at]
	}
	c.Missing += c.Odd
}

// dated counts the texts that the reading of a date column can parse. The others are missing.
func (w *written) dated(r textvalue.Reading) int64 {
	if r.Part == textvalue.Hour {
		return w.hours
	}
	return slices.Max(w.dates[:])
}

// decimalKey is the decimal mark in a column declaration.
func decimalKey(mark string) string {
	if mark == "." {
		return ""
	}
	return mark
}

// measure computes the statistics of a column parsed as numbers, from the rows of the sample.
func (p *Profile) measure(i int) {
	c := &p.Columns[i]
	w := newWatcher(c.Name, Unknown, "", len(p.Columns))
	for _, row := range p.sample {
		if v, ok := p.number(i, row[i]); ok {
			w.number(v)
		}
	}
	w.measured(c)
	c.Steady = false
}

// number is the number in a cell of column i.
func (p *Profile) number(i int, cell string) (float64, bool) {
	if r := p.Columns[i].Reading; r.Part == textvalue.Number {
		v := r.Parse([]byte(cell))
		return v, !math.IsNaN(v)
	}
	return parseNumber(cell, p.Form.Decimal)
}

// Parts returns the parts of a date column that differ between rows of the sample.
func (p *Profile) Parts(i int) []textvalue.Part {
	r := p.Columns[i].Reading
	parts := []textvalue.Part{textvalue.Days, textvalue.Year, textvalue.Month, textvalue.Day, textvalue.Weekday, textvalue.Hour}
	if r.Part == textvalue.Hour {
		parts = parts[5:]
	}
	return slices.DeleteFunc(parts, func(part textvalue.Part) bool {
		r.Part = part
		first, differ := math.NaN(), false
		for _, row := range p.sample {
			v := r.Parse([]byte(row[i]))
			if math.IsNaN(first) {
				first = v
			}
			differ = differ || !math.IsNaN(v) && v != first
		}
		return !differ
	})
}
