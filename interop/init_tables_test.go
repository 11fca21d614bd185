package interop_test

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// initCase is a table with its rows in random order.
type initCase struct {
	name, label string
	regression  bool
	comma       rune // delimiter; 0: a comma
	header      []string
	rows        [][]string
}

func (c initCase) delimiter() rune { return cmp.Or(c.comma, ',') }

// initCases are four well-known tables and generated ones.
func initCases(t *testing.T) []initCase {
	data := testkit.Shared(t, "data")
	titanic := tableOf(t, "titanic", "survived", filepath.Join(data, "titanic/titanic3.csv"), "")
	titanic.leaveOut("boat", "body") // only known afterwards
	titanic.rows = slices.DeleteFunc(titanic.rows, func(r []string) bool { return r[1] == "" })
	california := tableOf(t, "california-housing", "median_house_value", filepath.Join(data, "california-housing/housing.csv.gz"), "")
	california.regression = true
	list := []initCase{
		tableOf(t, "adult", "income", filepath.Join(data, "adult/adult.data.gz"), "age,workclass,fnlwgt,education,education-num,marital-status,"+
			"occupation,relationship,race,sex,capital-gain,capital-loss,hours-per-week,native-country,income"),
		titanic, california,
		tableOf(t, "iris", "species", filepath.Join(data, "iris/iris.data"), "sepal_length,sepal_width,petal_length,petal_width,species"),
	}
	list = append(append(list, generatedCases()...), hiddenCases()...)
	for i := range list {
		rows := list[i].rows
		rand.New(rand.NewPCG(7, 7)).Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	}
	return list
}

// tableOf reads a file; names is the header of a file without one.
func tableOf(t *testing.T, name, label, path, names string) initCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	r := csv.NewReader(in)
	r.TrimLeadingSpace, r.FieldsPerRecord = true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	c := initCase{name: name, label: label, header: strings.Split(names, ",")}
	if names == "" {
		c.header, rows = rows[0], rows[1:]
	}
	c.rows = slices.DeleteFunc(rows, func(row []string) bool { return len(row) != len(c.header) })
	return c
}

func (c *initCase) leaveOut(names ...string) {
	for _, n := range names {
		at := slices.Index(c.header, n)
		c.header = slices.Delete(slices.Clone(c.header), at, at+1)
		for i, row := range c.rows {
			c.rows[i] = slices.Delete(slices.Clone(row), at, at+1)
		}
	}
}

// generatedCases are tables like the ones that people have: small, wide, skewed, unbalanced, with dates, ids and words.
func generatedCases() []initCase {
	return []initCase{shop(3000), wide(2000), rare(8000), prices(6000), many(4000), linear(60), plane(1000), waves(2500), gaps(2500), codes(4000)}
}

// shop has semicolons, quotes, ids, dates, truth values, a constant, several marks for missing values, and a label of words with spaces.
func shop(n int) initCase {
	r := rand.New(rand.NewPCG(1, 1))
	c := initCase{name: "shop", label: "did buy again", comma: ';',
		header: []string{"order id", "customer", "day", "city, country", "basket value", "items", "is member", "shop", "comment", "did buy again"}}
	cities := []string{"Bern, CH", "Paris, FR", `"Ulm", DE`, "Rome, IT", "Oslo, NO"}
	for i := range n {
		city, value, items, member := r.IntN(5), math.Exp(r.NormFloat64()+3), 1+r.IntN(9), r.IntN(3) == 0
		s := 0.8*math.Log(value) - 2.8 + []float64{0.8, -0.5, 0, 1, -1}[city] - 0.15*float64(items) + r.NormFloat64()
		if member {
			s += 1.5
		}
		text := fmt.Sprintf("%.2f", value)
		if r.IntN(12) == 0 {
			text = []string{"", "n/a", "NULL"}[r.IntN(3)]
		}
		c.rows = append(c.rows, []string{fmt.Sprint(100000 + i*7), fmt.Sprintf("c-%05d", r.IntN(90000)), fmt.Sprintf("2023-%02d-%02d", 1+r.IntN(12), 1+r.IntN(28)),
			cities[city], text, fmt.Sprint(items), fmt.Sprint(member), "main", []string{"", "ok", "late; but fine"}[r.IntN(3)],
			map[bool]string{true: "yes, again", false: "no"}[s > 0.3]})
	}
	return c
}

// wide has 200 columns, of which a few matter.
func wide(n int) initCase {
	r := rand.New(rand.NewPCG(2, 2))
	c := initCase{name: "wide", label: "y", regression: true}
	for k := range 200 {
		c.header = append(c.header, fmt.Sprint("x", k))
	}
	c.header = append(c.header, "y")
	for range n {
		x, row := make([]float64, 200), make([]string, 201)
		for k := range x {
			x[k] = r.NormFloat64()
			row[k] = fmt.Sprintf("%.4f", x[k])
		}
		row[200] = fmt.Sprintf("%.4f", 3*x[0]+2*x[1]*x[2]+math.Abs(x[3])-x[4]+0.5*r.NormFloat64())
		c.rows = append(c.rows, row)
	}
	return c
}

// rare has a class with three percent of the rows.
func rare(n int) initCase {
	r := rand.New(rand.NewPCG(3, 3))
	c := initCase{name: "rare", label: "fraud", header: []string{"amount", "hour", "country", "age", "fraud"}}
	for range n {
		amount, hour, country, age := math.Exp(1.5*r.NormFloat64()+3), r.IntN(24), r.IntN(30), 18+r.IntN(60)
		s := -6 + 0.8*math.Log(amount) + 1.5*math.Cos(float64(hour)/24*2*math.Pi) + float64(country%4)*0.3 + r.NormFloat64()
		c.rows = append(c.rows, []string{fmt.Sprintf("%.2f", amount), fmt.Sprint(hour), fmt.Sprint("K", country), fmt.Sprint(age), fmt.Sprint(map[bool]int{true: 1}[s > 0])})
	}
	return c
}

// prices has a skewed label over several orders of magnitude.
func prices(n int) initCase {
	r := rand.New(rand.NewPCG(4, 4))
	c := initCase{name: "prices", label: "price", regression: true, header: []string{"area", "rooms", "quarter", "year", "garage", "price"}}
	for range n {
		area, quarter, year, garage := 20+r.ExpFloat64()*80, r.IntN(40), 1900+r.IntN(120), r.IntN(3)
		price := area * 3000 * math.Exp(0.04*float64(quarter%13)+0.004*float64(year-1960)+0.1*float64(garage)+0.2*r.NormFloat64())
		c.rows = append(c.rows, []string{fmt.Sprintf("%.1f", area), fmt.Sprint(1 + int(area/30) + r.IntN(2)), fmt.Sprint("Q", quarter), fmt.Sprint(year),
			[]string{"none", "one", "two"}[garage], fmt.Sprintf("%.0f", price)})
	}
	return c
}

// many has twelve classes of points in a plane, with noise.
func many(n int) initCase {
	r := rand.New(rand.NewPCG(5, 5))
	c := initCase{name: "many", label: "kind", header: []string{"a", "b", "c", "d", "kind"}}
	for range n {
		k := r.IntN(12)
		x, y := float64(k%4)*2+r.NormFloat64()*0.7, float64(k/4)*2+r.NormFloat64()*0.7
		c.rows = append(c.rows, []string{fmt.Sprintf("%.3f", x+y), fmt.Sprintf("%.3f", x-y), fmt.Sprintf("%.3f", r.NormFloat64()), fmt.Sprint(r.IntN(5)), fmt.Sprint("kind ", k)})
	}
	return c
}

// linear has few rows from a line with noise.
func linear(n int) initCase {
	r := rand.New(rand.NewPCG(6, 6))
	c := initCase{name: "linear", label: "y", regression: true, header: []string{"a", "b", "y"}}
	for range n {
		a, b := r.NormFloat64(), r.NormFloat64()
		c.rows = append(c.rows, []string{fmt.Sprintf("%.3f", a), fmt.Sprintf("%.3f", b), fmt.Sprintf("%.3f", 100+20*a-10*b+3*r.NormFloat64())})
	}
	return c
}

// plane has a label of large scale that is linear in fifteen numbers and five words.
func plane(n int) initCase {
	r := rand.New(rand.NewPCG(8, 8))
	c := initCase{name: "plane", label: "y", regression: true}
	for k := range 15 {
		c.header = append(c.header, fmt.Sprint("x", k))
	}
	c.header = append(c.header, "word", "y")
	for range n {
		var row []string
		y := 500_000 + 5000*r.NormFloat64()
		for k := range 15 {
			x := r.NormFloat64()
			y += float64(1000*(k+1)) * x
			row = append(row, fmt.Sprintf("%.4f", x))
		}
		word := r.IntN(5)
		c.rows = append(c.rows, append(row, string(rune('A'+word)), fmt.Sprintf("%.1f", y+20_000*float64(word%3))))
	}
	return c
}

// waves has a smooth label with little noise.
func waves(n int) initCase {
	r := rand.New(rand.NewPCG(9, 9))
	c := initCase{name: "waves", label: "y", regression: true, header: []string{"a", "b", "c", "d", "y"}}
	for range n {
		var x [4]float64
		var row []string
		for k := range x {
			x[k] = 4*r.Float64() - 2
			row = append(row, fmt.Sprintf("%.4f", x[k]))
		}
		c.rows = append(c.rows, append(row, fmt.Sprintf("%.2f", 20_000+3000*math.Sin(2*x[0]+x[1])+1000*x[2]*x[3]+100*r.NormFloat64())))
	}
	return c
}

// gaps has two classes and twelve numbers, two fifths of which are missing.
func gaps(n int) initCase {
	r := rand.New(rand.NewPCG(10, 10))
	c := initCase{name: "gaps", label: "t"}
	for k := range 12 {
		c.header = append(c.header, fmt.Sprint("f", k))
	}
	c.header = append(c.header, "t")
	for range n {
		var row []string
		s := r.NormFloat64()
		for k := range 12 {
			x := r.NormFloat64()
			s += []float64{1, -1, 0.5, 0}[k%4] * x * map[bool]float64{true: 1, false: math.Abs(x)}[k < 6]
			text := fmt.Sprintf("%.3f", x)
			if r.Float64() < 0.4 {
				text = ""
			}
			row = append(row, text)
		}
		c.rows = append(c.rows, append(row, map[bool]string{true: "up", false: "down"}[s > 0]))
	}
	return c
}

// codes has whole numbers that identify sixty places, and days of the week.
func codes(n int) initCase {
	r := rand.New(rand.NewPCG(11, 11))
	c := initCase{name: "codes", label: "cls", header: []string{"code", "x", "day", "cls"}}
	effect := make([]float64, 60)
	for i := range effect {
		effect[i] = 1.5 * r.NormFloat64()
	}
	for range n {
		place, x, day := r.IntN(60), r.NormFloat64(), 1+r.IntN(7)
		s := effect[place] + 0.7*x + r.NormFloat64()
		if day > 5 {
			s++
		}
		c.rows = append(c.rows, []string{fmt.Sprint(1000 + 137*place), fmt.Sprintf("%.3f", x), fmt.Sprint(day), map[bool]string{true: "pos", false: "neg"}[s > 0]})
	}
	return c
}
