package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// ctcOps are for connectionist temporal classification (A. Graves et al., 2006): logits [frames, batch, classes]; one class is blank.
var ctcOps = map[*ops.Def]maker{
	ops.CTCGreedyDecoder:     greedyDecoder,
	ops.CTCBeamSearchDecoder: beamSearchDecoder,
	ops.CTCLoss:              ctcLoss(-1),
	ops.CTCLossV2:            ctcLoss(0),
}

// logits has the inputs of CTC.
type logits[T float] struct {
	v                      []T
	frames, batch, classes int
	lengths                []int32
	blank                  int
}

// logitsOf checks the inputs; lengths are input `at`. A negative blank counts from the end.
func logitsOf[T float](c call, at, blank int) (l logits[T], err error) {
	t, n := c.t(0), c.t(at)
	if t.DType != tensor.TypeOf[T]() || len(t.Shape) != 3 {
		return l, fmt.Errorf("inputs is not a 3-Tensor of %v", tensor.TypeOf[T]())
	}
	l = logits[T]{v: tensor.Values[T](t), frames: t.Shape[0], batch: t.Shape[1], classes: t.Shape[2], blank: blank}
	if n.DType != tensor.Int32 || len(n.Shape) != 1 || n.Shape[0] != l.batch {
		return l, fmt.Errorf("len(sequence_length) != batch_size: got shape %s, expected int32 of [%d]", shapeText(n.Shape), l.batch)
	}
	l.lengths = tensor.Values[int32](n)
	for b, k := range l.lengths {
		if int(k) > l.frames {
			return l, fmt.Errorf("sequence_length(%d) = %d: expected at most %d", b, k, l.frames)
		}
	}
	if blank < 0 {
		l.blank += l.classes
	}
	if l.frames == 0 || l.blank < 0 || l.blank >= l.classes {
		return l, fmt.Errorf("%d frames and class %d as the blank of %d classes: expected at least one frame and class, and the blank among these", l.frames, blank, l.classes)
	}
	return l, nil
}

// at returns the logits of one frame of a sequence.
func (l logits[T]) at(frame, b int) []T {
	return l.v[(frame*l.batch+b)*l.classes:][:l.classes]
}

func greedyDecoder(s *site) (kernel, error) {
	merge, blank := s.boolean("merge_repeated", false), s.node.Int("blank_index", -1)
	return floats(greedy[float32](merge, blank), greedy[float64](merge, blank)).on(0), nil
}

// greedy takes the best class in each frame.
func greedy[T float](merge bool, blank int) kernel {
	return func(c call) error {
		l, err := logitsOf[T](c, 1, blank)
		if err != nil {
			return err
		}
		scores, err := outputOf[T](c, 3, l.batch, 1)
		if err != nil {
			return err
		}
		if err := c.room(l.frames*l.batch+3*l.batch, 8); err != nil {
			return err
		}
		found := make([][]int, l.batch)
		for b := range found {
			last := -1
			for frame := range max(int(l.lengths[b]), 0) {
				row := l.at(frame, b)
				best := 0
				for k, v := range row {
					if v > row[best] {
						best = k
					}
				}
				scores[b] -= row[best]
				if best != l.blank && !(merge && best == last) {
					found[b] = append(found[b], best)
				}
				last = best
			}
		}
		return c.sparseRows(0, 1, found)
	}
}

// sparseRows makes a sparse matrix from rows of integers: indices, values and shape are outputs i, i+by and i+2*by.
func (c call) sparseRows(i, by int, found [][]int) error {
	n, longest := 0, 0
	for _, row := range found {
		n, longest = n+len(row), max(longest, len(row))
	}
	places, err := outputOf[int64](c, i, n, 2)
	if err != nil {
		return err
	}
	values, err := outputOf[int64](c, i+by, n)
	if err != nil {
		return err
	}
	k := 0
	for r, row := range found {
		for j, v := range row {
			places[2*k], places[2*k+1], values[k] = int64(r), int64(j), int64(v)
			k++
		}
	}
	return c.outputInts(i+2*by, tensor.Int64, []int{len(found), longest}, 2)
}

func beamSearchDecoder(s *site) (kernel, error) {
	width, paths, merge := s.node.Int("beam_width", 0), s.count("top_paths", 1, 1<<16), s.boolean("merge_repeated", true)
	s.outputs = 3*paths + 1
	if width < 1 || paths < 1 {
		return nil, fmt.Errorf("beam_width %d and top_paths %d: expected at least 1", width, paths)
	}
	return floats(beamSearch[float32](width, paths, merge), beamSearch[float64](width, paths, merge)).on(0), nil
}

func beamSearch[T float](width, paths int, merge bool) kernel {
	return func(c call) error {
		l, err := logitsOf[T](c, 1, -1)
		if err != nil {
			return err
		}
		scores, err := outputOf[T](c, 3*paths, l.batch, paths)
		if err != nil {
			return err
		}
		if err := c.room(paths*(l.batch+1), 24); err != nil {
			return err
		}
		found := make([][][]int, paths)
		for p := range found {
			found[p] = make([][]int, l.batch)
		}
		d := beams[T]{c: c, width: width, blank: l.blank}
		for b := range l.batch {
			d.begin()
			frames := max(int(l.lengths[b]), 0)
			for frame := range frames {
				if err := d.step(l.at(frame, b)); err != nil {
					return err
				}
			}
			best := d.best(paths)
			if len(best) < paths {
				return fmt.Errorf("Less leaves in the beam search than requested.")
			}
			if err := c.room(paths*frames, 16); err != nil { // no sequence is longer than the frames
				return err
			}
			for p, e := range best {
				found[p][b], scores[b*paths+p] = e.labels(merge), e.now.total
			}
		}
		for p, rows := range found {
			if err := c.sparseRows(p, paths, slices.Clip(rows)); err != nil {
				return err
			}
		}
		return nil
	}
}
