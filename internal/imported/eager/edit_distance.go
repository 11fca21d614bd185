package eager

import (
	"context"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// editDistance is the Levenshtein distance between the sequences along the last dimension of two sparse tensors.
func editDistance(s *site) (kernel, error) {
	normalize := s.boolean("normalize", true)
	return func(c call) error {
		a, rows, err := sequences(c, 0)
		if err != nil {
			return err
		}
		b, truth, err := sequences(c, 3)
		if err != nil {
			return err
		}
		if len(a) != len(b) || c.t(1).DType != c.t(4).DType {
			return fmt.Errorf("truth_shape and hypothesis_shape: expected sequences of one rank and type, got %v and %v", a, b)
		}
		shape := make([]int, len(a))
		for i := range shape {
			shape[i] = max(a[i], b[i])
		}
		dst, err := outputOf[float32](c, 0, shape...)
		if err != nil {
			return err
		}
		for i := range dst {
			x, y := rows[placeIn(i, shape, a)], truth[placeIn(i, shape, b)]
			if err := c.room(len(y)+1, 8); err != nil {
				return err
			}
			changes, err := levenshtein(c.ctx, x, y)
			if err != nil {
				return err
			}
			d := float64(changes)
			switch {
			case normalize && len(y) > 0:
				d /= float64(len(y))
			case normalize && len(x) > 0:
				d = math.Inf(1)
			}
			dst[i] = float32(d)
		}
		return nil
	}, nil
}

// placeIn returns the index in another shape of element i of a shape, or -1 if it is outside.
func placeIn(i int, shape, other []int) int {
	place, step := 0, 1
	for k := len(shape) - 1; k >= 0; k-- {
		v := i % shape[k]
		i /= shape[k]
		if v >= other[k] {
			return -1
		}
		place += v * step
		step *= other[k]
	}
	return place
}

// sequences reads the sparse tensor in inputs from first on: its shape without the last dimension, and the sequences by index.
func sequences(c call, first int) ([]int, map[int][]member, error) {
	values := c.t(first + 1)
	s, err := coordsOf(c.t(first), values, c.t(first+2))
	if err != nil {
		return nil, nil, err
	}
	at, err := membersOrFloats(values)
	if err != nil {
		return nil, nil, err
	}
	if s.rank() < 2 {
		return nil, nil, fmt.Errorf("expected sequences of rank 2 at least, got dense_shape %v", s.shape)
	}
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	r := s.rank() - 1
	if _, err := elements(s.shape[:r]); err != nil {
		return nil, nil, err
	}
	if err := c.room(s.n, 48); err != nil {
		return nil, nil, err
	}
	all := map[int][]member{}
	for i := range s.n {
		place := 0
		for k, v := range s.row(i)[:r] {
			place = place*s.shape[k] + int(v)
		}
		all[place] = append(all[place], at(i))
	}
	return s.shape[:r], all, nil
}

// membersOrFloats is membersOf, but also takes floats.
func membersOrFloats(t *tensor.Tensor) (func(i int) member, error) {
	if t.DType.Float() {
		return func(i int) member { return member{number: int64(math.Float64bits(t.Float(i)))} }, nil
	}
	return membersOf(t)
}

// levenshtein returns the number of edits that turn x into y, or ctx's error.
func levenshtein(ctx context.Context, x, y []member) (int, error) {
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, a := range x {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		before := row[0]
		row[0] = i + 1
		for j, b := range y {
			change := before
			if compareMembers(a, b) != 0 {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)], ctx.Err()
}
