package columngraph

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/textvalue"
	"github.com/goestimator/goestimator/tensor"
)

// read adds the numbers, float64, that texts [B, n] are read as; NaN for texts of another form.
func (e *emitter) read(x graph.Output, r feature.Reading) graph.Output {
	e = e.under(r.String())
	if r.Part == string(textvalue.Number) {
		return e.readNumber(x, textvalue.FormOf(r.Decimal), r.Unit)
	}
	return e.readDate(x, r)
}

// under returns e for nodes in a sub-scope.
func (e *emitter) under(name string) *emitter {
	to := *e
	to.scope += scope(name) + "/"
	return &to
}

func (e *emitter) readNumber(x graph.Output, f textvalue.NumberForm, unit string) graph.Output {
	known := e.matches(x, f.Pattern)
	digits := e.groupText("digits", x, known, f.Pattern, `\1\2\3`)
	digits = e.replaced("minus", digits, f.Minus, "-", false)
	digits = e.replaced("joined", digits, f.Separators, "", true)
	if f.Decimal != "." {
		digits = e.replaced("point", digits, f.Decimal, ".", true)
	}
	number := e.op("StringToNumber", "number", graph.Type{DType: tensor.Float64, Shape: x.Shape()}, graph.Attrs{"out_type": tensor.Float64}, digits)
	if unit == "" {
		return e.orNaN(known, number)
	}
	return e.orNaN(known, e.binary("Mul", "converted", number, e.factor(e.groupText("behind", x, known, f.WithUnit, `\4`), unit)))
}

// factor returns the factors for numbers with the units in the texts behind them; NaN for units that cannot be converted.
func (e *emitter) factor(behind graph.Output, unit string) graph.Output {
	is := func(name, pattern string) graph.Output {
		return e.op("StaticRegexFullMatch", name+"/is", graph.Type{DType: tensor.Bool, Shape: behind.Shape()}, graph.Attrs{"pattern": []byte(pattern)}, behind)
	}
	factor := e.constant("no_factor", tensor.Scalar(math.NaN()), nil)
	for i, s := range textvalue.ScalesOf(unit) {
		name := fmt.Sprintf("unit_%d", i)
		factor = e.selected(name, is(name, s.Pattern), e.constant(name+"/factor", tensor.Scalar(s.Factor), nil), factor)
	}
	return e.selected("no_unit", is("no_unit", textvalue.NoUnit), e.constant("no_unit/factor", tensor.Scalar(1.0), nil), factor)
}

// matches reports which texts match a pattern as a whole.
func (e *emitter) matches(x graph.Output, pattern string) graph.Output {
	return e.op("StaticRegexFullMatch", "written_so", graph.Type{DType: tensor.Bool, Shape: x.Shape()}, graph.Attrs{"pattern": []byte(pattern)}, x)
}

// groupText rewrites the texts that match; other texts become 0.
func (e *emitter) groupText(name string, x, known graph.Output, pattern, rewrite string) graph.Output {
	return e.selected(name, known, e.replaced(name+"/groups", x, "^(?:"+pattern+")$", rewrite, false), e.texts(name+"/none", [][]byte{[]byte("0")}))
}

func (e *emitter) replaced(name string, x graph.Output, pattern, rewrite string, global bool) graph.Output {
	return e.op("StaticRegexReplace", name, x.Type(), graph.Attrs{"pattern": []byte(pattern), "rewrite": []byte(rewrite), "replace_global": global}, x)
}

func (e *emitter) orNaN(known, x graph.Output) graph.Output {
	nan := e.constant("nan", tensor.Scalar(math.NaN()), nil)
	return e.selected("known", known, x, nan)
}

// dateNodes computes the parts of a date, int64.
type dateNodes struct {
	*emitter
	text, known graph.Output
	form        textvalue.DateForm
}

func (e *emitter) readDate(x graph.Output, r feature.Reading) graph.Output {
	order := textvalue.Order(r.Order)
	if order == "" {
		order = textvalue.YMD
	}
	f := textvalue.DateFormOf(order, r.Part == string(textvalue.Hour))
	d := dateNodes{e, x, e.matches(x, f.Pattern), f}
	if r.Part == string(textvalue.Hour) {
		return e.orNaN(d.known, d.hours())
	}
	var n graph.Output
	switch textvalue.Part(r.Part) {
	case textvalue.Year:
		n = d.year()
	case textvalue.Month:
		n = d.month()
	case textvalue.Day:
		n = d.day()
	case textvalue.Weekday:
		n = d.mod("weekday", d.plus("weekday_of", d.days(), 4), 7)
	default:
		n = d.days()
	}
	return e.orNaN(d.known, e.cast("wide", n, tensor.Float64))
}

// month returns the month, which may be written as a number or by name.
func (d dateNodes) month() graph.Output {
	rewrite := ""
	for _, g := range d.form.Names {
		rewrite += fmt.Sprintf(`\%d`, g)
	}
	name := d.groupText("month_name", d.text, d.known, d.form.Pattern, rewrite)
	n := d.part("month_digits", d.form.Month)
	for i, pattern := range textvalue.MonthBits {
		at := fmt.Sprintf("month_bit_%d", i)
		is := d.op("StaticRegexFullMatch", at+"/is", graph.Type{DType: tensor.Bool, Shape: n.Shape()}, graph.Attrs{"pattern": []byte(pattern)}, name)
		n = d.binary("AddV2", at+"/sum", n, d.times(at, d.cast(at+"/number", is, tensor.Int64), 1<<i))
	}
	return n
}

// part returns the number in the group that is not empty, 0 if all are empty.
func (d dateNodes) part(name string, groups ...int) graph.Output {
	rewrite := "0"
	for _, g := range groups {
		rewrite += fmt.Sprintf(`\%d`, g)
	}
	digits := d.groupText(name+"/digits", d.text, d.known, d.form.Pattern, rewrite)
	return d.op("StringToNumber", name, graph.Type{DType: tensor.Int64, Shape: d.text.Shape()}, graph.Attrs{"out_type": tensor.Int64}, digits)
}

func (d dateNodes) plus(name string, x graph.Output, n int64) graph.Output {
	return d.binary("AddV2", name, x, d.scalar(name+"/n", n))
}

func (d dateNodes) times(name string, x graph.Output, n int64) graph.Output {
	return d.binary("Mul", name, x, d.scalar(name+"/n", n))
}

func (d dateNodes) div(name string, x graph.Output, n int64) graph.Output {
	return d.binary("FloorDiv", name, x, d.scalar(name+"/n", n))
}

func (d dateNodes) mod(name string, x graph.Output, n int64) graph.Output {
	return d.binary("FloorMod", name, x, d.scalar(name+"/n", n))
}

// day returns the day of the month, 1 if there is none.
func (d dateNodes) day() graph.Output {
	return d.binary("Maximum", "day", d.part("written_day", d.form.Day), d.scalar("first_day", 1))
}

// year adds the century to two-digit years.
func (d dateNodes) year() graph.Output {
	y := d.part("written_year", d.form.Year)
	short := d.compare("Less", "short_year", y, d.scalar("hundred", 100))
	recent := d.compare("Less", "recent_year", y, d.scalar("sixty_nine", 69))
	full := d.selected("century", recent, d.plus("of_2000", y, 2000), d.plus("of_1900", y, 1900))
	return d.selected("year", short, full, y)
}

// days counts the days since 1970-01-01, like textvalue.
func (d dateNodes) days() graph.Output {
	m := d.mod("month_of_march", d.plus("from_march", d.month(), 9), 12)
	y := d.binary("Sub", "year_of_march", d.year(), d.div("next_year", m, 10))
	n := d.times("years", y, 365)
	n = d.binary("AddV2", "leap", n, d.div("fours", y, 4))
	n = d.binary("Sub", "no_leap", n, d.div("hundreds", y, 100))
	n = d.binary("AddV2", "leap_again", n, d.div("four_hundreds", y, 400))
	n = d.binary("AddV2", "months", n, d.div("month_days", d.plus("rounded", d.times("thirties", m, 306), 5), 10))
	return d.plus("days", d.binary("AddV2", "with_day", n, d.day()), -719469)
}

// hours returns the hour of the day, float64, with minutes as its fraction.
func (d dateNodes) hours() graph.Output {
	h := d.part("written_hour", d.form.Midnight, d.form.Hour)
	half := d.groupText("half", d.text, d.known, d.form.Pattern, fmt.Sprintf(`\%d`, d.form.Half))
	twelve := d.mod("of_twelve", h, 12)
	morning := d.op("StaticRegexFullMatch", "is_am", graph.Type{DType: tensor.Bool, Shape: h.Shape()}, graph.Attrs{"pattern": []byte("[Aa]")}, half)
	evening := d.op("StaticRegexFullMatch", "is_pm", graph.Type{DType: tensor.Bool, Shape: h.Shape()}, graph.Attrs{"pattern": []byte("[Pp]")}, half)
	h = d.selected("hour", evening, d.plus("later", twelve, 12), d.selected("earlier", morning, twelve, h))
	minutes := d.cast("minutes", d.part("minute", d.form.Minute), tensor.Float64)
	sixty := d.constant("sixty", tensor.Scalar(60.0), nil)
	return d.binary("AddV2", "hours", d.cast("whole_hours", h, tensor.Float64), d.binary("RealDiv", "fraction", minutes, sixty))
}
