package dataset

import (
	"context"
	"errors"
	"io"
	"slices"
)

// Generator is a set of functions that make elements from a state.
type Generator struct {
	Begin Func // makes the state of a pass, from nothing
	Next  Func // makes an element from the state, and ends the pass with ErrRange
	End   Func // is called with the state after the last element; its result is dropped
}

// Generate is the Dataset of a Generator's elements. End is not called for a pass that is closed early.
func Generate(g Generator) Dataset { return generated{g} }

type generated struct{ Generator }

func (generated) Cardinality() int64 { return Unknown }

func (g generated) Iterator(*Pass) (Iterator, error) {
	var state Element
	begun, over := false, false
	return iteratorFunc(func(ctx context.Context) (e Element, err error) {
		if over {
			return nil, io.EOF
		}
		if !begun {
			if state, err = g.Begin(ctx, nil); err != nil {
				return nil, err
			}
			begun = true
		}
		if e, err = g.Next(ctx, slices.Clone(state)); !errors.Is(err, ErrRange) {
			return e, err
		}
		if _, err = g.End(ctx, slices.Clone(state)); err != nil {
			return nil, err
		}
		over = true
		return nil, io.EOF
	}), nil
}
