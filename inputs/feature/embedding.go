package feature

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Combiner says how the rows that an example's ids select in a table become one row.
type Combiner string

// The combiners. "" means Mean in an Embedding, Sum in a linear model.
const (
	Mean  Combiner = "mean"  // the weighted sum, divided by the sum of the weights
	SqrtN Combiner = "sqrtn" // the weighted sum, divided by the square root of the sum of the squared weights
	Sum   Combiner = "sum"   // the weighted sum
)

func (c Combiner) check() error {
	switch c {
	case "", Mean, SqrtN, Sum:
		return nil
	}
	return fmt.Errorf("combiner must be mean, sqrtn or sum, got %q", c)
}

func (c Combiner) or(def Combiner) Combiner {
	if c == "" {
		return def
	}
	return c
}

// Embedding is embedding_column: the combined rows of a table with Dimension
// columns; over a Sequence, one row per step.
type Embedding struct {
	Of         Categorical
	Dimension  int
	Combiner   Combiner
	Stddev     float64 // of the truncated normal distribution that initializes the table; 0: 1/sqrt(Dimension)
	MaxNorm    float64 // rows with a larger L2 norm are scaled to it on reading; 0: no limit
	Frozen     bool    // the table is not trained
	Checkpoint string  // a checkpoint that initializes the table, and
	Tensor     string  // its tensor; both or neither
	// Table names the table that this column shares with others: see
	// SharedEmbeddings. "": it has its own.
	Table string
}

// SharedEmbeddings is shared_embeddings: columns like like, one over each of the
// categorical columns, with one table. like.Table names it; "" means the names of
// the categorical columns, sorted and joined by _, with the suffix _shared_embedding.
func SharedEmbeddings(of []Categorical, like Embedding) []Column {
	if like.Table == "" {
		var names []string
		for _, c := range of {
			if c != nil {
				names = append(names, c.Name())
			}
		}
		slices.Sort(names)
		like.Table = strings.Join(names, "_") + "_shared_embedding"
	}
	out := make([]Column, len(of))
	for i, c := range of {
		e := like
		e.Of = c
		out[i] = &e
	}
	return out
}

// Name is the categorical column's name with the suffix _embedding, or
// _shared_embedding if the table is shared.
func (c *Embedding) Name() string {
	if c.Table != "" {
		return c.Of.Name() + "_shared_embedding"
	}
	return c.Of.Name() + "_embedding"
}

// String is like embedding(hash_bucket(job, 1000), 8).
func (c *Embedding) String() string {
	s := fmt.Sprintf("embedding(%v, %d", c.Of, c.Dimension)
	if c.Combiner != "" && c.Combiner != Mean {
		s += ", " + string(c.Combiner)
	}
	for _, o := range []struct {
		set  bool
		text string
	}{
		{c.Stddev != 0, fmt.Sprintf("stddev=%g", c.Stddev)}, {c.MaxNorm != 0, fmt.Sprintf("max_norm=%g", c.MaxNorm)}, {c.Frozen, "frozen"},
		{c.Checkpoint != "", "checkpoint=" + c.Checkpoint + ":" + c.Tensor}, {c.Table != "", "table=" + c.Table},
	} {
		if o.set {
			s += ", " + o.text
		}
	}
	return s + ")"
}

// Width is Dimension.
func (c *Embedding) Width() int { return c.Dimension }

func (c *Embedding) check() error {
	if c.Of == nil {
		return fmt.Errorf("no categorical column")
	}
	if err := positive("the dimension", c.Dimension); err != nil {
		return err
	}
	if err := c.Combiner.check(); err != nil {
		return err
	}
	if !(c.MaxNorm >= 0) || !(c.Stddev >= 0) {
		return fmt.Errorf("max_norm and stddev must not be negative, got %g and %g", c.MaxNorm, c.Stddev)
	}
	if (c.Checkpoint == "") != (c.Tensor == "") {
		return fmt.Errorf("checkpoint and tensor go together, got %q and %q: give both or neither", c.Checkpoint, c.Tensor)
	}
	return nil
}

func (c *Embedding) parents() []Column { return []Column{c.Of} }
func (c *Embedding) reads() []read     { return nil }

// variable returns the column's table.
func (c *Embedding) variable() *Variable {
	v := &Variable{Name: scope(c.Name()) + "/embedding_weights", Shape: []int{c.Of.Buckets(), c.Dimension},
		Stddev: c.Stddev, Trainable: !c.Frozen, Checkpoint: c.Checkpoint, Tensor: c.Tensor}
	if v.Stddev == 0 {
		v.Stddev = 1 / math.Sqrt(float64(c.Dimension))
	}
	if c.Table != "" {
		v.Name, v.Global = c.Table, true
	}
	return v
}
