package feature

import (
	"fmt"
	"sort"
)

// Bucketized is bucketized_column: the bucket of a number, i for a number in
// [Boundaries[i-1], Boundaries[i]). As a dense column it is one-hot; as a
// categorical one, number j of an example has ids from j*(len(Boundaries)+1) on.
type Bucketized struct {
	Of         *Numeric  // of one dimension
	Boundaries []float64 // strictly increasing; compared as float32
}

// Name is the numeric column's name with the suffix _bucketized.
func (c *Bucketized) Name() string { return c.Of.Name() + "_bucketized" }

// String is like bucketized(numeric(age), [18 25]).
func (c *Bucketized) String() string { return fmt.Sprintf("bucketized(%v, %v)", c.Of, c.Boundaries) }

// Buckets is the number of ids.
func (c *Bucketized) Buckets() int { return c.Of.Width() * (len(c.Boundaries) + 1) }

// Width is the total length of an example's one-hot vectors.
func (c *Bucketized) Width() int { return c.Buckets() }

func (c *Bucketized) check() error {
	if len(c.Of.Shape) > 1 {
		return fmt.Errorf("expected a numeric column of one dimension, got shape %v", c.Of.Shape)
	}
	if len(c.Boundaries) == 0 {
		return fmt.Errorf("no boundaries: give at least one")
	}
	for i, x := range c.Boundaries {
		if x != x {
			return fmt.Errorf("boundary %d is NaN", i)
		}
		if i > 0 && x <= c.Boundaries[i-1] {
			return fmt.Errorf("boundaries must increase strictly, got %g after %g at place %d", x, c.Boundaries[i-1], i)
		}
	}
	return nil
}

func (c *Bucketized) parents() []Column { return []Column{c.Of} }
func (c *Bucketized) reads() []read     { return nil }

// buckets calls put with each number of the batch and its bucket. NaN, if
// allowed, is in the last bucket.
func (c *Bucketized) buckets(b *batch, put func(i, bucket int)) error {
	x, err := c.Of.values(b)
	if err != nil {
		return err
	}
	var room [16]float32
	edges := convertInto(room[:0], c.Boundaries)
	for i, v := range x {
		put(i, bucketOf(v, edges))
	}
	return nil
}

// bucketOf is the number of edges that are at most v.
func bucketOf(v float32, edges []float32) int {
	if len(edges) > 16 {
		return sort.Search(len(edges), func(j int) bool { return v < edges[j] })
	}
	n := 0
	for _, e := range edges { // for few edges, counting all has no branch to mispredict
		above := 1
		if v < e {
			above = 0
		}
		n += above
	}
	return n
}

func (c *Bucketized) dense(b *batch, out []float32) error {
	n := len(c.Boundaries) + 1
	return c.buckets(b, func(i, bucket int) { out[i*n+bucket] = 1 })
}

func (c *Bucketized) ids(b *batch) (*idList, error) {
	return b.ids(c, "", func(l *idList) (*idList, error) {
		w, n := c.Of.Width(), len(c.Boundaries)+1
		*l = idList{values: sized(l.values, b.rows()*w), offsets: b.even(w)}
		if w == 1 {
			return l, c.buckets(b, func(i, bucket int) { l.values[i] = int64(bucket) })
		}
		return l, c.buckets(b, func(i, bucket int) { l.values[i] = int64(i%w*n + bucket) })
	})
}
