package networks

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// TwoTower computes vectors of queries and of candidates, so that vectors of a matching pair have a large dot product. Each tower
// is an embedding of ids and dense layers. losses.InBatch trains both; a search by dot products finds candidates.
type TwoTower struct {
	Queries, Candidates int   // numbers of ids
	Embedding           int   // width of the embeddings
	Hidden              []int // units of dense layers, with ReLU
	Width               int   // width of the vectors
}

// Query returns the vectors of queries, integer ids [batch]: [batch, Width], of length 1.
func (t TwoTower) Query(c models.Context, ids *G.Node) *G.Node {
	return t.tower(c, "query", ids, t.Queries)
}

// Candidate returns the vectors of candidates, as Query does for queries.
func (t TwoTower) Candidate(c models.Context, ids *G.Node) *G.Node {
	return t.tower(c, "candidate", ids, t.Candidates)
}

// QueryOf is Query for queries that are described by numbers [batch, n] in place of ids.
func (t TwoTower) QueryOf(c models.Context, x *G.Node) (y *G.Node) {
	if c.Core().Failed() {
		return nil
	}
	if x == nil || len(x.Shape()) != 2 || t.Width < 1 {
		c.Core().Failf("two_tower: a query, vectors of %d: expected numbers [batch, n], and vectors of 1 number or more", t.Width)
		return nil
	}
	c.Core().Scope("query", func() { y = t.vectors(c, x) })
	return y
}

func (t TwoTower) tower(c models.Context, name string, ids *G.Node, rows int) (x *G.Node) {
	if c.Core().Failed() {
		return nil
	}
	if ids == nil || len(ids.Shape()) != 1 || t.Width < 1 {
		c.Core().Failf("two_tower: %s, vectors of %d: expected ids [batch], and vectors of 1 number or more", name, t.Width)
		return nil
	}
	c.Core().Scope(name, func() {
		x = t.vectors(c, layers.Embedding(c, ops.Cast(c, ids, tensor.Int32), rows, t.Embedding, layers.Weights{}))
	})
	return x
}

// vectors runs the dense layers of a tower, and scales the results to length 1.
func (t TwoTower) vectors(c models.Context, x *G.Node) *G.Node {
	for _, n := range t.Hidden {
		x = layers.Dense(c, x, n, layers.Weights{Activation: ops.Relu})
	}
	x = layers.Dense(c, x, t.Width, layers.Weights{Name: "vector"})
	if c.Core().Failed() {
		return nil
	}
	squares := ops.Sum(c, ops.Square(c, x), ops.KeepAxes(1))
	return ops.Mul(c, x, ops.Rsqrt(c, ops.Maximum(c, squares, ops.Scalar(c, models.GraphType(x.Dtype()), 1e-12))))
}
