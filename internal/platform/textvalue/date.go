package textvalue

import (
	"math"
	"regexp"
	"strconv"
)

// DateForm states how dates are written: Pattern matches a whole text, and has the groups year, month, day, midnight (the hour of 24:00), any
// other hour, minute and the half of the day (am or pm). What is not written is empty.
type DateForm struct {
	Pattern                                        string
	Year, Month, Day, Midnight, Hour, Minute, Half int // groups
}

const (
	between    = `[-/.]`
	yearDigits = `([0-9]{4}|[0-9]{2})`
	monthForm  = `(0?[1-9]|1[0-2])`
	dayForm    = `(0?[1-9]|[12][0-9]|3[01])`
	clock      = `(?:(24):00(?::00)?|([01]?[0-9]|2[0-3]):([0-5][0-9])(?::[0-9]{2}(?:[.,][0-9]+)?)?)\s*([AaPp])?(?:[Mm])?\s*(?:Z|UTC|[+-][0-9]{2}:?(?:[0-9]{2})?)?`
)

// DateFormOf is the form of dates of an order. Where hours are read there must be a time of day, and there may be a date.
func DateFormOf(o Order, hours bool) DateForm {
	f := DateForm{Year: 1, Month: 2, Day: 3, Midnight: 4, Hour: 5, Minute: 6, Half: 7}
	date := `([0-9]{4})` + between + monthForm + `(?:` + between + dayForm + `)?`
	switch o {
	case DMY:
		date = dayForm + between + monthForm + between + yearDigits
		f.Day, f.Year = 1, 3
	case MDY:
		date = monthForm + between + dayForm + between + yearDigits
		f.Month, f.Day, f.Year = 1, 2, 3
	}
	f.Pattern = `\s*` + date + `(?:[T ,]+` + clock + `)?\s*`
	if hours {
		f.Pattern = `\s*(?:` + date + `[T ,]+)?` + clock + `\s*`
	}
	return f
}

// dateRE are the patterns by order, with and without hours.
var dateRE = func() map[Order][2]*regexp.Regexp {
	out := map[Order][2]*regexp.Regexp{}
	for _, o := range []Order{YMD, DMY, MDY} {
		for i, hours := range []bool{false, true} {
			list := out[o]
			list[i] = regexp.MustCompile(`^(?:` + DateFormOf(o, hours).Pattern + `)$`)
			out[o] = list
		}
	}
	return out
}()

func parseDate(text []byte, r Reading) float64 {
	o := r.Order
	if o == "" {
		o = YMD
	}
	hours := 0
	if r.Part == Hour {
		hours = 1
	}
	m := dateRE[o][hours].FindSubmatch(text)
	if m == nil {
		return math.NaN()
	}
	f := DateFormOf(o, r.Part == Hour)
	number := func(group int) int64 {
		n, _ := strconv.ParseInt("0"+string(m[group]), 10, 64) // at most four digits
		return n
	}
	if r.Part == Hour {
		h := number(f.Midnight) + number(f.Hour)
		if half := string(m[f.Half]); half != "" {
			h %= 12
			if half == "p" || half == "P" {
				h += 12
			}
		}
		return float64(h) + float64(number(f.Minute))/60
	}
	year, month, day := fullYear(number(f.Year)), number(f.Month), max(number(f.Day), 1)
	switch r.Part {
	case Year:
		return float64(year)
	case Month:
		return float64(month)
	case Day:
		return float64(day)
	case Weekday:
		return float64(floorMod(daysOf(year, month, day)+4, 7))
	}
	return float64(daysOf(year, month, day))
}

// fullYear is the year of two digits that strptime has: those below 69 are of this century.
func fullYear(y int64) int64 {
	switch {
	case y < 69:
		return y + 2000
	case y < 100:
		return y + 1900
	}
	return y
}

// daysOf counts the days since 1970-01-01 of the Gregorian calendar. A year begins in March, so that the day that some years have more is its
// last one.
func daysOf(year, month, day int64) int64 {
	m := floorMod(month+9, 12)
	y := year - floorDiv(m, 10)
	return 365*y + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400) + floorDiv(m*306+5, 10) + day - 1 - 719468
}

func floorDiv(a, b int64) int64 { return (a - floorMod(a, b)) / b }

func floorMod(a, b int64) int64 { return ((a % b) + b) % b }
