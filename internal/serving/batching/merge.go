package batching

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// feeds are the task's rows of the request's feeds, as views.
func (t *task) feeds() map[string]*tensor.Tensor { return rowsOf(t.req.feeds, t.from, t.to) }

func rowsOf(feeds map[string]*tensor.Tensor, from, to int) map[string]*tensor.Tensor {
	out := make(map[string]*tensor.Tensor, len(feeds))
	for name, x := range feeds {
		out[name] = rows(x, from, to)
	}
	return out
}

// rows is a view of the rows [from, to).
func rows(x *tensor.Tensor, from, to int) *tensor.Tensor {
	if from == 0 && to == x.Shape[0] {
		return x
	}
	shape := slices.Clone(x.Shape)
	shape[0] = to - from
	n := tensor.NumElements(x.Shape[1:])
	v := &tensor.Tensor{DType: x.DType, Shape: shape}
	if x.DType == tensor.String {
		v.Strings = x.Strings[from*n : to*n : to*n]
	} else {
		n *= x.DType.Size()
		v.Bytes = x.Bytes[from*n : to*n : to*n]
	}
	return v
}

// compatible returns the tasks whose feeds can be concatenated with the first one's, and sets the errors of the others.
func compatible(tasks []*task, pad bool) []*task {
	if len(tasks) < 2 {
		return tasks
	}
	first := tasks[0].req.feeds
	return slices.DeleteFunc(tasks, func(t *task) bool {
		for name, x := range t.req.feeds {
			if t.err = checkJoin(name, x, first[name], pad); t.err != nil {
				return true
			}
		}
		return false
	})
}

func checkJoin(name string, x, like *tensor.Tensor, pad bool) error {
	switch {
	case x.DType != like.DType:
		return invalid("Tensors with name '%s' from different tasks have different types: %s and %s", name, x.DType, like.DType)
	case len(x.Shape) == len(like.Shape) && slices.Equal(x.Shape[1:], like.Shape[1:]):
		return nil
	case len(x.Shape) == len(like.Shape) && pad && len(x.Shape) > 6:
		return invalid("Only tensors with rank from 1 to 6 can be padded.")
	case len(x.Shape) == len(like.Shape) && pad:
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "Tensors with name '%s' from different tasks have different shapes and padding is turned off."+
		"Set pad_variable_length_inputs to true, or ensure that all tensors with the same namehave equal dimensions starting with the first dim.", name)
}

// maxInnerDims returns for each input the largest sizes behind dimension 0.
func maxInnerDims(tasks []*task) map[string][]int {
	sizes := map[string][]int{}
	for _, t := range tasks {
		for name, x := range t.req.feeds {
			s, ok := sizes[name]
			if !ok {
				sizes[name] = slices.Clone(x.Shape[1:])
				continue
			}
			for i, d := range x.Shape[1:] {
				s[i] = max(s[i], d)
			}
		}
	}
	return sizes
}

// paddingDominates reports whether padding would make the feeds much larger, as with long requests beside many short ones.
func paddingDominates(tasks []*task, total int) bool {
	const free, factor = 1 << 24, 4 // elements that are always allowed; times the size of the feeds
	sum := 0
	for _, t := range tasks {
		for _, x := range t.feeds() {
			sum += x.Len()
		}
	}
	all := 0.0
	for _, s := range maxInnerDims(tasks) {
		n := float64(total)
		for _, d := range s {
			n *= float64(d)
		}
		all += n
	}
	return len(tasks) > 1 && all > free+factor*float64(sum)
}

// mergedSize is what merge allocates, in bytes.
func mergedSize(tasks []*task, total int) int {
	n := 0
	for name, size := range maxInnerDims(tasks) {
		element := tasks[0].req.feeds[name].DType.Size()
		if tasks[0].req.feeds[name].DType == tensor.String {
			element = tensor.StringHeader
		}
		n += total * tensor.NumElements(size) * element
	}
	return n
}

// merge joins the tasks' feeds into feeds of total rows. Shorter rows are padded with their first element, and missing rows
// with row 0 of the last task, as in TensorFlow Serving.
func merge(tasks []*task, total int) map[string]*tensor.Tensor {
	sizes := maxInnerDims(tasks)
	merged := make(map[string]*tensor.Tensor, len(sizes))
	last := tasks[len(tasks)-1]
	for name, size := range sizes {
		to := tensor.New(tasks[0].req.feeds[name].DType, append([]int{total}, size...)...)
		at := 0
		for _, t := range tasks {
			place(to, rows(t.req.feeds[name], t.from, t.to), at)
			at += t.rows()
		}
		for filler := rows(to, at-last.rows(), at-last.rows()+1); at < total; at++ {
			place(to, filler, at)
		}
		merged[name] = to
	}
	return merged
}

// place copies x into the rows of to from row at on, and pads shorter rows with the first element of x.
func place(to, x *tensor.Tensor, at int) {
	region := rows(to, at, at+x.Shape[0])
	if to.DType == tensor.String {
		copyBlock(region.Strings, x.Strings, 1, region.Shape, x.Shape)
		return
	}
	copyBlock(region.Bytes, x.Bytes, x.DType.Size(), region.Shape, x.Shape)
}

// copyBlock copies a block of shape small into the corner of one of shape large; width is the length of an element.
func copyBlock[E any](to, from []E, width int, large, small []int) {
	if slices.Equal(large, small) {
		copy(to, from)
		return
	}
	for n := copy(to, from[:width]); n < len(to); {
		n += copy(to[n:], to[:n])
	}
	copyInner(to, from, width, large, small)
}

func copyInner[E any](to, from []E, width int, large, small []int) {
	if len(small) == 1 {
		copy(to, from[:small[0]*width])
		return
	}
	l, s := width*tensor.NumElements(large[1:]), width*tensor.NumElements(small[1:])
	for i := range small[0] {
		copyInner(to[i*l:(i+1)*l], from[i*s:(i+1)*s], width, large[1:], small[1:])
	}
}

// join concatenates along dimension 0.
func join(parts []*tensor.Tensor) (*tensor.Tensor, error) {
	first := parts[0]
	n := 0
	for _, p := range parts {
		if p.DType != first.DType || len(p.Shape) == 0 || !slices.Equal(p.Shape[1:], first.Shape[1:]) {
			return nil, fmt.Errorf("parts have shapes %v of %s and %v of %s: only the first dimension may differ", first.Shape, first.DType, p.Shape, p.DType)
		}
		n += p.Shape[0]
	}
	whole := tensor.New(first.DType, append([]int{n}, first.Shape[1:]...)...)
	at := 0
	for _, p := range parts {
		place(whole, p, at)
		at += p.Shape[0]
	}
	return whole, nil
}
