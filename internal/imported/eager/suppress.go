package eager

import (
	"container/heap"
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// boxOps select boxes, and crop them out of images.
var boxOps = map[*ops.Def]maker{
	ops.NonMaxSuppression:             suppression{boxes: true}.maker,
	ops.NonMaxSuppressionV2:           suppression{boxes: true, inputs: 1}.maker,
	ops.NonMaxSuppressionV3:           suppression{boxes: true, inputs: 2}.maker,
	ops.NonMaxSuppressionV4:           suppression{boxes: true, inputs: 2, pads: true}.maker,
	ops.NonMaxSuppressionV5:           suppression{boxes: true, inputs: 3, pads: true, scored: true}.maker,
	ops.NonMaxSuppressionWithOverlaps: suppression{inputs: 2}.maker,
	ops.CombinedNonMaxSuppression:     combinedSuppression,
	ops.CropAndResize:                 cropAndResize,
	ops.CropAndResizeGradImage:        cropGradImage,
	ops.CropAndResizeGradBoxes:        cropGradBoxes,
}

// suppression is an op of non-maximum suppression: a box that overlaps one with a higher score is left out.
type suppression struct {
	boxes  bool // input 0 has boxes; if not, the overlaps of all pairs
	inputs int  // number of thresholds that are inputs: overlap, score, and the sigma of soft suppression
	pads   bool // outputs the number of valid boxes, and may pad
	scored bool // outputs the scores
}

func (p suppression) maker(s *site) (kernel, error) {
	attr := s.node.Float("iou_threshold", 0.5)
	pad := s.boolean("pad_to_max_output_size", false)
	if p.inputs == 0 && !(attr >= 0 && attr <= 1) {
		return nil, errors.New("iou_threshold must be in [0, 1]")
	}
	return func(c call) error { return p.run(c, attr, pad) }, nil
}

// chooser selects boxes by score.
type chooser struct {
	scores            []float32
	overlap           func(i, j int) float32
	most              int
	overlaps, atLeast float32
	sigma             float32
	selected          []int
	selectedScores    []float32
	queue             boxQueue
	interrupted       func() error
}

type candidate struct {
	box     int
	score   float32
	checked int // number of boxes that it was compared with
}

// boxQueue is a heap: the highest score first, and among equal scores the first box.
type boxQueue []candidate

func (q boxQueue) Len() int { return len(q) }
func (q boxQueue) Less(i, j int) bool {
	return q[i].score > q[j].score || q[i].score == q[j].score && q[i].box < q[j].box
}
func (q boxQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *boxQueue) Push(v any)   { *q = append(*q, v.(candidate)) }
func (q *boxQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// choose fills selected.
func (s *chooser) choose() error {
	for i, v := range s.scores {
		if v > s.atLeast {
			s.queue = append(s.queue, candidate{box: i, score: v})
		}
	}
	heap.Init(&s.queue)
	for len(s.selected) < s.most && len(s.queue) > 0 {
		if err := s.interrupted(); err != nil {
			return err
		}
		next := heap.Pop(&s.queue).(candidate)
		before := next.score
		if s.suppress(&next) {
			continue
		}
		switch {
		case next.score == before:
			s.selected = append(s.selected, next.box)
			s.selectedScores = append(s.selectedScores, next.score)
		case next.score > s.atLeast:
			heap.Push(&s.queue, next)
		}
	}
	return nil
}

// suppress compares a candidate with the boxes selected since its last comparison. It reports whether to leave it out; it may lower its score.
func (s *chooser) suppress(next *candidate) bool {
	for j := len(s.selected) - 1; j >= next.checked; j-- {
		v := s.overlap(next.box, s.selected[j])
		switch {
		case s.sigma > 0:
			next.score *= float32(math.Exp(float64(-0.5 / s.sigma * v * v)))
		case v > s.overlaps:
			return true
		case !(v <= s.overlaps): // NaN: the score becomes 0, and the box is queued again with it
			next.score *= 0
		}
		if next.score <= s.atLeast {
			break
		}
	}
	next.checked = len(s.selected)
	return false
}

// intersection returns the intersection over union of two boxes, given by two corners each.
func intersection(a, b []float32) float32 {
	area := func(b []float32) (y0, x0, y1, x1, size float32) {
		y0, x0, y1, x1 = lesserOf(b[0], b[2]), lesserOf(b[1], b[3]), greaterOf(b[0], b[2]), greaterOf(b[1], b[3])
		return y0, x0, y1, x1, (y1 - y0) * (x1 - x0)
	}
	ay0, ax0, ay1, ax1, as := area(a)
	by0, bx0, by1, bx1, bs := area(b)
	if as <= 0 || bs <= 0 {
		return 0
	}
	common := greaterOf(lesserOf(ay1, by1)-greaterOf(ay0, by0), 0) * greaterOf(lesserOf(ax1, bx1)-greaterOf(ax0, bx0), 0)
	return common / (as + bs - common)
}

// lesserOf and greaterOf are C++'s std::min and std::max: if either number is NaN, they return the first.
func lesserOf(a, b float32) float32 {
	if b < a {
		return b
	}
	return a
}

func greaterOf(a, b float32) float32 {
	if a < b {
		return b
	}
	return a
}

// threshold returns a float16 or float32 scalar.
func threshold(c call, what string, t *tensor.Tensor) (float32, error) {
	if len(t.Shape) != 0 || t.DType != tensor.Float32 && t.DType != tensor.Float16 {
		return 0, fmt.Errorf("%s must be 0-D, got %v of shape %v", what, t.DType, t.Shape)
	}
	v, err := recastTo(c, t, tensor.Float32)
	if err != nil {
		return 0, err
	}
	return tensor.Values[float32](v)[0], nil
}

func (p suppression) run(c call, attr float32, pad bool) error {
	s, err := p.chooser(c)
	if err != nil {
		return err
	}
	if s.most, err = integer("max_output_size", c.t(2)); err != nil {
		return err
	}
	if s.most < 0 {
		return errors.New("output size must be non-negative")
	}
	s.overlaps, s.atLeast = attr, float32(math.Inf(-1))
	if p.inputs < 2 {
		s.atLeast = -math.MaxFloat32
	}
	for i, to := range []*float32{&s.overlaps, &s.atLeast, &s.sigma}[:p.inputs] {
		if *to, err = threshold(c, []string{"iou_threshold", "score_threshold", "soft_nms_sigma"}[i], c.t(3+i)); err != nil {
			return err
		}
	}
	switch {
	case p.boxes && !(s.overlaps >= 0 && s.overlaps <= 1):
		return errors.New("iou_threshold must be in [0, 1]")
	case !(s.sigma >= 0):
		return errors.New("soft_nms_sigma_val must be non-negative")
	}
	if err := s.choose(); err != nil {
		return err
	}
	return p.put(c, s, pad)
}

// chooser checks the boxes and scores.
func (p suppression) chooser(c call) (*chooser, error) {
	boxes, scores := c.t(0), c.t(1)
	columns := 4
	if !p.boxes && len(boxes.Shape) == 2 {
		columns = boxes.Shape[0]
	}
	if len(boxes.Shape) != 2 || boxes.Shape[1] != columns || len(scores.Shape) != 1 || scores.Shape[0] != boxes.Shape[0] || boxes.DType != scores.DType {
		return nil, fmt.Errorf("expected boxes [n,4], or overlaps [n,n], and scores [n] of one type, got %v of shape %v and %v of shape %v", boxes.DType, boxes.Shape, scores.DType, scores.Shape)
	}
	b, err := recastTo(c, boxes, tensor.Float32)
	if err != nil {
		return nil, err
	}
	v, err := recastTo(c, scores, tensor.Float32)
	if err != nil {
		return nil, err
	}
	if err := c.room(v.Len(), 48); err != nil {
		return nil, err
	}
	all := tensor.Values[float32](b)
	s := &chooser{scores: tensor.Values[float32](v), interrupted: c.ctx.Err}
	s.overlap = func(i, j int) float32 { return all[i*columns+j] }
	if p.boxes {
		s.overlap = func(i, j int) float32 { return intersection(all[4*i:4*i+4], all[4*j:4*j+4]) }
	}
	return s, nil
}

// put sets the outputs: boxes, scores, and the number of valid ones.
func (p suppression) put(c call, s *chooser, pad bool) error {
	n := len(s.selected)
	if pad && p.pads {
		n = s.most
	}
	out, err := outputOf[int32](c, 0, n)
	if err != nil {
		return err
	}
	for i, v := range s.selected {
		out[i] = int32(v)
	}
	next := 1
	if p.scored {
		scores, err := c.output(next, c.t(1).DType, n)
		if err != nil {
			return err
		}
		all := tensor.New(tensor.Float32, n)
		copy(tensor.Values[float32](all), s.selectedScores)
		if err := recast(scores, all); err != nil {
			return err
		}
		next++
	}
	if !p.pads {
		return nil
	}
	valid, err := outputOf[int32](c, next)
	if err == nil {
		valid[0] = int32(len(s.selected))
	}
	return err
}
