package dataset

import (
	"context"
	"fmt"
	"io"
)

// Take is the Dataset of the first n elements, or of all if n is negative.
func Take(in Dataset, n int64) Dataset {
	return &follow{in, func(have int64) int64 {
		if n < 0 || have != Infinite && have < n {
			return have
		}
		return n
	}, func() func(context.Context, Iterator) (Element, error) {
		left := n
		return func(ctx context.Context, in Iterator) (Element, error) {
			if left == 0 {
				return nil, io.EOF
			}
			e, err := in.Next(ctx)
			if err == nil {
				left--
			}
			return e, err
		}
	}}
}

// Skip is the Dataset without the first n elements, or without any if n is negative.
func Skip(in Dataset, n int64) Dataset {
	return &follow{in, func(have int64) int64 {
		switch {
		case n < 0:
			return 0
		case have == Infinite:
			return Infinite
		}
		return max(have-n, 0)
	}, func() func(context.Context, Iterator) (Element, error) {
		left := n
		return func(ctx context.Context, in Iterator) (Element, error) {
			if n < 0 {
				return nil, io.EOF
			}
			for ; left > 0; left-- {
				if _, err := in.Next(ctx); err != nil {
					return nil, err
				}
			}
			return in.Next(ctx)
		}
	}}
}

// Shard is the Dataset of every n-th element, from the i-th on.
func Shard(in Dataset, n, i int64, whole bool) (Dataset, error) {
	switch {
	case n <= 0:
		return nil, fmt.Errorf("Number of shards must be greater than zero (currently num_shards = %d).", n)
	case i < 0 || i >= n:
		return nil, fmt.Errorf("Index must be between 0 and %d (currently index = %d).", n-1, i)
	}
	return &follow{in, func(have int64) int64 {
		if have == Infinite {
			return Infinite
		}
		return max(have-i+n-1, 0) / n
	}, func() func(context.Context, Iterator) (Element, error) {
		at := int64(0)
		return func(ctx context.Context, in Iterator) (Element, error) {
			for {
				e, err := in.Next(ctx)
				if err == io.EOF && whole && 0 < at && at < n {
					return nil, fmt.Errorf("Could not apply FILE based sharding: the input has %d elements for %d shards: there is none for shard %d", at, n, at)
				}
				if err != nil {
					return nil, err
				}
				if at++; (at-1)%n == i {
					return e, nil
				}
			}
		}
	}}, nil
}

// Exactly is a Dataset of the same elements that fails if there are not exactly n of them. Infinite means that they must not end.
func Exactly(in Dataset, n int64) Dataset {
	return &exact{n, follow{in, nil, func() func(context.Context, Iterator) (Element, error) {
		came := int64(0)
		return func(ctx context.Context, in Iterator) (Element, error) {
			e, err := in.Next(ctx)
			switch {
			case err == io.EOF && came != n && n != Unknown:
				return nil, fmt.Errorf("%w: Input dataset was expected to contain %s elements but contained only %d elements.", ErrPrecondition, countText(n), came)
			case err == nil && n >= 0 && came == n:
				return nil, fmt.Errorf("%w: Input dataset was expected to contain %d elements but contained at least %d elements.", ErrPrecondition, n, came+1)
			case err == nil:
				came++
			}
			return e, err
		}
	}}}
}

// exact is a Dataset whose number of elements is stated.
type exact struct {
	n int64
	follow
}

func (e *exact) Cardinality() int64 { return e.n }

func countText(n int64) string {
	if n == Infinite {
		return "an infinite number of"
	}
	return fmt.Sprint(n)
}

// Repeat is the Dataset of n passes over the elements, or of endless passes if n is negative.
func Repeat(in Dataset, n int64) Dataset { return &repeat{in, n} }

type repeat struct {
	in Dataset
	n  int64
}

func (r *repeat) Cardinality() int64 {
	switch n := r.in.Cardinality(); {
	case r.n == 0 || n == 0:
		return 0
	case r.n < 0 || n == Infinite:
		return Infinite
	case n == Unknown:
		return Unknown
	default:
		return n * r.n
	}
}

func (r *repeat) Iterator(p *Pass) (Iterator, error) { return &repeating{r: r, p: p}, nil }

type repeating struct {
	r    *repeat
	p    *Pass
	in   Iterator
	done int64 // number of passes
	some bool  // an element came in this pass
}

func (r *repeating) Next(ctx context.Context) (e Element, err error) {
	for r.done != r.r.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.in == nil {
			if r.in, err = r.p.begin(r.r.in); err != nil {
				return nil, err
			}
			r.some = false
		}
		if e, err = r.in.Next(ctx); err != io.EOF {
			r.some = true
			return e, err
		}
		r.Close()
		r.done++
		if !r.some && r.r.n < 0 { // else it would never end
			r.done = r.r.n
		}
	}
	return nil, io.EOF
}

func (r *repeating) Close() {
	if r.in != nil {
		r.in.Close()
		r.in = nil
	}
}

// Concatenate is the Dataset of the elements of a and then of b.
func Concatenate(a, b Dataset) Dataset { return &concatenation{a, b} }

type concatenation [2]Dataset

func (c *concatenation) Cardinality() int64 {
	a, b := c[0].Cardinality(), c[1].Cardinality()
	switch {
	case a == Infinite || b == Infinite:
		return Infinite
	case a == Unknown || b == Unknown:
		return Unknown
	}
	return a + b
}

func (c *concatenation) Iterator(p *Pass) (Iterator, error) {
	return &chain{p: p, next: func(i int) Dataset {
		if i < len(c) {
			return c[i]
		}
		return nil
	}}, nil
}

// chain runs one pass after another.
type chain struct {
	p    *Pass
	next func(i int) Dataset
	i    int
	in   Iterator
}

func (c *chain) Next(ctx context.Context) (e Element, err error) {
	for {
		if c.in == nil {
			d := c.next(c.i)
			if d == nil {
				return nil, io.EOF
			}
			c.i++
			if c.in, err = c.p.begin(d); err != nil {
				return nil, err
			}
		}
		if e, err = c.in.Next(ctx); err != io.EOF {
			return e, err
		}
		c.Close()
	}
}

func (c *chain) Close() {
	if c.in != nil {
		c.in.Close()
		c.in = nil
	}
}
