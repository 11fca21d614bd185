package textvalue

import (
	"math"
	"regexp"
	"strconv"
)

// DateForm says how dates are written: Pattern matches a whole text, and has the groups year, month (its digits), day, midnight (the hour
// of 24:00), any other hour, minute, the half of the day (am or pm), and names of months, at most one of them not empty. Parts that are not
// written are empty.
type DateForm struct {
	Pattern                                        string
	Year, Month, Day, Midnight, Hour, Minute, Half int // groups
	Names                                          []int
}

const (
	between    = `[-/.]`
	yearDigits = `([0-9]{4}|[0-9]{2})`
	monthForm  = `(0?[1-9]|1[0-2])`
	dayForm    = `(0?[1-9]|[12][0-9]|3[01])`
	gaps       = `[-/., ]*`
	behindDay  = `(?i:st|nd|rd|th)?`
	monthName  = `((?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))`
	dayName    = `(?:(?i:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?i:day)?[., ]+)?`
	clock      = `(?:(24):00(?::00)?|([01]?[0-9]|2[0-3]):([0-5][0-9])(?::[0-9]{2}(?:[.,][0-9]+)?)?)\s*([AaPp])?(?:[Mm])?\s*(?:Z|UTC|[+-][0-9]{2}:?(?:[0-9]{2})?)?`
)

// MonthBits are patterns for names of months: pattern k matches the months whose number has bit 2^k set, so the matching bits sum to the number.
var MonthBits = [4]string{`(?i:jan|mar|may|jul|sep|nov).*`, `(?i:feb|mar|jun|jul|oct|nov).*`, `(?i:apr|may|jun|jul|dec).*`, `(?i:aug|sep|oct|nov|dec).*`}

// DateFormOf is the form of dates in an order, with the month as a number or by its English name. If hours are read, the time of day is
// required and the date is optional.
func DateFormOf(o Order, hours bool) DateForm {
	f := DateForm{Year: 1, Month: 2, Names: []int{3}, Day: 4, Midnight: 5, Hour: 6, Minute: 7, Half: 8}
	date := `([0-9]{4})(?:` + between + monthForm + `|` + gaps + monthName + `)(?:[-/. ]` + dayForm + `)?`
	switch o {
	case DMY:
		date = dayForm + `(?:` + between + monthForm + between + `|` + behindDay + gaps + `(?:of )?` + monthName + gaps + `)` + yearDigits
		f.Day, f.Month, f.Names, f.Year = 1, 2, []int{3}, 4
	case MDY: // or a month and its year
		date = `(?:(?:` + monthForm + between + `|` + monthName + gaps + `)` + dayForm + `(?:` + between + `|` + behindDay + `[-/., ]+)|` + monthName + gaps + `)` + yearDigits
		f = DateForm{Month: 1, Names: []int{2, 4}, Day: 3, Year: 5, Midnight: 6, Hour: 7, Minute: 8, Half: 9}
	}
	date = dayName + date
	f.Pattern = `\s*` + date + `(?:[T ,]+` + clock + `)?\s*`
	if hours {
		f.Pattern = `\s*(?:` + date + `[T ,]+)?` + clock + `\s*`
	}
	return f
}

// dateRE has the patterns by order, without and with hours.
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
	month := number(f.Month)
	for _, group := range f.Names {
		month += monthOf(m[group])
	}
	year, day := fullYear(number(f.Year)), max(number(f.Day), 1)
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

var monthBits = func() (out [4]*regexp.Regexp) {
	for i, p := range MonthBits {
		out[i] = regexp.MustCompile(`^(?:` + p + `)$`)
	}
	return out
}()

// monthOf is the number of a month by its name, 0 for an empty one.
func monthOf(name []byte) int64 {
	n := int64(0)
	for i, re := range monthBits {
		if re.Match(name) {
			n += 1 << i
		}
	}
	return n
}

// fullYear is the year for two digits as in strptime: below 69 they are in this century.
func fullYear(y int64) int64 {
	switch {
	case y < 69:
		return y + 2000
	case y < 100:
		return y + 1900
	}
	return y
}

// daysOf counts the days from 1970-01-01 in the Gregorian calendar. Years begin in March, so that a leap day is the last day.
func daysOf(year, month, day int64) int64 {
	m := floorMod(month+9, 12)
	y := year - floorDiv(m, 10)
	return 365*y + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400) + floorDiv(m*306+5, 10) + day - 1 - 719468
}

func floorDiv(a, b int64) int64 { return (a - floorMod(a, b)) / b }

func floorMod(a, b int64) int64 { return ((a % b) + b) % b }
