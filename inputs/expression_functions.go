package inputs

import (
	"math"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/textvalue"
)

// functions are the functions of expressions: by name, then by the kinds of their arguments.
var functions = map[string]map[string]func(a []term) term{
	"abs": ofNumber(math.Abs), "ceil": ofNumber(math.Ceil), "exp": ofNumber(math.Exp), "floor": ofNumber(math.Floor), "log": ofNumber(math.Log),
	"log10": ofNumber(math.Log10), "log1p": ofNumber(math.Log1p), "round": ofNumber(math.RoundToEven), "sqrt": ofNumber(math.Sqrt),
	"max": ofNumbers(math.Max), "min": ofNumbers(math.Min), "pow": ofNumbers(math.Pow),
	"contains": ofTexts(strings.Contains), "prefix": ofTexts(strings.HasPrefix), "suffix": ofTexts(strings.HasSuffix),
	"year": ofTime(time.Time.Year), "month": ofTime(func(t time.Time) int { return int(t.Month()) }), "day": ofTime(time.Time.Day),
	"weekday": ofTime(func(t time.Time) int { return int(t.Weekday()) }), "hour": ofTime(time.Time.Hour),
	"clip": {"nnn": func(a []term) term {
		return number64(func(c []NamedTensor, i int) float64 { return min(max(a[0].num(c, i), a[1].num(c, i)), a[2].num(c, i)) })
	}},
	"isnan": {"n": func(a []term) term {
		return term{truth: func(c []NamedTensor, i int) bool { return math.IsNaN(a[0].num(c, i)) }}
	}},
	"len": {"t": func(a []term) term {
		return wholeNumber(func(c []NamedTensor, i int) int64 { return int64(len(a[0].text(c, i))) })
	}},
	"number": {
		"t": func(a []term) term { return written(a[0], ".", "") },
		"tt": func(a []term) term {
			return number64(func(c []NamedTensor, i int) float64 { return written(a[0], a[1].text(c, i), "").num(c, i) })
		},
		"ttt": func(a []term) term {
			return number64(func(c []NamedTensor, i int) float64 { return written(a[0], a[1].text(c, i), a[2].text(c, i)).num(c, i) })
		},
	},
	"lower": {"t": func(a []term) term {
		return term{text: func(c []NamedTensor, i int) string { return strings.ToLower(a[0].text(c, i)) }}
	}},
	"where": {
		"bnn": func(a []term) term {
			if a[1].whole != nil && a[2].whole != nil {
				return wholeNumber(func(c []NamedTensor, i int) int64 { return choose(a[0].truth(c, i), a[1].whole, a[2].whole)(c, i) })
			}
			return number64(func(c []NamedTensor, i int) float64 { return choose(a[0].truth(c, i), a[1].num, a[2].num)(c, i) })
		},
		"btt": func(a []term) term {
			return term{text: func(c []NamedTensor, i int) string { return choose(a[0].truth(c, i), a[1].text, a[2].text)(c, i) }}
		},
		"bbb": func(a []term) term {
			return term{truth: func(c []NamedTensor, i int) bool { return choose(a[0].truth(c, i), a[1].truth, a[2].truth)(c, i) }}
		},
	},
}

func choose[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

func ofNumber(f func(float64) float64) map[string]func([]term) term {
	return map[string]func([]term) term{"n": func(a []term) term {
		return number64(func(c []NamedTensor, i int) float64 { return f(a[0].num(c, i)) })
	}}
}

func ofNumbers(f func(x, y float64) float64) map[string]func([]term) term {
	return map[string]func([]term) term{"nn": func(a []term) term {
		return number64(func(c []NamedTensor, i int) float64 { return f(a[0].num(c, i), a[1].num(c, i)) })
	}}
}

func ofTexts(f func(x, y string) bool) map[string]func([]term) term {
	return map[string]func([]term) term{"tt": func(a []term) term {
		return term{truth: func(c []NamedTensor, i int) bool { return f(a[0].text(c, i), a[1].text(c, i)) }}
	}}
}

// checkNumber reports a decimal mark or a unit that the function number does not know.
func checkNumber(a []term) error {
	r := textvalue.Reading{Part: textvalue.Number}
	for i, to := range []*string{&r.Decimal, &r.Unit} {
		if i+1 < len(a) && a[i+1].constant {
			*to = a[i+1].text(nil, 0)
		}
	}
	return r.Check()
}

// written parses a text as a number with a decimal mark, and converts it to a unit.
func written(x term, decimal, unit string) term {
	r := textvalue.Reading{Part: textvalue.Number, Decimal: decimal, Unit: unit}
	return number64(func(c []NamedTensor, i int) float64 { return r.Parse([]byte(x.text(c, i))) })
}

// ofTime applies f to a time; the result is NaN if its argument is no time.
func ofTime(f func(time.Time) int) map[string]func([]term) term {
	return map[string]func([]term) term{
		"t": func(a []term) term {
			return number64(func(c []NamedTensor, i int) float64 {
				t, ok := parseTime(a[0].text(c, i))
				if !ok {
					return math.NaN()
				}
				return float64(f(t))
			})
		},
		"n": func(a []term) term {
			return number64(func(c []NamedTensor, i int) float64 {
				x := a[0].num(c, i)
				if !(math.Abs(x) < 1e12) {
					return math.NaN()
				}
				return float64(f(time.Unix(int64(math.Floor(x)), 0).UTC()))
			})
		},
	}
}
