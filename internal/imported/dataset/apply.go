package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Map is the Dataset of a function's results for each element. The pass ends when the function returns ErrRange, which is an error
// if whole is set.
func Map(in Dataset, f Func, whole bool) Dataset {
	return &follow{in, same, func() func(context.Context, Iterator) (Element, error) {
		return func(ctx context.Context, in Iterator) (Element, error) {
			e, err := in.Next(ctx)
			if err != nil {
				return nil, err
			}
			e, err = f(ctx, e)
			return e, ended(err, whole)
		}
	}}
}

// ended converts a function's error to the error of a pass.
func ended(err error, whole bool) error {
	if !errors.Is(err, ErrRange) {
		return err
	}
	if whole {
		return fmt.Errorf("Function invocation produced OutOfRangeError: %v", err)
	}
	return io.EOF
}

// truth returns the result of a predicate.
func truth(e Element) (bool, error) {
	if len(e) != 1 || e[0].T == nil || e[0].T.DType != tensor.Bool || len(e[0].T.Bytes) != 1 {
		return false, fmt.Errorf("expected a scalar boolean as the predicate's result")
	}
	return e[0].T.Bytes[0] != 0, nil
}

// Filter is the Dataset of the elements for which the predicate is true.
func Filter(in Dataset, predicate Func) Dataset {
	return &follow{in, func(n int64) int64 {
		if n == Infinite {
			return Infinite
		}
		return Unknown
	}, func() func(context.Context, Iterator) (Element, error) {
		return func(ctx context.Context, in Iterator) (Element, error) {
			for {
				e, keep, err := ask(ctx, in, predicate)
				if err != nil || keep {
					return e, err
				}
			}
		}
	}}
}

// ask takes an element and calls the predicate.
func ask(ctx context.Context, in Iterator, predicate Func) (Element, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	e, err := in.Next(ctx)
	if err != nil {
		return nil, false, err
	}
	says, err := predicate(ctx, e)
	if err != nil {
		return nil, false, ended(err, false)
	}
	keep, err := truth(says)
	return e, keep, err
}

// TakeWhile is the Dataset of the elements before the first one for which the predicate is false.
func TakeWhile(in Dataset, predicate Func) Dataset {
	return &follow{in, nil, func() func(context.Context, Iterator) (Element, error) {
		over := false
		return func(ctx context.Context, in Iterator) (Element, error) {
			if over {
				return nil, io.EOF
			}
			e, keep, err := ask(ctx, in, predicate)
			if err == nil && !keep {
				over = true
				return nil, io.EOF
			}
			return e, err
		}
	}}
}

// Scan is the Dataset of the results of a function that takes a state and an element, and also returns the next state.
func Scan(in Dataset, state Element, f Func, whole bool) Dataset {
	return &follow{in, same, func() func(context.Context, Iterator) (Element, error) {
		now := state
		return func(ctx context.Context, in Iterator) (Element, error) {
			e, err := in.Next(ctx)
			if err != nil {
				return nil, err
			}
			out, err := f(ctx, slices.Concat(now, e))
			if err != nil {
				return nil, ended(err, whole)
			}
			if len(out) < len(now) {
				return nil, fmt.Errorf("the function gave %d values: expected a state of %d and an element", len(out), len(now))
			}
			now = out[:len(now)]
			return out[len(now):], nil
		}
	}}
}

// Reduce calls a function of state and element for each element, and returns the last state.
func Reduce(ctx context.Context, in Iterator, state Element, f Func) (Element, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := in.Next(ctx)
		if err == io.EOF {
			return state, nil
		}
		if err != nil {
			return nil, err
		}
		next, err := f(ctx, slices.Concat(state, e))
		if errors.Is(err, ErrRange) {
			return state, nil
		}
		if err != nil {
			return nil, err
		}
		if len(next) != len(state) {
			return nil, fmt.Errorf("the function gave %d values: expected a state of %d", len(next), len(state))
		}
		state = next
	}
}

// IgnoreErrors is the Dataset without the elements that are errors.
func IgnoreErrors(in Dataset) Dataset {
	return &follow{in, func(n int64) int64 {
		if n == Infinite {
			return Infinite
		}
		return Unknown
	}, func() func(context.Context, Iterator) (Element, error) {
		return func(ctx context.Context, in Iterator) (Element, error) {
			for {
				e, err := in.Next(ctx)
				if err == nil || err == io.EOF || ctx.Err() != nil {
					return e, err
				}
			}
		}
	}}
}
