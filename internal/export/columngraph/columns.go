package columngraph

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// ids adds the ids of a categorical column: of steps of a sequence where asked for, of a column
// that can be one.
func (e *emitter) ids(c feature.Column, steps bool) listNodes {
	switch c := c.(type) {
	case *feature.HashBucket:
		return e.hashBucket(c, steps)
	case *feature.Identity:
		return e.identity(c, steps)
	case *feature.Vocabulary:
		return e.vocabulary(c, steps)
	case *feature.VocabularyFile:
		return e.vocabularyFile(c, steps)
	case *feature.Sequence:
		return e.ids(c.Of, true)
	case *feature.Bucketized:
		return e.bucketized(c)
	case *feature.Crossed:
		return e.crossed(c)
	case *feature.Weighted:
		return e.weighted(c)
	}
	e.refuse(c)
	return listNodes{e: e}
}

// dense adds the numbers of a dense column, [B, Width].
func (e *emitter) dense(c feature.Column) graph.Output {
	switch c := c.(type) {
	case *feature.Numeric:
		return e.values(c)
	case *feature.Bucketized:
		return e.bucketVectors(c)
	case *feature.Indicator:
		return e.counts(c)
	}
	e.refuse(c)
	return graph.Output{}
}

// steps adds the numbers of every step.
func (e *emitter) steps(c feature.Column) Emitted {
	switch c := c.(type) {
	case *feature.SequenceNumeric:
		return e.numberSteps(c)
	case *feature.Indicator:
		return e.countSteps(c)
	}
	e.refuse(c)
	return Emitted{}
}

// refuse fails for a column that a graph cannot hold.
func (e *emitter) refuse(c feature.Column) {
	e.b.Fail(fmt.Errorf("column %q of type %T cannot be a part of a graph", c.Name(), c))
}
