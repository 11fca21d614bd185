package columngraph

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// ids adds the ids of a categorical column, as steps of a sequence if steps is set and the column
// can be a sequence. Emit has checked that a graph can hold the column.
func (e *emitter) ids(c feature.Column, steps bool) listNodes {
	switch c := c.(type) {
	case *feature.HashBucket:
		return e.hashBucket(c, steps)
	case *feature.Words:
		return e.words(c)
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
	return listNodes{e: e}
}

// dense adds the numbers of a dense column, [B, Width].
func (e *emitter) dense(c feature.Column) graph.Output {
	switch c := c.(type) {
	case feature.Formula:
		return e.formula(c)
	case *feature.Numeric:
		return e.values(c)
	case *feature.Bucketized:
		return e.bucketVectors(c)
	case *feature.Indicator:
		return e.counts(c)
	}
	return graph.Output{}
}

// steps adds the numbers of each step.
func (e *emitter) steps(c feature.Column) Emitted {
	switch c := c.(type) {
	case *feature.SequenceNumeric:
		return e.numberSteps(c)
	case *feature.Indicator:
		return e.countSteps(c)
	}
	return Emitted{}
}

// check returns an error for a column that a graph cannot hold.
func check(c feature.Column) error {
	switch c := c.(type) {
	case feature.Mapping:
		key, _ := c.Feature()
		return fmt.Errorf("column %q: its ids are a function of the program (%T), which a graph cannot hold: list its values in a feature.Vocabulary, or map %q to ids in the input function, read them by a feature.Identity and let clients send ids", c.Name(), c, key)
	case feature.Formula:
		return checkAll(c.Of())
	case *feature.Crossed:
		return checkAll(c.Leaves())
	case *feature.Indicator:
		return check(c.Of)
	case *feature.Weighted:
		return check(c.Of)
	case *feature.Sequence:
		return check(c.Of)
	case feature.Key, *feature.HashBucket, *feature.Words, *feature.Identity, *feature.Vocabulary, *feature.VocabularyFile, *feature.Bucketized, *feature.Numeric, *feature.SequenceNumeric:
		return nil
	}
	return fmt.Errorf("column %q of type %T: expected one of package feature itself, or a feature.Formula: a graph cannot hold what another type adds to it", c.Name(), c)
}

func checkAll[C feature.Column](columns []C) error {
	for _, c := range columns {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}
