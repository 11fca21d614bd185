package tabular

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/textvalue"
)

// kindHints point out labels and columns that a model would misinterpret, and say what to do.
func (p *Profile) kindHints() []string {
	var out []string
	if s := p.listLabel(); s != "" {
		out = append(out, fmt.Sprintf("the label: its values are lists separated by %q, and each different list is taken for a class; where several classes hold at once, split them for a head multi_label, or write a column of 0 and 1 for each (docs/tasks/tabular.md, several labels)", s))
	}
	uses, _ := p.Uses()
	for i, c := range p.Columns {
		if i == p.Label.Column {
			continue
		}
		switch {
		case p.share(i, isMediaName) > 0.9:
			out = append(out, fmt.Sprintf("%s: it names files, which are not read; put images into a folder for each class (init DIR), sounds are read by format: audio (docs/data.md)", c.Name))
		case uses[i] == Dates && p.ascends(i):
			out = append(out, fmt.Sprintf("%s: rows go by time, and held out rows lie between those that are trained on; to predict what comes, see how good the model is by crossval --by time, and docs/tasks/time-series.md", c.Name))
		case c.Kind == Text && p.share(i, isList) > 0.5:
			out = append(out, fmt.Sprintf("%s: its values are lists, and each different list is one value; the transform split makes lists of them (docs/data.md), and words separated by spaces are read one by one", c.Name))
		}
	}
	switch ids := p.ids(); {
	case len(ids) > 1:
		out = append(out, fmt.Sprintf("%s and %s: they are ids, and taken for categories; for who likes what, see docs/tasks/recommendation.md", p.Columns[ids[0]].Name, p.Columns[ids[1]].Name))
	case len(ids) == 1:
		a := p.Columns[ids[0]].Name
		out = append(out, fmt.Sprintf("%s: it is the id of several rows each; where new ids come later, see how good the model is by crossval --by %q", a, "group:"+a))
	}
	return out
}

// listMarks separate the classes of a multi-label column.
var listMarks = []string{"|", ";", ","}

// listLabel returns the separator if the label lists several classes and some lists share a class; otherwise "".
func (p *Profile) listLabel() string {
	for _, mark := range listMarks {
		single, parts, lists := map[string]bool{}, map[string]int{}, 0
		for _, e := range p.Label.Classes {
			words := strings.Split(e.Value, mark)
			if len(words) == 1 {
				single[e.Value] = true
				continue
			}
			lists++
			for _, w := range words {
				parts[strings.TrimSpace(w)]++
			}
		}
		again := 0
		for w, n := range parts {
			if n > 1 || single[w] {
				again++
			}
		}
		if lists > 1 && 2*again > len(parts) {
			return mark
		}
	}
	return ""
}

// share is the share of values in the sample, without empty ones, for which a function returns true.
func (p *Profile) share(column int, is func(string) bool) float64 {
	n, all := 0, 0
	for _, row := range p.sample {
		if row[column] == "" {
			continue
		}
		if all++; is(row[column]) {
			n++
		}
	}
	if all < 10 {
		return 0
	}
	return float64(n) / float64(all)
}

// isMediaName reports whether a value is the file name of an image or a sound.
func isMediaName(s string) bool {
	extension := strings.ToLower(path.Ext(s))
	return slices.Contains(inputs.ImageExtensions(), extension) || slices.Contains([]string{".wav", ".mp3", ".flac"}, extension)
}

// isList reports whether a value is a list such as "a|b" or ["a", "b"].
func isList(s string) bool {
	return strings.Contains(s, "|") && !strings.Contains(s, " ") || strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") && strings.Contains(s, ",")
}

// ids are the columns of whole numbers that are named like ids, with several rows for each id.
func (p *Profile) ids() []int {
	var out []int
	for i, c := range p.Columns {
		if c.dropped || c.Duplicate || p.Label != nil && i == p.Label.Column || c.Kind != Number || !c.Integers || !isIdentifier(c.Name) || !c.Exact || 2*int64(c.Distinct) > c.Rows-c.Missing || c.Distinct < 10 {
			continue
		}
		out = append(out, i)
	}
	return out
}

// ascends reports whether the dates of a column ascend from row to row. It needs a sample of nearly all rows.
func (p *Profile) ascends(column int) bool {
	c := p.Columns[column]
	if int64(len(p.sample)) < (p.Rows-p.Label.Missing)*9/10 || c.Distinct < 20 {
		return false // a sample of a longer table is not in order
	}
	r, last, down := c.Reading, math.Inf(-1), 0
	r.Part = textvalue.Days
	for _, row := range p.sample {
		v := r.Parse([]byte(row[column]))
		if math.IsNaN(v) {
			continue
		}
		if v < last {
			down++
		}
		last = v
	}
	return down*100 < len(p.sample)
}
