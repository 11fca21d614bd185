package feature

import (
	"fmt"
	"math"
	"slices"
)

// fill writes out what a column takes from data. filled has the declarations before it by name.
func (s statistics) fill(c *AdaptedColumn, filled map[string]Spec) error {
	switch c.Declared.Type {
	case "vocabulary", "words":
		return s.fillVocabulary(c)
	case "bucketized":
		return s.fillBuckets(c, filled[c.Declared.Of])
	}
	s.fillNumbers(c)
	return nil
}

func (s statistics) fillNumbers(c *AdaptedColumn) {
	d := c.Declared
	n := s.numbers(d.Key, d.reading())
	c.Missing = n.missing
	c.Approximate = d.Missing == missingFrequent && !n.exact()
	if d.imputes() {
		c.Filled.Missing, c.Filled.Defaults = missingDefault, n.stand(d.Missing)
	}
	if !d.Normalize.Adapt {
		return
	}
	for _, x := range s[d.Key] {
		if m, ok := x.(*moments); ok && m.read == d.reading() && m.normalizer.String() == d.Normalize.before().String() {
			c.Filled.Normalize.Adapt = false
			c.Filled.Normalize.Mean, c.Filled.Normalize.Std = m.mean, m.deviations()
			return
		}
	}
}

func (s statistics) fillVocabulary(c *AdaptedColumn) error {
	d := c.Declared
	v := s.values(d.Key, d.counted())
	c.Missing, c.Approximate = v.missing, !v.counts.Exact()
	c.Filled.Adapt, c.Filled.Size, c.Filled.MinCount = false, 0, 0
	most := -1
	if d.Size > 0 {
		most = d.Size
	}
	for _, e := range v.counts.Top(most) {
		if e.Count < int64(d.MinCount) {
			break
		}
		c.Filled.Vocabulary, c.Counts = append(c.Filled.Vocabulary, e.Value), append(c.Counts, e.Count)
	}
	if len(c.Filled.Vocabulary) == 0 {
		what := "value"
		if d.Type == "words" {
			what = "word"
		}
		return fmt.Errorf("no %s of %q occurs %d times or more: leave the column out, or lower min_count", what, d.Key, max(d.MinCount, 1))
	}
	return nil
}

// fillBuckets sets the boundaries to quantiles of the numbers of column of, after its normalizer.
func (s statistics) fillBuckets(c *AdaptedColumn, of Spec) error {
	n := s.numbers(of.Key, of.reading())
	c.Missing = n.missing
	normalizer := Normalizer{Scale: float32(of.Normalize.Scale), Log: of.Normalize.Log, Mean: convert[float32](of.Normalize.Mean), Std: convert[float32](of.Normalize.Std)}
	if err := normalizer.check(1); err != nil {
		return err
	}
	var raw []float32
	if len(n.sketches) > 0 {
		raw = n.sketches[0].Boundaries(c.Declared.Quantiles)
	}
	normalizer.apply(raw, 1)
	slices.Sort(raw) // a negative std reverses the order
	c.Filled.Quantiles = 0
	for _, b := range raw {
		last := len(c.Filled.Boundaries) - 1
		if x := float64(b); !math.IsNaN(x) && !math.IsInf(x, 0) && (last < 0 || x > c.Filled.Boundaries[last]) {
			c.Filled.Boundaries = append(c.Filled.Boundaries, x)
		}
	}
	if len(c.Filled.Boundaries) == 0 {
		return fmt.Errorf("the training data has no two different numbers of %q: leave the column out", of.Key)
	}
	return nil
}

// checkFilled refuses declarations that no data could make valid. It runs before the data is read.
func checkFilled(specs []Spec) error {
	out := slices.Clone(specs)
	for i, s := range specs {
		if s.Adapt {
			out[i].Adapt, out[i].Size, out[i].MinCount, out[i].Vocabulary = false, 0, 0, []string{"0"}
			if s.OOVBuckets == 0 {
				out[i].Default = nil // whether it is valid depends on the size of the vocabulary
			}
		}
		if s.Quantiles > 0 {
			out[i].Quantiles, out[i].Boundaries = 0, []float64{0}
		}
		if s.imputes() {
			out[i].Missing, out[i].Defaults = missingDefault, make([]float64, shapeSize(s.Shape))
		}
		out[i].Normalize.Adapt = false
	}
	set, err := Build(out)
	if err != nil {
		return err
	}
	for _, name := range set.names {
		c, err := asBuiltin(set.columns[name])
		if err == nil {
			err = c.check()
		}
		if err != nil {
			return fmt.Errorf("adapt: column %q: %w", name, err)
		}
	}
	return nil
}
