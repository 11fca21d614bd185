package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// ctcRules has the attributes of CTCLoss.
type ctcRules struct {
	blank                   int
	collapse, merge, ignore bool
}

// ctcLoss returns the maker of a kernel for the negative log probability of labels, and its gradient with respect to logits.
func ctcLoss(blank int) maker {
	return func(s *site) (kernel, error) {
		r := ctcRules{blank, s.boolean("preprocess_collapse_repeated", false), s.boolean("ctc_merge_repeated", true), s.boolean("ignore_longer_outputs_than_inputs", false)}
		return floats(lossesOf[float32](r), lossesOf[float64](r)).on(0), nil
	}
}

func lossesOf[T float](r ctcRules) kernel {
	return func(c call) error {
		l, err := logitsOf[T](c, 3, r.blank)
		if err != nil {
			return err
		}
		labels, err := ctcLabels(c, l.batch)
		if err != nil {
			return err
		}
		losses, err := outputOf[T](c, 0, l.batch)
		if err != nil {
			return err
		}
		grads, err := outputOf[T](c, 1, l.frames, l.batch, l.classes)
		if err != nil {
			return err
		}
		for b, own := range labels {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			path, err := r.path(own, l.classes, l.blank)
			if err != nil {
				return err
			}
			frames := int(l.lengths[b])
			if frames < 0 {
				return fmt.Errorf("sequence_length(%d) = %d: expected 0 to %d", b, frames, l.frames)
			}
			if need := len(path) / 2; frames < need {
				if !r.ignore {
					return fmt.Errorf("Not enough time for target transition sequence (required: %d, available: %d) in batch %d: You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs", need, frames, b)
				}
				continue
			}
			if frames == 0 {
				continue
			}
			if err := c.room(frames*(l.classes+2*len(path))+l.classes, 8); err != nil {
				return err
			}
			a := alignment{rules: r, path: path, blank: l.blank, classes: l.classes, logs: make([]float64, frames*l.classes)}
			for t := range frames {
				logSoftmaxRow(a.logs[t*l.classes:(t+1)*l.classes], l.at(t, b))
			}
			loss, by := a.solve(frames)
			losses[b] = T(loss)
			for i, v := range by {
				grads[(i/l.classes*l.batch+b)*l.classes+i%l.classes] = T(v)
			}
		}
		return nil
	}
}

// ctcLabels reads the sparse labels of each sequence.
func ctcLabels(c call, batch int) ([][]int, error) {
	places, values := c.t(1), c.t(2)
	if places.DType != tensor.Int64 || len(places.Shape) != 2 || places.Shape[1] != 2 || values.DType != tensor.Int32 || len(values.Shape) != 1 || values.Shape[0] != places.Shape[0] {
		return nil, fmt.Errorf("labels_indices and labels_values must be int64 of [n,2] and int32 of [n], got shapes %s and %s", shapeText(places.Shape), shapeText(values.Shape))
	}
	if err := c.room(batch, 24); err != nil {
		return nil, err
	}
	at, labels, last := tensor.Values[int64](places), make([][]int, batch), int64(-1)
	for i, v := range tensor.Values[int32](values) {
		row := at[2*i]
		if row < last || row >= int64(batch) || row < 0 {
			return nil, fmt.Errorf("labels batch index must be between 0 and %d, in order, got %d", batch, row)
		}
		last, labels[row] = row, append(labels[row], int(v))
	}
	for b, own := range labels {
		if len(own) == 0 {
			return nil, fmt.Errorf("Labels length is zero in batch %d", b)
		}
	}
	return labels, nil
}

// path returns the labels with blanks before, between and after them.
func (r ctcRules) path(labels []int, classes, blank int) ([]int, error) {
	path, last := []int{blank}, -1
	for i, v := range labels {
		if v < 0 || v >= classes {
			return nil, fmt.Errorf("label %d: expected 0 to %d", v, classes-1)
		}
		if v == blank {
			for _, rest := range labels[i:] {
				if rest != blank {
					return nil, fmt.Errorf("Saw a non-null label (index >= num_classes - 1) following a null label")
				}
			}
			break
		}
		if !r.collapse || v != last {
			path = append(path, v, blank)
		}
		last = v
	}
	return path, nil
}

func logSoftmaxRow[T float](dst []float64, row []T) {
	most, sum := math.Inf(-1), 0.0
	for _, v := range row {
		most = max(most, float64(v))
	}
	for _, v := range row {
		sum += math.Exp(float64(v) - most)
	}
	norm := most + math.Log(sum)
	for i, v := range row {
		dst[i] = float64(v) - norm
	}
}

// alignment sums over all ways to assign the labels of a path to frames.
type alignment struct {
	rules          ctcRules
	path           []int
	blank, classes int
	logs           []float64 // log probabilities [frames, classes]
}

// skips reports whether step u of the path may follow step u-2.
func (a alignment) skips(u int) bool {
	return u > 1 && a.path[u] != a.blank && !(a.rules.merge && a.path[u] == a.path[u-2])
}

// stays reports whether step u of the path may last for more than one frame.
func (a alignment) stays(u int) bool { return a.rules.merge || a.path[u] == a.blank }

// solve returns the loss, and its gradient with respect to logits [frames, classes]. If no alignment exists, the loss is infinity, and the
// gradient equals the probabilities.
func (a alignment) solve(frames int) (float64, []float64) {
	n := len(a.path)
	before, after := a.forward(frames), a.backward(frames)
	total := before[frames*n-1]
	if n > 1 {
		total = sumOfLogs(total, before[frames*n-2])
	}
	by := a.logs
	if math.IsInf(total, -1) {
		for k, v := range by {
			by[k] = math.Exp(v)
		}
		return math.Inf(1), by
	}
	for t := range frames {
		row := by[t*a.classes : (t+1)*a.classes]
		sums := make(map[int]float64, n)
		for u, label := range a.path {
			v := before[t*n+u] + after[t*n+u]
			if old, ok := sums[label]; ok {
				v = sumOfLogs(old, v)
			}
			sums[label] = v
		}
		for k, v := range row {
			row[k] = math.Exp(v)
		}
		for k, v := range sums {
			row[k] -= math.Exp(v - total)
		}
	}
	return -total, by
}

// forward returns the log probabilities of being at each step of the path after each frame.
func (a alignment) forward(frames int) []float64 {
	n := len(a.path)
	all := make([]float64, frames*n)
	for i := range all {
		all[i] = math.Inf(-1)
	}
	for u := range min(n, 2) {
		all[u] = a.logs[a.path[u]]
	}
	for t := 1; t < frames; t++ {
		old, now := all[(t-1)*n:t*n], all[t*n:(t+1)*n]
		for u, label := range a.path {
			sum := math.Inf(-1)
			if a.stays(u) {
				sum = old[u]
			}
			if u > 0 {
				sum = sumOfLogs(sum, old[u-1])
			}
			if a.skips(u) {
				sum = sumOfLogs(sum, old[u-2])
			}
			now[u] = sum + a.logs[t*a.classes+label]
		}
	}
	return all
}

// backward returns the log probabilities of the rest of the path from each step after each frame.
func (a alignment) backward(frames int) []float64 {
	n := len(a.path)
	all := make([]float64, frames*n)
	for i := range all {
		all[i] = math.Inf(-1)
	}
	for u := max(n-2, 0); u < n; u++ {
		all[(frames-1)*n+u] = 0
	}
	for t := frames - 2; t >= 0; t-- {
		next, now := all[(t+1)*n:(t+2)*n], all[t*n:(t+1)*n]
		by := func(u int) float64 { return next[u] + a.logs[(t+1)*a.classes+a.path[u]] }
		for u := range a.path {
			sum := math.Inf(-1)
			if a.stays(u) {
				sum = by(u)
			}
			if u+1 < n {
				sum = sumOfLogs(sum, by(u+1))
			}
			if u+2 < n && a.skips(u+2) {
				sum = sumOfLogs(sum, by(u+2))
			}
			now[u] = sum
		}
	}
	return all
}
