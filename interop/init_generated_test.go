package interop_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// hiddenCases are kinds of tables that init was not developed with; each has a difficulty of its own.
func hiddenCases() []initCase {
	return []initCase{curves(3000), signs(4000), credit(6000), places(5000), hiding(3000), rarer(8000), reviews(3000), sales(3000), tails(4000), genes(300), tiny(60), bikes(5000)}
}

// numbered is a case with numeric columns followed by a label.
func numbered(name, label string, regression bool, seed uint64, n, columns int, row func(r *rand.Rand, x []float64) string) initCase {
	r := rand.New(rand.NewPCG(seed, 54))
	c := initCase{name: name, label: label, regression: regression}
	for k := range columns {
		c.header = append(c.header, fmt.Sprint("x", k))
	}
	c.header = append(c.header, label)
	for range n {
		x, cells := make([]float64, columns), make([]string, columns)
		for k := range x {
			x[k] = r.NormFloat64()
		}
		y := row(r, x)
		for k, v := range x {
			if cells[k] = fmt.Sprintf("%.4f", v); math.IsNaN(v) {
				cells[k] = ""
			}
		}
		c.rows = append(c.rows, append(cells, y))
	}
	return c
}

func digits(v float64) string { return fmt.Sprintf("%.4f", v) }

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// curves is Friedman's first function, with five irrelevant columns.
func curves(n int) initCase {
	return numbered("curves", "y", true, 1, n, 10, func(r *rand.Rand, x []float64) string {
		for k := range x {
			x[k] = r.Float64()
		}
		return digits(10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-0.5)*(x[2]-0.5) + 10*x[3] + 5*x[4] + r.NormFloat64())
	})
}

// signs has two classes that depend on products of columns; no single column is informative.
func signs(n int) initCase {
	return numbered("signs", "t", false, 2, n, 20, func(r *rand.Rand, x []float64) string {
		return either(math.Copysign(1, x[0]*x[1])+0.7*x[2]*x[3]+0.4*r.NormFloat64() > 0, "yes", "no")
	})
}

// credit has a class that is monotone in four numbers; one is sometimes missing.
func credit(n int) initCase {
	r := rand.New(rand.NewPCG(3, 54))
	c := initCase{name: "credit", label: "default", header: []string{"income", "age", "debt ratio", "late payments", "default"}}
	for range n {
		income, age, debt, late := math.Exp(10+0.6*r.NormFloat64()), 18+r.IntN(62), r.Float64(), int(r.ExpFloat64())
		s := -1.5*(math.Log(income)-10) - 0.03*float64(age-40) + 3*(debt-0.4) + 0.8*float64(late) - 1.2
		text := either(r.Float64() < 0.15, "", fmt.Sprintf("%.0f", income))
		c.rows = append(c.rows, []string{text, fmt.Sprint(age), fmt.Sprintf("%.3f", debt), fmt.Sprint(late), either(r.Float64() < 1/(1+math.Exp(-s)), "1", "0")})
	}
	return c
}

// places has a number that depends on 400 towns and 60 makers.
func places(n int) initCase {
	r := rand.New(rand.NewPCG(4, 54))
	c := initCase{name: "places", label: "y", regression: true, header: []string{"town", "maker", "x", "y"}}
	effects := make([]float64, 460)
	for i := range effects {
		effects[i] = r.NormFloat64()
	}
	for range n {
		town, maker, x := r.IntN(400), r.IntN(60), r.NormFloat64()
		c.rows = append(c.rows, []string{fmt.Sprint("town ", town), fmt.Sprint("B", maker), digits(x), digits(effects[town] + effects[400+maker] + 0.5*x + 0.5*r.NormFloat64())})
	}
	return c
}

// hiding has numbers that are missing more often the larger they are.
func hiding(n int) initCase {
	return numbered("hiding", "y", true, 5, n, 8, func(r *rand.Rand, x []float64) string {
		y := x[0] + math.Abs(x[1]) + x[2]*x[3] + 0.3*r.NormFloat64()
		for k := range 4 {
			if r.Float64() < 1/(1+math.Exp(1-2*x[k])) {
				x[k] = math.NaN()
			}
		}
		return digits(y)
	})
}

// rarer has a class with two percent of the rows.
func rarer(n int) initCase {
	return numbered("rarer", "fraud", false, 6, n, 10, func(r *rand.Rand, x []float64) string {
		return either(1.2*x[0]+x[1]*x[2]+0.5*x[3]+r.NormFloat64() > 4, "1", "0")
	})
}

// reviews has texts with words for and against, among others.
func reviews(n int) initCase {
	r := rand.New(rand.NewPCG(7, 54))
	pro, con := strings.Fields("great lovely excellent love perfect wonderful happy"), strings.Fields("terrible awful broken hate poor refund bad")
	other := strings.Fields("the a it this product was very and but with box arrived price quality for my in")
	c := initCase{name: "reviews", label: "mood", header: []string{"review", "stars", "price", "mood"}}
	for range n {
		good := r.IntN(2) == 0
		mine, theirs := pro, con
		if !good {
			mine, theirs = con, pro
		}
		var words []string
		for _, from := range []struct {
			list []string
			many int
		}{{other, 5 + r.IntN(10)}, {mine, r.IntN(3)}, {theirs, r.IntN(2)}} {
			for range from.many {
				words = append(words, from.list[r.IntN(len(from.list))])
			}
		}
		r.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
		c.rows = append(c.rows, []string{strings.Join(words, " "), fmt.Sprint(1 + r.IntN(5)), fmt.Sprintf("%.2f", 20+8*r.NormFloat64()), either(good, "pos", "neg")})
	}
	return c
}

// sales has a number that depends on season and weekday, with dates that have month names.
func sales(n int) initCase {
	r := rand.New(rand.NewPCG(8, 54))
	c := initCase{name: "sales", label: "sales", regression: true, header: []string{"when", "promo", "sales"}}
	for range n {
		days, promo := r.IntN(900), r.Float64()
		day := time.Date(2019, 1, 1+days, 0, 0, 0, 0, time.UTC)
		y := 100 + 20*math.Sin(2*math.Pi*float64(day.YearDay())/365) + 0.02*float64(days) + 10*promo + 3*r.NormFloat64()
		if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			y += 15
		}
		c.rows = append(c.rows, []string{day.Format("2 Jan 2006"), fmt.Sprintf("%.3f", promo), fmt.Sprintf("%.2f", y)})
	}
	return c
}

// tails has a label with a heavy tail.
func tails(n int) initCase {
	return numbered("tails", "y", true, 9, n, 6, func(r *rand.Rand, x []float64) string {
		return digits(1000 * math.Exp(1.2*x[0]+0.8*math.Sin(2*x[1])+0.6*x[2]*math.Max(math.Copysign(1, x[3]), 0)+0.4*r.NormFloat64()))
	})
}

// genes has more columns than rows; ten columns matter.
func genes(n int) initCase {
	return numbered("genes", "c", false, 10, n, 500, func(r *rand.Rand, x []float64) string {
		s := 0.8 * r.NormFloat64()
		for _, v := range x[:10] {
			s += v
		}
		return either(s > 0, "A", "B")
	})
}

// tiny has few rows in two classes.
func tiny(n int) initCase {
	return numbered("tiny", "c", false, 11, n, 4, func(r *rand.Rand, x []float64) string {
		return either(x[0]+0.5*x[1]+0.5*r.NormFloat64() > 0, "p", "q")
	})
}

// bikes has counts that depend on hour, day and weather.
func bikes(n int) initCase {
	r := rand.New(rand.NewPCG(12, 54))
	c := initCase{name: "bikes", label: "count", regression: true, header: []string{"hour", "weekday", "temperature", "wind", "count"}}
	for range n {
		hour, day, warm := r.IntN(24), r.IntN(7), 15+8*r.NormFloat64()
		swing := 1.2
		if day > 4 {
			swing = 0.7
		}
		mean := math.Exp(2 + swing*math.Cos(float64(hour-14)/12*math.Pi) + 0.03*warm - 0.001*(warm-15)*(warm-15))
		c.rows = append(c.rows, []string{fmt.Sprint(hour), fmt.Sprint(day), fmt.Sprintf("%.1f", warm), fmt.Sprintf("%.1f", 10*r.ExpFloat64()),
			fmt.Sprintf("%.0f", math.Max(0, mean+math.Sqrt(mean)*r.NormFloat64()))})
	}
	return c
}
