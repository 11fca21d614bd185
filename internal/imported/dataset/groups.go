package dataset

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Groups says how elements are grouped into windows by key.
type Groups struct {
	Key    Func // returns the key of an element, an int64
	Size   Func // returns how many elements of a key make a window
	Reduce Func // returns the dataset for a key and a window, which is a dataset of elements
}

// GroupByWindow groups elements by key into windows, and is the Dataset of the elements that Reduce makes of them.
func GroupByWindow(in Dataset, g Groups) Dataset { return &grouped{in, g} }

type grouped struct {
	in Dataset
	g  Groups
}

func (g *grouped) Cardinality() int64 { return Unknown }

func (g *grouped) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(g.in)
	if err != nil {
		return nil, err
	}
	return &grouping{grouped: g, p: p, in: in, windows: map[int64]*group{}}, nil
}

// group has the elements of a key.
type group struct {
	all  []Element
	size int64
	held int
}

type grouping struct {
	*grouped
	p       *Pass
	in      Iterator
	windows map[int64]*group
	now     Iterator // over the dataset that the last window became
	ended   bool
	rest    []int64 // keys of the incomplete windows at the end, in order
}

func (g *grouping) Next(ctx context.Context) (Element, error) {
	for {
		if g.now != nil {
			e, err := g.now.Next(ctx)
			if err != io.EOF {
				return e, err
			}
			g.now.Close()
			g.now = nil
		}
		switch {
		case !g.ended:
			if err := g.add(ctx); err != nil {
				return nil, err
			}
		case len(g.rest) == 0:
			return nil, io.EOF
		default:
			key := g.rest[0]
			g.rest = g.rest[1:]
			if err := g.reduce(ctx, key); err != nil {
				return nil, err
			}
		}
	}
}

// add takes an element of the input, and reduces the window of its key if it is complete.
func (g *grouping) add(ctx context.Context) error {
	e, err := g.in.Next(ctx)
	if err == io.EOF {
		g.ended = true
		g.rest = slices.Sorted(maps.Keys(g.windows))
		return nil
	}
	if err != nil {
		return err
	}
	out, err := g.g.Key(ctx, e)
	if err != nil {
		return err
	}
	key, err := integer("key_func", out)
	if err != nil {
		return err
	}
	w := g.windows[key]
	if w == nil {
		if out, err = g.g.Size(ctx, out); err != nil {
			return err
		}
		size, err := integer("window_size_func", out)
		if err != nil {
			return err
		}
		if size <= 0 {
			return fmt.Errorf("Window size must be greater than zero, but got %d.", size)
		}
		w = &group{size: size}
		g.windows[key] = w
	}
	n := e.bytes()
	if err := g.p.Room.take(n); err != nil {
		return err
	}
	w.held += n
	if w.all = append(w.all, e); int64(len(w.all)) < w.size {
		return nil
	}
	return g.reduce(ctx, key)
}

// reduce begins the pass over the dataset that a window becomes.
func (g *grouping) reduce(ctx context.Context, key int64) error {
	w := g.windows[key]
	delete(g.windows, key)
	g.p.Room.give(w.held)
	out, err := g.g.Reduce(ctx, Element{{T: tensor.Scalar(key)}, {Resource: elements(w.all)}})
	if err != nil {
		return err
	}
	d, err := datasetIn(out)
	if err != nil {
		return err
	}
	g.now, err = g.p.begin(d)
	return err
}

func (g *grouping) Close() {
	g.in.Close()
	if g.now != nil {
		g.now.Close()
	}
	for _, w := range g.windows {
		g.p.Room.give(w.held)
	}
	g.windows = nil
}

// integer returns the only value of an element, an integer.
func integer(what string, e Element) (int64, error) {
	if len(e) != 1 || e[0].T == nil || e[0].T.DType != tensor.Int64 || e[0].T.Len() != 1 {
		return 0, fmt.Errorf("`%s` must return a scalar int64.", what)
	}
	return e[0].T.Int(0), nil
}
