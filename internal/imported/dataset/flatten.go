package dataset

import (
	"context"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/tensor"
)

// FlatMap calls a function for each element of the input, and is the Dataset of the elements of the datasets that it returns.
func FlatMap(in Dataset, f Func) Dataset { return Interleave(in, f, 1, 1) }

// Interleave is FlatMap over cycle datasets at a time, which take turns of block elements.
func Interleave(in Dataset, f Func, cycle, block int64) Dataset {
	return &interleave{in, f, cycle, block}
}

type interleave struct {
	in           Dataset
	f            Func
	cycle, block int64
}

func (i *interleave) Cardinality() int64 { return Unknown }

func (i *interleave) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(i.in)
	if err != nil {
		return nil, err
	}
	return &interleaving{interleave: i, p: p, in: in}, nil
}

// interleaving holds the passes that take turns; nil if one has ended.
type interleaving struct {
	*interleave
	p     *Pass
	in    Iterator
	ended bool // in has ended
	turns []Iterator
	at    int
	given int64 // elements of this turn
	open  int   // turns that are not nil
}

func (i *interleaving) Next(ctx context.Context) (Element, error) {
	for !i.ended || i.open > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i.at >= len(i.turns) && (i.ended || int64(len(i.turns)) >= i.cycle) {
			i.at = 0
		}
		if i.at >= len(i.turns) {
			i.turns = append(i.turns, nil)
		}
		turn := i.turns[i.at]
		if turn == nil {
			if err := i.begin(ctx); err != nil {
				return nil, err
			}
			continue
		}
		e, err := turn.Next(ctx)
		if err == io.EOF {
			turn.Close()
			i.turns[i.at] = nil
			i.open--
			i.advance()
			continue
		}
		if i.given++; i.given == i.block {
			i.advance()
		}
		return e, err
	}
	return nil, io.EOF
}

// advance moves to the next turn.
func (i *interleaving) advance() { i.at, i.given = i.at+1, 0 }

// begin starts a pass over the next dataset in the empty turn, or advances if there is none.
func (i *interleaving) begin(ctx context.Context) error {
	if i.ended {
		i.advance()
		return nil
	}
	e, err := i.in.Next(ctx)
	if err == io.EOF {
		i.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	made, err := i.f(ctx, e)
	if err != nil {
		return err
	}
	d, err := datasetIn(made)
	if err != nil {
		return err
	}
	in, err := i.p.begin(d)
	if err != nil {
		return err
	}
	i.turns[i.at] = in
	i.open++
	return nil
}

// datasetIn returns the only value of an element, which must be a Dataset.
func datasetIn(e Element) (Dataset, error) {
	if len(e) == 1 {
		if d, ok := e[0].Resource.(Dataset); ok {
			return d, nil
		}
	}
	return nil, fmt.Errorf("the function must return one dataset")
}

func (i *interleaving) Close() {
	i.in.Close()
	for _, turn := range i.turns {
		if turn != nil {
			turn.Close()
		}
	}
	i.turns, i.open = nil, 0
}

// Choose is the Dataset of elements of several datasets: each of the selector's elements says which one is next. A dataset that has
// ended is skipped; with stop, it ends the pass.
func Choose(selector Dataset, in []Dataset, stop bool) Dataset { return &choice{selector, in, stop} }

type choice struct {
	selector Dataset
	in       []Dataset
	stop     bool
}

func (c *choice) Cardinality() int64 {
	n := int64(0)
	for _, d := range c.in {
		switch m := d.Cardinality(); {
		case m == Infinite:
			return Infinite
		case m == Unknown || n == Unknown:
			n = Unknown
		default:
			n += m
		}
	}
	return n
}

func (c *choice) Iterator(p *Pass) (Iterator, error) {
	all, err := zip(append([]Dataset{c.selector}, c.in...)).Iterator(p)
	if err != nil {
		return nil, err
	}
	return &choosing{c, all.(zipping), make([]bool, len(c.in))}, nil
}

type choosing struct {
	*choice
	all   zipping // the selector first
	ended []bool
}

func (c *choosing) Next(ctx context.Context) (Element, error) {
	for {
		e, err := c.all[0].Next(ctx)
		if err != nil {
			return nil, err
		}
		if len(e) != 1 || e[0].T == nil || len(e[0].T.Shape) != 0 || e[0].T.DType != tensor.Int64 {
			return nil, fmt.Errorf("expected one int64 from the selector")
		}
		i := e[0].T.Int(0)
		if i < 0 || i >= int64(len(c.ended)) {
			return nil, fmt.Errorf("Selector index out of range: %d >= %d", i, len(c.ended))
		}
		if c.ended[i] {
			continue
		}
		if e, err = c.all[1+i].Next(ctx); err != io.EOF || c.stop {
			return e, err
		}
		c.ended[i] = true
		if over(c.ended) {
			return nil, io.EOF
		}
	}
}

func over(ended []bool) bool {
	for _, e := range ended {
		if !e {
			return false
		}
	}
	return true
}

func (c *choosing) Close() { c.all.Close() }
