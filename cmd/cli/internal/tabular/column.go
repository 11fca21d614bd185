package tabular

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/frequent"
	"github.com/goestimator/goestimator/internal/platform/textvalue"
	"github.com/goestimator/goestimator/internal/runtime/trees"
)

// Kind is the kind of a column's values.
type Kind int

// The kinds of columns.
const (
	Unknown Kind = iota
	Number
	Text   // words: categories, names, texts
	Date   // days or times as text
	Empty  // no value at all
	Nested // lists or objects
	Unreadable
)

// String is the kind as a word.
func (k Kind) String() string {
	return [...]string{"unknown", "number", "text", "date", "empty", "nested", "unreadable"}[k]
}

// Column describes a column.
type Column struct {
	Name     string
	Kind     Kind
	Rows     int64
	Missing  int64
	Distinct int  // number of different values
	Exact    bool // Distinct is exact; otherwise there are more
	Integers bool // of numbers: all are integers
	Min, Max float64
	Mean     float64
	Std      float64
	// Quantiles are the 5, 25, 50, 75 and 95 % quantiles of numbers.
	Quantiles [5]float64
	// Top are the most frequent values.
	Top []frequent.Entry[string]
	// Marks are the cells, besides empty ones, that stand for missing values.
	Marks []string
	// Words is the mean number of words of texts.
	Words float64
	// Steady reports whether each number exceeds the one before by one.
	Steady bool
	// Duplicate reports whether another column has the same name.
	Duplicate bool
	// Reading says how texts are parsed: as numbers with units, or as dates.
	Reading textvalue.Reading
	// Odd counts the texts in a numeric column that are not numbers; Missing includes them. OddText is one of them.
	Odd     int64
	OddText string
	// Unreadable says why the values cannot be read; empty if they can.
	Unreadable string
	dropped    bool // see Profile.Drop
	text       bool // see Profile.TakeForText
}

// watcher computes a Column.
type watcher struct {
	name               string
	told               Kind
	decimal            string
	rows, empty        int64
	marks              map[string]int64
	numbers            int64
	others             int64
	written            *written
	slashes            bool // some texts contain a slash
	points, commas     bool // in a file with decimal commas: some numbers have a decimal point, or a comma
	words              int64
	strangers          *frequent.Counter[string] // values that are neither numbers nor marks
	stranger           string                    // the last of strangers
	values             *frequent.Counter[string] // nil once there are too many numbers
	limit              int                       // on the number of values
	long               bool                      // some cells are longer than longestCell
	integers, steady   bool
	last               float64
	min, max, mean, m2 float64
	sketch             *trees.Sketch
}

// newWatcher limits the memory of a column by the number of columns.
func newWatcher(name string, told Kind, decimal string, columns int) *watcher {
	limit := min(max((1<<21)/max(columns, 1), 128), 1<<15)
	epsilon := 0.005
	if columns > 64 {
		epsilon = 0.05
	}
	return &watcher{name: name, told: told, decimal: decimal, marks: map[string]int64{}, strangers: frequent.New[string](64), written: newWritten(decimal),
		values: frequent.New[string](limit), limit: limit, integers: true, steady: true, min: math.Inf(1), max: math.Inf(-1), sketch: trees.NewSketch(epsilon)}
}

// longestCell is the number of bytes kept of a cell, so that memory does not grow with long texts.
const longestCell = 128

// brief copies a cell. A cell longer than longestCell is cut, and ends with a hash of the whole cell. Without the copy, a
// cell would keep its whole row in memory.
func brief(cell string) string {
	if len(cell) <= longestCell {
		return strings.Clone(cell)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(cell))
	return fmt.Sprintf("%s...%016x", strings.ToValidUTF8(cell[:longestCell-20], ""), h.Sum64())
}

func (w *watcher) add(cell string) {
	w.rows++
	if cell == "" {
		w.empty++
		return
	}
	words := 0
	if len(cell) > longestCell {
		words, w.long = len(strings.Fields(cell)), true
	}
	cell = brief(cell)
	if w.values != nil {
		w.values.Add(cell)
		if !w.values.Exact() && w.numbers > w.others {
			w.values = nil
		}
	}
	if isMark(cell) {
		w.marks[cell]++
		return
	}
	v, ok := parseNumber(cell, w.decimal)
	if !ok {
		w.others++
		w.strangers.Add(cell)
		w.stranger = cell
		if words == 0 {
			words = len(strings.Fields(cell))
		}
		w.words += int64(words)
		w.written.add(cell)
		w.slashes = w.slashes || strings.Contains(cell, "/")
		return
	}
	if w.decimal == "," {
		w.points = w.points || hasDecimalPoint(cell)
		w.commas = w.commas || strings.Contains(cell, ",")
	}
	w.written.plain(cell)
	w.number(v)
}

func (w *watcher) number(v float64) {
	w.numbers++
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		w.integers = false
	}
	if w.numbers > 1 && v != w.last+1 {
		w.steady = false
	}
	w.last = v
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return
	}
	w.min, w.max = min(w.min, v), max(w.max, v)
	d := v - w.mean
	w.mean += d / float64(w.numbers)
	w.m2 += d * (v - w.mean)
	w.sketch.Push([]float32{float32(v)}, 1, nil)
}

// column returns the Column for the cells seen.
func (w *watcher) column(duplicate bool) Column {
	c := Column{Name: w.name, Rows: w.rows, Missing: w.empty, Exact: true, Duplicate: duplicate}
	for _, m := range marks {
		if w.marks[m] > 0 {
			c.Marks = append(c.Marks, m)
			c.Missing += w.marks[m]
		}
	}
	c.Kind = w.kind(&c)
	if w.others > 0 {
		c.Words = float64(w.words) / float64(w.others)
	}
	if w.values != nil {
		c.Distinct, c.Exact = w.values.Len()-len(c.Marks), w.values.Exact()
		if !c.Exact {
			c.Distinct = w.limit
		}
		for _, e := range w.values.Top(len(c.Marks) + 10) {
			if !isMark(e.Value) && len(c.Top) < 10 {
				c.Top = append(c.Top, e)
			}
		}
	} else {
		c.Distinct, c.Exact = w.limit, false
	}
	if c.Kind == Number && c.Reading.Part == "" {
		w.measured(&c)
	}
	return c
}

// measured sets the statistics of numbers.
func (w *watcher) measured(c *Column) {
	c.Integers, c.Steady = w.integers, w.steady && w.integers && w.numbers > 2
	c.Min, c.Max, c.Mean = w.min, w.max, w.mean
	c.Std = math.Sqrt(w.m2 / float64(max(w.numbers, 1)))
	for i, q := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		c.Quantiles[i] = w.sketch.Quantile(q)
	}
}

// Words stand for missing values if there are at most mostMissingWords of them, besides many different values.
const (
	mostMissingWords  = 3
	valuesBesideWords = 30
)

// kind decides the kind of the values. A few different words among numbers stand for missing values; if there are many
// different numbers, such words may be frequent.
func (w *watcher) kind(c *Column) Kind {
	switch {
	case w.told == Nested || w.told == Unreadable:
		return w.told
	case w.numbers == 0 && w.others == 0:
		return Empty
	case w.told != Number && w.others > 0 && w.isRead(c):
		if c.Reading.Part == textvalue.Number {
			w.written.odd(c, w.others)
			return Number
		}
		c.Missing += w.others - w.written.dated(c.Reading)
		return Date
	case w.told == Text:
		return Text
	case w.others == 0:
		if w.points && !w.commas { // unlike the other columns
			c.Reading = textvalue.Reading{Part: textvalue.Number}
		}
		return Number
	case w.strangers.Exact() && w.strangers.Len() <= mostMissingWords && (w.numbers > 9*w.others && w.differ(10) || w.numbers > w.others && w.differ(valuesBesideWords)):
		for _, e := range w.strangers.Top(-1) {
			c.Marks = append(c.Marks, e.Value)
			c.Missing += e.Count
		}
		return Number
	}
	return Text
}

// isRead reports whether the texts are numbers with units, or dates, and sets c.Reading.
func (w *watcher) isRead(c *Column) bool {
	others := w.others
	if w.differ(valuesBesideWords) {
		others -= w.written.missing(w.numbers + w.others)
	}
	c.Reading = w.written.reading(w.numbers, others, w.slashes)
	return c.Reading.Part != ""
}

// differ reports whether there are more than so many different values: fewer numbers may be names of categories.
func (w *watcher) differ(than int) bool {
	return w.values == nil || !w.values.Exact() || w.values.Len() > than
}

// all returns all values with their counts, the most frequent first; false if there are too many to know. If words is set,
// it includes marks that may be words.
func (w *watcher) all(words bool) ([]frequent.Entry[string], bool) {
	if w.values == nil || !w.values.Exact() {
		return nil, false
	}
	var out []frequent.Entry[string]
	for _, e := range w.values.Top(-1) {
		if !isMark(e.Value) || words && slices.Contains(wordMarks, e.Value) {
			out = append(out, e)
		}
	}
	return out, true
}
