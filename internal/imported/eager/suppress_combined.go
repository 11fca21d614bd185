package eager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// bestBoxes does non-maximum suppression for each class of each image, and selects the best boxes of all classes.
type bestBoxes struct {
	boxes, scores     []float32
	n, q, classes     int
	perClass          int
	overlaps, atLeast float32
	interrupted       func() error
}

// detection is a box selected for a class.
type detection struct {
	score float32
	class int
	box   []float32
}

func combinedSuppression(s *site) (kernel, error) {
	perClass, clip := s.boolean("pad_per_class", false), s.boolean("clip_boxes", true)
	return func(c call) error {
		k, total, err := readCombined(c)
		if err != nil {
			return err
		}
		if perClass && k.perClass < total/max(k.classes, 1)+1 {
			total = min(total, k.perClass*k.classes)
		}
		images := c.t(0).Shape[0]
		var out [3][]float32
		for i, shape := range [][]int{{images, total, 4}, {images, total}, {images, total}} {
			if out[i], err = outputOf[float32](c, i, shape...); err != nil {
				return err
			}
		}
		valid, err := outputOf[int32](c, 3, images)
		if err != nil {
			return err
		}
		for b := range images {
			all, err := k.image(b)
			if err != nil {
				return err
			}
			all = all[:min(len(all), total)]
			valid[b] = int32(len(all))
			for i, d := range all {
				at := b*total + i
				copy(out[0][4*at:4*at+4], d.box)
				out[1][at], out[2][at] = d.score, float32(d.class)
				for j := range 4 {
					if v := &out[0][4*at+j]; clip {
						*v = max(min(*v, 1), 0)
					}
				}
			}
		}
		return nil
	}, nil
}

func readCombined(c call) (k *bestBoxes, total int, err error) {
	boxes, scores := c.t(0), c.t(1)
	if boxes.DType != tensor.Float32 || scores.DType != tensor.Float32 || len(boxes.Shape) != 4 || len(scores.Shape) != 3 ||
		boxes.Shape[0] != scores.Shape[0] || boxes.Shape[1] != scores.Shape[1] || boxes.Shape[3] != 4 || boxes.Shape[2] != 1 && boxes.Shape[2] != scores.Shape[2] {
		return nil, 0, fmt.Errorf("expected boxes [images, n, 1 or classes, 4] and scores [images, n, classes], got shapes %v and %v", boxes.Shape, scores.Shape)
	}
	k = &bestBoxes{boxes: tensor.Values[float32](boxes), scores: tensor.Values[float32](scores), n: boxes.Shape[1], q: boxes.Shape[2], classes: scores.Shape[2], interrupted: c.ctx.Err}
	if k.perClass, err = integer("max_output_size_per_class", c.t(2)); err != nil {
		return nil, 0, err
	}
	if total, err = integer("max_total_size", c.t(3)); err != nil {
		return nil, 0, err
	}
	for i, to := range []*float32{&k.overlaps, &k.atLeast} {
		if *to, err = threshold(c, []string{"iou_threshold", "score_threshold"}[i], c.t(4+i)); err != nil {
			return nil, 0, err
		}
	}
	switch {
	case k.perClass <= 0:
		return nil, 0, errors.New("max_size_per_class must be positive")
	case total <= 0:
		return nil, 0, errors.New("max_total_size must be > 0")
	case !(k.overlaps >= 0 && k.overlaps <= 1):
		return nil, 0, errors.New("iou_threshold must be in [0, 1]")
	}
	return k, total, c.room(scores.Len(), 48)
}

// image returns the boxes of an image, best first.
func (k *bestBoxes) image(b int) (all []detection, err error) {
	for class := range k.classes {
		if all, err = k.class(all, b, class); err != nil {
			return nil, err
		}
	}
	// TensorFlow also sorts the slots without a box, which decides the order of equal scores.
	empty := k.perClass*k.classes - len(all)
	if empty > 0 && empty <= maxPlaces {
		all = k.placed(all)
	}
	sortDetections(all)
	return slices.DeleteFunc(all, func(d detection) bool { return d.box == nil }), nil
}

// maxPlaces is the maximum number of slots without a box that are sorted.
const maxPlaces = 1 << 16

// placed returns slots for the boxes of all classes; the boxes of each class fill its first slots.
func (k *bestBoxes) placed(all []detection) []detection {
	out := make([]detection, k.perClass*k.classes)
	for i := range out {
		out[i].score = -1
	}
	next := make([]int, k.classes)
	for _, d := range all {
		out[d.class*k.perClass+next[d.class]] = d
		next[d.class]++
	}
	return out
}

// class appends the boxes of a class.
func (k *bestBoxes) class(all []detection, b, class int) ([]detection, error) {
	if err := k.interrupted(); err != nil {
		return nil, err
	}
	var q scoreHeap
	for i := range k.n {
		if v := k.scores[(b*k.n+i)*k.classes+class]; v > k.atLeast {
			q.push(candidate{box: i, score: v})
		}
	}
	own := 0
	if k.q > 1 {
		own = class
	}
	first := len(all)
	for len(all)-first < k.perClass && len(q) > 0 {
		if err := k.interrupted(); err != nil {
			return nil, err
		}
		next := q.pop()
		box := k.boxes[((b*k.n+next.box)*k.q+own)*4:][:4]
		clear := true
		for j := len(all) - 1; j >= first && clear; j-- {
			clear = !(intersection(box, all[j].box) > k.overlaps)
		}
		if clear {
			all = append(all, detection{next.score, class, box})
		}
	}
	return all, nil
}

// scoreHeap is a heap by score alone. Candidates with equal scores leave it in the same order as with the heap of the C++ standard
// library, which TensorFlow's results depend on.
type scoreHeap []candidate

func (q *scoreHeap) push(v candidate) {
	*q = append(*q, v)
	q.rise(len(*q)-1, v)
}

// rise puts v at index `at` or above it.
func (q *scoreHeap) rise(at int, v candidate) {
	h := *q
	for at > 0 && h[(at-1)/2].score < v.score {
		h[at] = h[(at-1)/2]
		at = (at - 1) / 2
	}
	h[at] = v
}

func (q *scoreHeap) pop() candidate {
	h := *q
	top, n := h[0], len(h)-1
	v := h[n]
	*q = h[:n]
	if n == 0 {
		return top
	}
	at, child := 0, 0
	for child < (n-1)/2 {
		child = 2 * (child + 1)
		if h[child].score < h[child-1].score {
			child--
		}
		h[at] = h[child]
		at = child
	}
	if n&1 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		h[at] = h[child]
		at = child
	}
	q.rise(at, v)
	return top
}
