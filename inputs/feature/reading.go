package feature

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/platform/textvalue"
)

// Reading says how to read a text as a number.
type Reading struct {
	// Part is number, for $1,234.50, 12 kg or 3.5 %; or, for a date, days (since 1970-01-01), year, month, day (of the month), weekday (0 is
	// Sunday) or hour (of the day, with minutes as its fraction).
	Part string
	// Order of a date: ymd, dmy or mdy. Empty: ymd.
	Order string
	// Decimal is the mark before the fraction of a number, "." or ",". Empty: ".".
	Decimal string
	// Unit is the unit to convert numbers to: one (1.2K, 3M), kg, m, l, day, MB or MHz. Empty: units are not read.
	Unit string
}

// String is like month dmy.
func (r Reading) String() string { return r.value().String() }

func (r Reading) value() textvalue.Reading {
	return textvalue.Reading{Part: textvalue.Part(r.Part), Order: textvalue.Order(r.Order), Decimal: r.Decimal, Unit: r.Unit}
}

// check reports what is wrong with the reading, for a feature with size numbers.
func (r Reading) check(size int) error {
	switch {
	case r == Reading{}:
		return nil
	case r.Part == "":
		return fmt.Errorf("date_order, decimal and unit say nothing without read: give it, or leave them out")
	case size != 1:
		return fmt.Errorf("read: expected one text an example, got the shape of %d", size)
	}
	return r.value().Check()
}

// numbers reads the texts of a feature. It uses into's memory if it is large enough. A null is NaN.
func (r Reading) numbers(c *cells, into []float32) ([]float32, error) {
	t, err := c.texts()
	if err != nil {
		return nil, fmt.Errorf("%w: a column with read takes texts", err)
	}
	v := r.value()
	out := sized(into, c.count)
	for i := range out {
		out[i] = float32(v.Parse(t.value(i)))
	}
	return out, nil
}

// reading returns the declaration's Reading.
func (s Spec) reading() Reading {
	return Reading{Part: s.Read, Order: s.DateOrder, Decimal: s.Decimal, Unit: s.Unit}
}

// readOf is the key for the numbers that a column reads from a feature.
type readOf struct {
	key  string
	read Reading
}
