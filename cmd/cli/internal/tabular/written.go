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
	decimals     [2]string // the marks that are tried: the file's, then the other one
	numbers      [2]int64  // texts that are numbers by them
	plainPoints  int64     // plain numbers that only the file's mark reads
	units        map[[2]string]bool
	bare         bool             // some are without one
	scaled       bool             // some units are multipliers, as of 1.2K
	unread       [2]string        // for each mark a text that is no number by it
	words        map[string]int64 // texts without a digit, one kind more than may be missing values
	dates        [3]int64         // by the order
	times, hours int64            // texts that have a time, and those that have nothing else
	failed       int64            // texts that are none of it
}

const (
	mostUnits  = 16 // different units of a column of numbers, which are then converted
	mostFailed = 64 // texts that are none of it, after which no more are looked at
)

// orders are those of dates, of equally good ones the first.
var orders = [3]textvalue.Order{textvalue.YMD, textvalue.DMY, textvalue.MDY}

func newWritten(decimal string) *written {
	w := &written{decimals: [2]string{".", ","}, units: map[[2]string]bool{}, words: map[string]int64{}}
	if decimal == "," {
		w.decimals = [2]string{",", "."}
	}
	return w
}

// plain notes a number without anything else.
func (w *written) plain(cell string) {
	if strings.ContainsAny(cell, w.decimals[0]) {
		w.plainPoints++
	}
}

// add looks at a text that is no number.
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

// missingWord counts a text without digits, and reports whether it is one of few kinds, which may all stand for missing values.
func (w *written) missingWord(cell string) bool {
	if _, known := w.words[cell]; known || len(w.words) <= mostMissingWords {
		w.words[cell]++
	}
	return len(w.words) <= mostMissingWords
}

// unit notes the words around a number. M is millions, m may be metres; else the case of letters says nothing.
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

// multipliers are units that numbers without one do not have by mere omission: 900 beside 1.2K is not 900K.
var multipliers = []string{"k", "m", "M", "mn", "mio", "mil", "mln", "million", "b", "bn", "billion", "t", "thousand", "%", "‰"}

// isCurrency reports whether a word before a number says in what money it is.
func isCurrency(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Sc, r) }) ||
		slices.Contains([]string{"USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "Rs", "kr"}, s)
}

// order is the one that reads the most dates. Where days and months can be told apart in no date, points and dashes stand behind days.
func (w *written) order() textvalue.Order {
	best := 0
	for i, n := range w.dates {
		if n > w.dates[best] {
			best = i
		}
	}
	return orders[best]
}

// missing counts the words, such as unknown, that stand for missing values in a column of so many texts and numbers: there are few kinds of
// them, in less than half of the rows.
func (w *written) missing(all int64) (n int64) {
	for _, count := range w.words {
		n += count
	}
	if len(w.words) > mostMissingWords || 2*n >= all {
		return 0
	}
	return n
}

// reading is what a column of so many plain numbers and other texts is read as; slash says that dates have slashes.
func (w *written) reading(plain, others int64, slash bool) textvalue.Reading {
	enough := func(n int64) bool { return n > 0 && 100*(others-n) <= others+plain } // but for one of a hundred
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

// commonUnit is what the units of the numbers are converted into, empty where all have the same one; ok is false where they have nothing in
// common. Bare numbers, which have no unit, go with thousands and millions alone: 900 beside 1.2K is 900, but beside 5 kg and 3 g it may be either.
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
			return "", false // of two currencies
		}
		bare = bare || u[1] == ""
		behind = append(behind, u[1])
	}
	unit, ok = textvalue.CommonUnit(behind)
	return unit, ok && (unit == "one" || !bare)
}

// odd counts the texts, of so many, that the reading of a column of numbers does not read: they are missing.
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

// dated counts the texts that the reading of a column of dates reads: the others are missing.
func (w *written) dated(r textvalue.Reading) int64 {
	if r.Part == textvalue.Hour {
		return w.hours
	}
	return slices.Max(w.dates[:])
}

// decimalKey is the mark as declarations have it.
func decimalKey(mark string) string {
	if mark == "." {
		return ""
	}
	return mark
}

// measure takes the numbers of a column that is read as such from the rows of the sample.
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

// number is the number of a cell of a column.
func (p *Profile) number(i int, cell string) (float64, bool) {
	if r := p.Columns[i].Reading; r.Part == textvalue.Number {
		v := r.Parse([]byte(cell))
		return v, !math.IsNaN(v)
	}
	return parseNumber(cell, p.Form.Decimal)
}

// Parts are the parts of the dates of a column that differ from row to row, in the sample.
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
