package search

import (
	"math"
	"math/rand/v2"
)

// Numbers are drawn and compared on a line on which equal lengths are equally likely: the logarithms if Log is set, the indices for a list.

// low and high are the ends of the line. A whole number covers the interval from half below it to half above it.
func (p Parameter) low() float64  { return p.onLine(p.Min - p.half()) }
func (p Parameter) high() float64 { return p.onLine(p.Max + p.half()) }

func (p Parameter) half() float64 {
	if p.Integer {
		return 0.5
	}
	return 0
}

func (p Parameter) onLine(x float64) float64 {
	if p.Log {
		return math.Log(x)
	}
	return x
}

// at is the value at a position on the line.
func (p Parameter) at(x float64) any {
	if p.Log {
		x = math.Exp(x)
	}
	if p.Integer {
		return int64(min(max(math.Round(x), p.Min), p.Max))
	}
	return min(max(x, p.Min), p.Max)
}

// place is the position of a value: the inverse of at, or for a list the value's index.
func (p Parameter) place(v any) (float64, bool) {
	if p.listed() {
		for i, w := range p.Values {
			if text(v) == text(w) {
				return float64(i), true
			}
		}
		return 0, false
	}
	switch x := v.(type) {
	case float64: // JSON decodes all numbers as float64
		return p.onLine(x), true
	case int64:
		return p.onLine(float64(x)), true
	}
	return 0, false
}

// draw is a random value.
func (p Parameter) draw(r *rand.Rand) any {
	if p.listed() {
		return p.Values[r.IntN(len(p.Values))]
	}
	return p.at(p.low() + r.Float64()*(p.high()-p.low()))
}

// Ends returns the values of a list, or the ends of a range.
func (p Parameter) Ends() []any {
	if p.listed() {
		return p.Values
	}
	return []any{p.at(p.onLine(p.Min)), p.at(p.onLine(p.Max))}
}

// grid returns the values that a grid tries, each once.
func (p Parameter) grid() []any {
	if p.listed() {
		return p.Values
	}
	var all []any
	first, last := p.onLine(p.Min), p.onLine(p.Max)
	for i := range min(p.Points, maxPoints) {
		v := p.at(first + (last-first)*float64(i)/float64(max(1, p.Points-1)))
		if len(all) == 0 || all[len(all)-1] != v {
			all = append(all, v)
		}
	}
	return all
}
