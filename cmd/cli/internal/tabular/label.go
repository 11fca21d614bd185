package tabular

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/goestimator/goestimator/internal/platform/frequent"
)

// leastSpread is the least ratio of standard deviation to mean at which 32-bit numbers still differ in three digits.
const leastSpread = 1e-4

// mostClasses is the largest number of classes of a label.
const mostClasses = 1000

// labelOf infers the task and the classes. Among other words, marks such as None are classes.
func labelOf(c Column, w *watcher, task Task) (*Label, error) {
	if c.Kind == Nested || c.Kind == Date || c.Kind == Unreadable {
		return nil, fmt.Errorf("label %q is of kind %s: expected numbers or classes", c.Name, c.Kind)
	}
	words := w.others > 0 && c.Kind == Text && task != Regression
	values, known := w.all(words)
	missing, l := c.Missing, &Label{}
	if words {
		for _, m := range wordMarks {
			if w.marks[m] > 0 {
				missing, l.Words = missing-w.marks[m], append(l.Words, m)
			}
		}
	}
	if c.Odd > 0 {
		return nil, fmt.Errorf("label %q is no number in %d of %d rows, for example %q: correct or remove these rows", c.Name, c.Odd, c.Rows, c.OddText)
	}
	if missing == c.Rows || missing > 0 && c.Reading.Part != "" { // a column read as numbers with units must not have missing values
		return nil, fmt.Errorf("label %q is missing in %d of %d rows: remove these rows", c.Name, missing, c.Rows)
	}
	l.Missing = missing
	if c.Kind == Number {
		values = sameNumbers(values)
	}
	if known && len(values) == 1 {
		return nil, fmt.Errorf("label %q is always %q: there is nothing to learn", c.Name, values[0].Value)
	}
	if task == "" {
		task = taskOf(c, values, known)
	}
	if task == Regression {
		if c.Kind != Number {
			return nil, fmt.Errorf("label %q has words, for example %s: regression needs numbers", c.Name, w.example())
		}
		if c.Std < math.Abs(c.Mean)*leastSpread {
			return nil, fmt.Errorf("label %q is %.10g on average and deviates from it by %.3g: 32-bit numbers hardly tell its values apart: subtract a constant from it", c.Name, c.Mean, c.Std)
		}
		l.Task = task
		return l, nil
	}
	if !known || len(values) > mostClasses {
		return nil, fmt.Errorf("label %q has more than %d different values: expected at most as many classes", c.Name, min(c.Distinct, mostClasses))
	}
	if labelled := c.Rows - missing; c.Kind == Text && labelled >= 20 && 2*int64(len(values)) > labelled {
		return nil, fmt.Errorf("label %q has %d different values in %d rows, as names and ids have: there is nothing to learn; expected classes of several rows", c.Name, len(values), labelled)
	}
	if w.long {
		return nil, fmt.Errorf("label %q has texts of more than %d bytes: expected short names of classes", c.Name, longestCell)
	}
	l.Task, l.Classes = Multiclass, values
	if len(values) == 2 {
		l.Task = Binary
	}
	slices.SortFunc(l.Classes, func(a, b frequent.Entry[string]) int { return compareClasses(a.Value, b.Value) })
	return l, nil
}

// sameNumbers adds up the counts of equal numbers written in different ways, such as 1 and 1.0, under the first form.
func sameNumbers(values []frequent.Entry[string]) []frequent.Entry[string] {
	at := map[float64]int{}
	var out []frequent.Entry[string]
	for _, e := range values {
		v, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return values
		}
		if i, known := at[v]; known {
			out[i].Count += e.Count
			continue
		}
		at[v], out = len(out), append(out, e)
	}
	return out
}

// taskOf: words and few whole numbers are classes. Among more than ten whole numbers, very rare ones suggest the tails of counts.
func taskOf(c Column, values []frequent.Entry[string], known bool) Task {
	if c.Kind == Text {
		return Multiclass
	}
	few := known && (len(values) == 2 || c.Integers && len(values) <= 20 && int64(len(values)) <= max(c.Rows/5, 2))
	if few && (len(values) <= 10 || !hasTails(values)) || known && c.Integers && areCodes(values) {
		return Multiclass
	}
	return Regression
}

// mostCodes is the largest number of class codes, and codeRows the least number of rows for each.
const (
	mostCodes = 100
	codeRows  = 10
)

// areCodes reports whether whole numbers look like class codes: they are consecutive from 0 or 1, and about equally frequent, unlike most
// counts and measurements.
func areCodes(values []frequent.Entry[string]) bool {
	if len(values) > mostCodes {
		return false
	}
	all, least, most := int64(0), values[0].Count, values[0].Count
	low, high := math.Inf(1), math.Inf(-1)
	for _, e := range values {
		v, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return false
		}
		all, least, most = all+e.Count, min(least, e.Count), max(most, e.Count)
		low, high = min(low, v), max(high, v)
	}
	n := int64(len(values))
	return (low == 0 || low == 1) && high-low == float64(n-1) && least >= codeRows && 2*least*n >= all && most*n <= 2*all
}

// hasTails reports whether some value has less than a tenth of the mean count.
func hasTails(values []frequent.Entry[string]) bool {
	all, least := int64(0), values[0].Count
	for _, e := range values {
		all, least = all+e.Count, min(least, e.Count)
	}
	return 10*least*int64(len(values)) < all
}

// example returns a value that is not a number.
func (w *watcher) example() string {
	for _, e := range w.strangers.Top(1) {
		return quoted(e.Value)
	}
	return quoted(w.stranger)
}

// compareClasses orders numbers by value, then words alphabetically; no, n, false and 0 come before their opposites.
func compareClasses(a, b string) int {
	x, ok := strconv.ParseFloat(a, 64)
	y, ok2 := strconv.ParseFloat(b, 64)
	if ok == nil && ok2 == nil {
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	}
	if ok == nil || ok2 == nil {
		if ok == nil {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}
