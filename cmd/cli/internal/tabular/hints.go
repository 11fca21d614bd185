package tabular

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/frequent"
	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// Relation says how a column relates to the label, in the rows of the sample.
type Relation struct {
	// Correlation is Pearson's correlation with the label; NaN if either has no numbers.
	Correlation float64
	// Alone says how well the column alone predicts the label on held-out rows: the share of right classes, or of the explained
	// variance. Guess is the same without any column.
	Alone, Guess float64
}

// suspicious is the share of the possible gain from which a single column looks like the label in disguise.
const suspicious = 0.9

// Hints describe likely mistakes in the data.
func (p *Profile) Hints() []string {
	if p.Label == nil {
		return nil
	}
	var out []string
	uses, _ := p.Uses()
	for i, r := range p.Relations() {
		if uses[i] != Numeric && uses[i] != Category || r.Guess > suspicious {
			continue
		}
		if r.Alone >= r.Guess+suspicious*(1-r.Guess) && p.Rows >= 100 {
			out = append(out, fmt.Sprintf("%s: it alone predicts the label (%.1f %%); is it known when the model is used? If not: init --leave-out %q", p.Columns[i].Name, 100*r.Alone, p.Columns[i].Name))
		}
	}
	if n := p.Label.Missing; n > 0 {
		out = append(out, fmt.Sprintf("the label: it is missing in %d of %d rows, which training leaves out", n, p.Rows))
	}
	if n := p.Repeated; n > 0 {
		out = append(out, fmt.Sprintf("the rows: %d repeat the names of the columns, which training leaves out", n))
	}
	if len(p.Label.Words) > 0 {
		out = append(out, fmt.Sprintf("the label: %s is taken for a class; where it means that the label is not known, remove these rows", strings.Join(p.Label.Words, ", ")))
	}
	if len(p.Folders) > 0 {
		out = append(out, fmt.Sprintf("the folders: %s would be columns of Parquet and Arrow files; of %s they are not read: if they matter, write them into the files", strings.Join(p.Folders, ", "), p.Form.Format))
	}
	if words := sameButForCase(p.Label.Classes); len(words) > 0 {
		out = append(out, fmt.Sprintf("the label: %s are different classes; if they are one, write them alike in the file", strings.Join(words, " and ")))
	}
	if n := p.Duplicates; n > 0 && float64(n) > 0.01*float64(p.Compared) {
		out = append(out, fmt.Sprintf("the rows: %d of %d are equal to an earlier one, so that held out rows may have been trained on", n, p.Compared))
	}
	return append(out, p.kindHints()...)
}

// sameButForCase returns the first classes that differ only in case; nil if there are none.
func sameButForCase(classes []frequent.Entry[string]) []string {
	like := map[string][]string{}
	for _, e := range classes {
		key := strings.ToLower(e.Value)
		like[key] = append(like[key], quoted(e.Value))
	}
	for _, e := range classes {
		if list := like[strings.ToLower(e.Value)]; len(list) > 1 {
			return list
		}
	}
	return nil
}

// Relations returns the relations of all columns to the label, computed once. The label's own is zero.
func (p *Profile) Relations() []Relation {
	if p.relations == nil {
		p.relations = p.relate()
	}
	return p.relations
}

func (p *Profile) relate() []Relation {
	out := make([]Relation, len(p.Columns))
	if p.Label == nil {
		return out
	}
	label := p.labels()
	for i, c := range p.Columns {
		if i == p.Label.Column {
			continue
		}
		if c.Kind == Number {
			out[i].Correlation = p.correlation(i, label)
		} else {
			out[i].Correlation = math.NaN()
		}
		out[i].Alone, out[i].Guess = p.alone(i, label)
	}
	return out
}

// labels are the labels of the sample as numbers: class ids for classes.
func (p *Profile) labels() []float64 {
	ids, numbers := map[string]float64{}, map[float64]float64{}
	for i, e := range p.Label.Classes {
		ids[e.Value] = float64(i)
		if v, err := strconv.ParseFloat(e.Value, 64); err == nil {
			numbers[v] = float64(i)
		}
	}
	out := make([]float64, len(p.sample))
	for r, row := range p.sample {
		cell := row[p.Label.Column]
		if id, known := ids[cell]; known {
			out[r] = id
			continue
		}
		if len(ids) > 0 { // the same number in another form
			v, _ := strconv.ParseFloat(cell, 64)
			out[r] = numbers[v]
			continue
		}
		out[r], _ = p.number(p.Label.Column, cell)
	}
	return out
}

func (p *Profile) correlation(column int, label []float64) float64 {
	if len(p.Label.Classes) > 2 {
		return math.NaN()
	}
	var n, sx, sy, sxx, syy, sxy float64
	mean := p.Columns[column].Mean
	for r, row := range p.sample {
		x, ok := p.number(column, row[column])
		if !ok {
			continue
		}
		x -= mean
		y := label[r]
		n++
		sx, sy, sxx, syy, sxy = sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y
	}
	v := (sxx - sx*sx/n) * (syy - sy*sy/n)
	if !(v > 0) {
		return math.NaN()
	}
	return (sxy - sx*sy/n) / math.Sqrt(v)
}

// alone predicts the label in half of the rows by the mean, or most frequent class, of rows with the same value in the other half.
// The halves are drawn at random, since rows may alternate. Columns with many numbers are divided into buckets.
func (p *Profile) alone(column int, label []float64) (alone, guess float64) {
	keys, different := p.keys(column)
	classes := len(p.Label.Classes)
	groups := make([][]float64, different)
	var all []float64
	for r, k := range keys {
		if heldOut(r) {
			continue
		}
		groups[k] = append(groups[k], label[r])
		all = append(all, label[r])
	}
	general := typical(all, classes)
	byKey := make([]float64, different)
	for k, g := range groups {
		byKey[k] = general
		if len(g) > 0 {
			byKey[k] = typical(g, classes)
		}
	}
	var right, base, n, wrong, spread float64
	for r, k := range keys {
		if !heldOut(r) {
			continue
		}
		guessed := byKey[k]
		n++
		if guessed == label[r] {
			right++
		}
		if general == label[r] {
			base++
		}
		wrong += (guessed - label[r]) * (guessed - label[r])
		spread += (general - label[r]) * (general - label[r])
	}
	switch {
	case n == 0:
		return 0, 0
	case classes > 0:
		return right / n, base / n
	case spread == 0:
		return 0, 0
	}
	return max(1-wrong/spread, 0), 0
}

func heldOut(row int) bool { return splitmix.Mix(23, uint64(row))&1 == 1 }

// typical is the most frequent class, or the mean of numbers.
func typical(labels []float64, classes int) float64 {
	if classes == 0 {
		sum := 0.0
		for _, v := range labels {
			sum += v
		}
		return sum / float64(max(len(labels), 1))
	}
	counts := make([]int, classes)
	best := 0
	for _, v := range labels {
		counts[int(v)]++
		if counts[int(v)] > counts[best] {
			best = int(v)
		}
	}
	return float64(best)
}

// buckets is the largest number of buckets for a column of numbers; each has at least bucketRows rows.
const (
	buckets    = 64
	bucketRows = 16
)

// keys gives each row of the sample a key for its value, or for the bucket of its number. Keys are less than different.
func (p *Profile) keys(column int) (keys []int, different int) {
	keys = make([]int, len(p.sample))
	if p.Columns[column].Kind != Number {
		ids := map[string]int{}
		for r, row := range p.sample {
			id, known := ids[row[column]]
			if !known {
				id = len(ids)
				ids[row[column]] = id
			}
			keys[r] = id
		}
		return keys, len(ids)
	}
	type number struct {
		v   float64
		row int
	}
	var list []number
	for r, row := range p.sample {
		if v, ok := p.number(column, row[column]); ok {
			list = append(list, number{v, r})
		}
	}
	slices.SortFunc(list, func(a, b number) int { return cmp.Compare(a.v, b.v) })
	bucket, most := 0, max(min(buckets, len(list)/bucketRows), 2)
	for i, x := range list {
		if i > 0 && x.v != list[i-1].v {
			bucket = i * most / len(list)
		}
		keys[x.row] = bucket + 1 // key 0 is a missing number
	}
	return keys, most + 2
}
