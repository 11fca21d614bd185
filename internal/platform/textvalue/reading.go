package textvalue

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Reading says what to read from a text. The zero value reads nothing.
type Reading struct {
	Part    Part
	Order   Order  // of dates; "": YMD
	Decimal string // of numbers: the mark before the fraction, "." or ","; "": "."
	Unit    string // of numbers: the unit into which they are converted, see UnitNames; "": no conversion
}

// Part is the part that is read: a number, or a part of a date.
type Part string

// The parts.
const (
	Number  Part = "number"
	Days    Part = "days" // since 1970-01-01
	Year    Part = "year"
	Month   Part = "month"
	Day     Part = "day"     // of the month
	Weekday Part = "weekday" // 0 is Sunday
	Hour    Part = "hour"    // of the day, minutes as its fraction
)

// Parts are the known parts.
func Parts() []string {
	return []string{string(Number), string(Days), string(Year), string(Month), string(Day), string(Weekday), string(Hour)}
}

// Order is the order of year, month and day.
type Order string

// The orders.
const (
	YMD Order = "ymd"
	DMY Order = "dmy"
	MDY Order = "mdy"
)

// Orders are the known orders.
func Orders() []string { return []string{string(YMD), string(DMY), string(MDY)} }

// Check returns an error for an unknown reading.
func (r Reading) Check() error {
	number := r.Part == Number
	switch {
	case !slices.Contains(Parts(), string(r.Part)):
		return fmt.Errorf("read: expected one of %s, got %q", strings.Join(Parts(), ", "), r.Part)
	case number && r.Order != "":
		return fmt.Errorf("date_order says nothing about a number: leave it out")
	case !number && r.Decimal != "":
		return fmt.Errorf("decimal says nothing about a date: leave it out")
	case !number && r.Unit != "":
		return fmt.Errorf("unit says nothing about a date: leave it out")
	case r.Order != "" && !slices.Contains(Orders(), string(r.Order)):
		return fmt.Errorf("date_order: expected one of %s, got %q", strings.Join(Orders(), ", "), r.Order)
	case r.Decimal != "" && r.Decimal != "." && r.Decimal != ",":
		return fmt.Errorf("decimal: expected . or a comma, got %q", r.Decimal)
	}
	return checkUnit(r.Unit)
}

// String is a form such as number, or month, dmy.
func (r Reading) String() string {
	s := string(r.Part)
	for _, more := range []string{string(r.Order), r.Decimal, r.Unit} {
		if more != "" {
			s += " " + more
		}
	}
	return s
}

// Parse returns the value read from a text, or NaN if it does not have the form. Text that is not UTF-8 never has it: in
// TensorFlow's regular expressions nothing matches its bytes.
func (r Reading) Parse(text []byte) float64 {
	if !utf8.Valid(text) {
		return math.NaN()
	}
	if r.Part == Number {
		return parseNumber(text, r.Decimal, r.Unit)
	}
	return parseDate(text, r)
}
