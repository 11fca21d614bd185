package eager

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// sharedRows are ragged rows of several segments that share a length.
type sharedRows struct {
	most   int
	values []*tensor.Tensor
	splits [][]int
	used   [][]int // how much of each row is taken, per segment
}

// readShared reads the length, n vectors of values, and n of splits.
func readShared(c call, n int) (*sharedRows, error) {
	most, err := integer("max_sequence_length", c.t(0))
	if err != nil {
		return nil, err
	}
	if len(c.in) != 2*n+1 {
		return nil, fmt.Errorf("expected %d inputs, got %d", 2*n+1, len(c.in))
	}
	s := &sharedRows{most: most}
	for i := range n {
		values := c.t(1 + i)
		splits, err := c.vector("input_row_splits", c.t(1+n+i))
		if err != nil {
			return nil, err
		}
		if len(splits) == 0 || splits[0] < 0 || !slices.IsSorted(splits) || splits[len(splits)-1] > values.Len() || i > 0 && len(splits) != len(s.splits[0]) {
			return nil, fmt.Errorf("input_row_splits %d: expected as many ascending splits as the first has, up to %d, got %v", i, values.Len(), splits)
		}
		s.values, s.splits = append(s.values, values), append(s.splits, splits)
	}
	s.divide()
	return s, nil
}

// divide shares out the length among the segments of each row: short ones keep everything, the others get equal parts.
func (s *sharedRows) divide() {
	s.used = make([][]int, len(s.splits))
	for row := range len(s.splits[0]) - 1 {
		order := make([]int, len(s.splits))
		size := func(i int) int { return s.splits[i][row+1] - s.splits[i][row] }
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(a), size(b)) })
		left, full := s.most, 0
		use := make([]int, len(order))
		for full < len(order) && size(order[full])*(len(order)-full) <= left {
			use[order[full]] = size(order[full])
			left -= size(order[full])
			full++
		}
		if full < len(order) {
			each := left / (len(order) - full)
			for _, i := range order[full:] {
				use[i] = max(each, 0)
				left -= each
			}
		}
		for i := range use {
			if left > 0 && use[i] < size(i) {
				use[i]++
				left--
			}
			s.used[i] = append(s.used[i], use[i])
		}
	}
}

// segmentCount returns the number of segments.
func segmentCount(s *site) (int, error) {
	n := s.count("N", 0, 1<<16)
	if n < 1 {
		return 0, fmt.Errorf("attribute N: expected at least 1, got %d", n)
	}
	return n, s.err
}

// roundRobinTrim cuts rows so that all segments together have at most the length.
func roundRobinTrim(s *site) (kernel, error) {
	n, err := segmentCount(s)
	s.outputs = 2 * n
	splits := s.dtype("Tsplits", tensor.Int64)
	return func(c call) error {
		rows, err := readShared(c, n)
		if err != nil {
			return err
		}
		for i := range n {
			ends := []int{0}
			for _, used := range rows.used[i] {
				ends = append(ends, ends[len(ends)-1]+used)
			}
			out, err := c.output(i, rows.values[i].DType, ends[len(ends)-1])
			if err != nil {
				return err
			}
			for row, used := range rows.used[i] {
				copyCells(out, ends[row], rows.values[i], rows.splits[i][row], used)
			}
			if err := c.outputInts(n+i, splits, ends, len(ends)); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// roundRobinMasks returns masks of the values that roundRobinTrim keeps.
func roundRobinMasks(s *site) (kernel, error) {
	n, err := segmentCount(s)
	s.outputs = n
	return func(c call) error {
		rows, err := readShared(c, n)
		if err != nil {
			return err
		}
		for i := range n {
			kept, err := outputOf[bool](c, i, rows.splits[i][len(rows.splits[i])-1]-rows.splits[i][0])
			if err != nil {
				return err
			}
			for row, used := range rows.used[i] {
				from := rows.splits[i][row] - rows.splits[i][0]
				for k := range used {
					kept[from+k] = true
				}
			}
		}
		return nil
	}, err
}

// joinedNgrams joins runs of neighbors in the innermost rows.
func joinedNgrams(s *site) (kernel, error) {
	width, ranks, sep := s.node.Int("width", 0), s.count("RAGGED_RANK", 0, 1<<8), []byte(s.str("string_separator", ""))
	s.outputs = 1 + ranks
	if axis := s.node.Int("axis", -1); axis != -1 || width < 1 {
		return nil, fmt.Errorf("expected axis -1 and a width of at least 1, got %d and %d", axis, width)
	}
	return func(c call) error {
		words := c.t(0).Strings
		splits, shape := []int(nil), slices.Clone(c.t(0).Shape)
		if ranks > 0 {
			for i := 1; i < ranks; i++ {
				c.set(i, c.t(i))
			}
			var err error
			if splits, err = c.vector("input_row_splits", c.t(ranks)); err != nil {
				return err
			}
		} else {
			if len(shape) == 0 {
				return fmt.Errorf("input_values: expected a vector or more, got a scalar")
			}
			last := shape[len(shape)-1]
			rows := product(shape[:len(shape)-1])
			if err := c.room(rows+1, 8); err != nil {
				return err
			}
			for i := range rows + 1 {
				splits = append(splits, i*last)
			}
			shape[len(shape)-1] = max(last-width+1, 0)
		}
		var out [][]byte
		ends, room := make([]int, len(splits)), c.textRoom()
		for i := range len(splits) - 1 {
			if splits[i] < 0 || splits[i+1] < splits[i] || splits[i+1] > len(words) {
				return fmt.Errorf("input_row_splits: expected an ascending sequence up to %d, got %v", len(words), splits)
			}
			for at := splits[i]; width <= splits[i+1]-at; at++ {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				size := stringHeader
				for _, w := range words[at : at+width] {
					size += len(w) + len(sep)
				}
				if err := room.take(size); err != nil {
					return err
				}
				out = append(out, bytes.Join(words[at:at+width], sep))
			}
			ends[i+1] = len(out)
		}
		if ranks > 0 {
			shape = []int{len(out)}
			if err := c.outputInts(ranks, tensor.Int64, ends, len(ends)); err != nil {
				return err
			}
		}
		t, err := c.output(0, tensor.String, shape...)
		if err == nil {
			copy(t.Strings, out)
		}
		return err
	}, s.err
}
