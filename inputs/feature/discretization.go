package feature

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs"
)

// Discretization is Keras' layer: it maps a number to the index of its bin, i for a number in
// [Boundaries[i-1], Boundaries[i]). There is one more bin than boundaries. NaN is an error that names the row.
type Discretization struct {
	Boundaries []float32 // strictly increasing
	Mode       OutputMode
}

// String is like Discretization([0 0.5], int).
func (l *Discretization) String() string {
	return fmt.Sprintf("Discretization(%v, %s)", l.Boundaries, modeOr(l.Mode))
}

func (l *Discretization) output(c inputs.Column) (inputs.Column, error) {
	if err := (read{key: c.Name, kind: number}).accepts(inputs.Column{Name: c.Name, DType: c.DType}); err != nil {
		return c, err
	}
	if len(l.Boundaries) == 0 {
		return c, fmt.Errorf("no boundaries: give them, or adapt the layer")
	}
	for i, b := range l.Boundaries {
		if b != b || i > 0 && b <= l.Boundaries[i-1] {
			return c, fmt.Errorf("boundaries must increase strictly, got %v at place %d", b, i)
		}
	}
	return l.Mode.output(c, len(l.Boundaries)+1)
}

func (l *Discretization) call(c *cells, at func(int, error) error) (result, error) {
	x, err := c.floats()
	if err != nil {
		return result{}, err
	}
	ids := make([]int64, len(x))
	for i, v := range x {
		if v != v {
			return result{}, at(i, fmt.Errorf("not a number: filter such rows"))
		}
		ids[i] = int64(bucketOf(v, l.Boundaries))
	}
	return l.Mode.encode(ids, c, len(l.Boundaries)+1), nil
}

// Adapt sets boundaries that divide the numbers of a finite data set into bins of about equal size, with Keras' summary:
// it keeps the quantiles of each record at the multiples of epsilon. epsilon 0 means Keras' 0.01. Repeated
// numbers can lead to fewer boundaries.
func (l *Discretization) Adapt(ctx context.Context, ds inputs.Dataset, column string, bins int, epsilon float64) error {
	if epsilon == 0 {
		epsilon = 0.01
	}
	switch {
	case bins < 2:
		return fmt.Errorf("adapt: expected at least 2 bins, got %d", bins)
	case !(epsilon > 0 && epsilon < 1):
		return fmt.Errorf("adapt: expected an epsilon above 0 and below 1, got %v", epsilon)
	}
	var s summary
	err := eachCells(ctx, ds, column, func(c *cells) error {
		x, err := c.floats()
		if err != nil {
			return err
		}
		if firstNaN(x) >= 0 {
			return fmt.Errorf("not a number: filter such rows")
		}
		s = append(s, summarize(x, epsilon)...).compress(epsilon)
		return nil
	})
	if err != nil {
		return err
	}
	if len(s) == 0 {
		return fmt.Errorf("adapt: %w", inputs.ErrEmpty)
	}
	s = s.compress(1 / float64(bins))
	l.Boundaries = nil
	for _, b := range s[:max(len(s)-1, 0)] {
		l.Boundaries = append(l.Boundaries, b.v)
	}
	if l.Boundaries = slices.Compact(l.Boundaries); len(l.Boundaries) == 0 {
		return fmt.Errorf("adapt: column %q: no boundaries came of its numbers: use more of them, or fewer bins", column)
	}
	return nil
}

// weightedNumber is a number that represents w numbers.
type weightedNumber struct {
	v float32
	w float64
}

// summary is Keras' summary of a distribution: numbers with their weights.
type summary []weightedNumber

// summarize keeps the quantiles of the numbers at the multiples of epsilon.
func summarize(x []float32, epsilon float64) summary {
	x = slices.Clone(x)
	slices.Sort(x)
	start := int(float32(len(x)) / float32(1/epsilon))
	step := max(start, 1)
	var out summary
	for i := start; i < len(x); i += step {
		out = append(out, weightedNumber{x[i], float64(step)})
	}
	return out
}

// compress keeps one number for each epsilon of the total weight, by linear interpolation.
func (s summary) compress(epsilon float64) summary {
	if len(s) == 0 {
		return nil
	}
	slices.SortStableFunc(s, func(a, b weightedNumber) int { return cmp.Compare(a.v, b.v) })
	weights, numbers := make([]float64, len(s)), make([]float64, len(s))
	total := 0.0
	for i, e := range s {
		total += e.w
		weights[i], numbers[i] = total, float64(e.v)
	}
	shares := make([]float64, len(s))
	for i, w := range weights {
		shares[i] = w / total
	}
	var out summary
	before := 0.0
	for i := 0; float64(i)*epsilon < 1; i++ {
		p := epsilon + float64(i)*epsilon
		w := interpolated(p, shares, weights)
		out = append(out, weightedNumber{float32(interpolated(p, shares, numbers)), float64(float32(w - before))})
		before = w
	}
	return out
}

// interpolated is the value at p of the line through points of increasing x; outside them, the value of the nearest point.
func interpolated(p float64, x, y []float64) float64 {
	i, exact := slices.BinarySearch(x, p)
	switch {
	case i == len(x):
		return y[len(y)-1]
	case exact || i == 0:
		return y[i]
	}
	return y[i-1] + (y[i]-y[i-1])*(p-x[i-1])/(x[i]-x[i-1])
}
