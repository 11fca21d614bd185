package feature

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
)

// Adapt sets the vocabulary to the strings of a column of a finite data set, the most frequent first and,
// among equally frequent ones, the larger first, as Keras does. It does not count Mask and [UNK], Keras'
// token for unknown strings. maxTokens limits all ids together, including the ids of mask and
// out-of-vocabulary values; 0: no limit.
func (l *StringLookup) Adapt(ctx context.Context, ds inputs.Dataset, column string, maxTokens int) error {
	counts := map[string]int{}
	err := eachCells(ctx, ds, column, func(c *cells) error {
		t, err := c.texts()
		for i := 0; err == nil && i < c.count; i++ {
			if s := string(t.value(i)); s != "[UNK]" && (l.Mask == nil || s != *l.Mask) {
				counts[s]++
			}
		}
		return err
	})
	if err == nil {
		l.Vocabulary, err = mostFrequent(counts, maxTokens, l.lookup().before(), strings.Compare)
	}
	return err
}

// Adapt sets the vocabulary to the integers of a column, as StringLookup.Adapt does for
// strings; -1 means an unknown integer.
func (l *IntegerLookup) Adapt(ctx context.Context, ds inputs.Dataset, column string, maxTokens int) error {
	counts := map[int64]int{}
	err := eachCells(ctx, ds, column, func(c *cells) error {
		x, err := c.ints()
		for _, v := range x {
			if v != -1 && (l.Mask == nil || v != *l.Mask) {
				counts[v]++
			}
		}
		return err
	})
	if err == nil {
		l.Vocabulary, err = mostFrequent(counts, maxTokens, l.lookup().before(), cmp.Compare[int64])
	}
	return err
}

// mostFrequent returns the entries of a vocabulary.
func mostFrequent[K comparable](counts map[K]int, maxTokens, before int, compare func(a, b K) int) ([]K, error) {
	if maxTokens != 0 && maxTokens <= before {
		return nil, fmt.Errorf("max_tokens must be more than the %d ids outside the vocabulary, got %d", before, maxTokens)
	}
	out := make([]K, 0, len(counts))
	for v := range counts {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b K) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), compare(b, a)) })
	if maxTokens > 0 && len(out) > maxTokens-before {
		out = out[:maxTokens-before]
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("adapt: %w", inputs.ErrEmpty)
	}
	return out, nil
}

// Adapt sets mean and variance, over the whole data set, for each number of an
// example of a dense column (Keras' axis=-1 of a vector).
func (l *Normalization) Adapt(ctx context.Context, ds inputs.Dataset, column string) error {
	var n float64
	var mean, m2 []float64
	err := eachCells(ctx, ds, column, func(c *cells) error {
		x, err := c.floats()
		if err != nil {
			return err
		}
		if c.offsets != nil {
			return fmt.Errorf("ragged columns cannot be normalised")
		}
		if mean == nil {
			mean, m2 = make([]float64, c.width), make([]float64, c.width)
		}
		for row := range c.rows { // Welford's method
			n++
			for j, v := range x[row*c.width : (row+1)*c.width] {
				d := float64(v) - mean[j]
				mean[j] += d / n
				m2[j] += d * (float64(v) - mean[j])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("adapt: %w", inputs.ErrEmpty)
	}
	for j := range m2 {
		m2[j] /= n
	}
	l.Mean, l.Variance = convert[float32](mean), convert[float32](m2)
	return nil
}

// eachCells calls f with a column of each record of a data set.
func eachCells(ctx context.Context, ds inputs.Dataset, column string, f func(*cells) error) error {
	if _, err := ds.Schema().Column(column); err != nil {
		return fmt.Errorf("adapt: %w", err)
	}
	at := ds.Schema().Index(column)
	it, err := ds.Iterate(ctx)
	if err != nil {
		return fmt.Errorf("adapt: %w", err)
	}
	defer it.Close()
	for {
		rec, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("adapt: %w", err)
		}
		c, err := newCells(column, rec.Column(at))
		if err == nil && c.missing != nil {
			err = fmt.Errorf("missing values: fill them, or filter such rows")
		}
		if err == nil {
			err = f(c)
		}
		rec.Release()
		if err != nil {
			return fmt.Errorf("adapt: column %q: %w", column, err)
		}
	}
}
