package heads

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// errNoLabels has tf.estimator's text.
var errNoLabels = errors.New("you must provide a labels tensor. Given: none. Suggested troubleshooting steps: check that your data " +
	"contains your label feature, a column with the role label, and that your input_fn returns it")

// target is the label of a head. If it is ragged, its node has the values.
type target struct {
	name   string
	node   *G.Node
	ragged bool
}

// only returns the only label.
func only(mc *estimator.ModelContext, labels models.Labels) (target, error) {
	all := labels.All()
	switch {
	case len(all) == 0:
		return target{}, errNoLabels
	case len(all) == 1 && all[0].Ragged != nil:
		return target{all[0].Name, all[0].Ragged.Values, true}, nil
	}
	n := labels.Only()
	if n == nil {
		return target{}, mc.Err()
	}
	return target{name: labels.Names()[0], node: n}, nil
}

// mistakef returns an error of labels that happens again with the same configuration.
func mistakef(format string, args ...any) error {
	return runconfig.Mistake(fmt.Errorf(format, args...))
}

func (t target) dtype() tensor.DType { return models.GraphType(t.node.Dtype()) }

// whole reports whether the labels are whole numbers.
func whole(d tensor.DType) bool { return d != tensor.String && !d.Float() }

// dense checks that a label has shape [batch, dimension], or [batch] if dimension is 1.
func (t target) dense(dimension int) error {
	if t.ragged {
		return mistakef("SparseTensor labels are not supported. Label %s is ragged: expected shape [batch %d]", t.name, dimension)
	}
	s := t.node.Shape()
	if len(s) == 1 && dimension == 1 || len(s) == 2 && s[1] == dimension {
		return nil
	}
	return mistakef("mismatched label shape. Expected labels dimension=%d.  Received %v. Suggested fix: if your classifier expects one-hot encoding label, "+
		"check your n_classes argument to the estimator and/or the shape of your label. Otherwise, check the shape of label %s", dimension, exampleShape(s), t.name)
}

// exampleShape formats a shape with its first dimension named batch.
func exampleShape(s gtensor.Shape) string {
	text := "[batch"
	for _, d := range s[min(1, len(s)):] {
		text += fmt.Sprintf(" %d", d)
	}
	return text + "]"
}

// numbers returns numeric labels as floats [batch, dimension].
func (t target) numbers(mc *estimator.ModelContext, dimension int) *G.Node {
	n := ops.Cast(mc, t.node, mc.DType())
	if mc.Failed() || len(n.Shape()) == 2 {
		return n
	}
	return ops.ExpandDims(mc, n, -1)
}

// LabelsOf returns labels in the form that a head's loss takes: words as ids, numbers scaled. A label that the head refuses is an error that
// names the row.
func LabelsOf(mc *estimator.ModelContext, h Head, labels models.Labels) (*G.Node, error) {
	l, ok := h.(interface {
		labels(*estimator.ModelContext, models.Labels) (*G.Node, error)
	})
	if !ok {
		return nil, fmt.Errorf("a head %T: expected one of a single label", h)
	}
	y, err := l.labels(mc, labels)
	if r, scaled := h.(RegressionHead); scaled && err == nil {
		y = r.scaled(mc, y)
	}
	return y, err
}

// encoding says which values labels may have, and how they are encoded.
type encoding struct {
	dtype tensor.DType
	shape []int               // of an example
	check func(float64) error // of one number
	words []string            // nil: labels are numbers
}

// encode returns the encoded labels. Numbers that the model computed, rather than took
// from the input, are only cast.
func (t target) encode(mc *estimator.ModelContext, e encoding) *G.Node {
	if !mc.IsColumn(t.node) {
		n := ops.Cast(mc, t.node, e.dtype)
		if mc.Failed() || len(n.Shape()) == 1+len(e.shape) {
			return n
		}
		return ops.Reshape(mc, n, append([]int{n.Shape()[0]}, e.shape...)...)
	}
	ids := make(map[string]float64, len(e.words))
	for i, w := range e.words {
		ids[w] = float64(i)
	}
	return mc.Encode(t.node, estimator.Encoder{DType: e.dtype, Shape: e.shape, Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
		out := cellsOf(dst)
		each := max(1, dst.Len()/max(1, dst.Shape[0]))
		for i := range c.Tensor.Len() {
			v, err := value(c.Tensor, i, ids)
			if err == nil {
				err = e.check(v)
			}
			if err != nil {
				return badValue(c, i/each, i%each, err)
			}
			out.set(i, v)
		}
		return nil
	}})
}

// multiHot turns labels that are lists of ids or words into 0 or 1 for each of n classes.
func (t target) multiHot(mc *estimator.ModelContext, n int, words []string) *G.Node {
	ids := make(map[string]float64, len(words))
	for i, w := range words {
		ids[w] = float64(i)
	}
	return mc.Encode(t.node, estimator.Encoder{DType: mc.DType(), Shape: []int{n}, Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
		out := cellsOf(dst)
		for row := range dst.Shape[0] {
			each := c.Tensor.Len() / dst.Shape[0]
			from, to := row*each, (row+1)*each
			if c.Offsets != nil {
				from, to = int(c.Offsets[row]), int(c.Offsets[row+1])
			}
			for i := from; i < to; i++ {
				v, err := value(c.Tensor, i, ids)
				if err == nil && (!(v >= 0 && v < float64(n)) || v != math.Trunc(v)) {
					err = fmt.Errorf("label %v: labels must be an integer SparseTensor with values in [0, %d): correct it%s", v, n, moreClasses(v))
				}
				if err != nil {
					return badValue(c, row, i-from, err)
				}
				out.set(row*n+int(v), 1)
			}
		}
		return nil
	}})
}

// value returns element i of a label as a number. Words become ids.
func value(t *tensor.Tensor, i int, ids map[string]float64) (float64, error) {
	if t.DType != tensor.String {
		return t.Float(i), nil
	}
	id, ok := ids[string(t.Strings[i])]
	if !ok {
		return 0, UnknownWord(t.Strings[i], len(ids))
	}
	return id, nil
}

// UnknownWord returns the error for a label that is not in the label_vocabulary, which has that many words.
func UnknownWord(label []byte, words int) error {
	return fmt.Errorf("label %q is not in the label_vocabulary of %d words: correct it, or add the word, which is one class more", label, words)
}

// badValue returns the error for a label or weight: element i of a row of its batch.
func badValue(c inputs.NamedTensor, row, i int, err error) error {
	return &inputs.RowError{Column: c.Name, Row: int64(row), InBatch: true, Element: i, Err: err}
}

const correctOrLeaveOut = "correct it, or leave such rows out"

// inRange returns a check that a number is in [0, n-1].
func inRange(n int) func(float64) error {
	return func(v float64) error {
		switch {
		case math.IsNaN(v):
			return fmt.Errorf("label NaN: labels must be class ids, 0 to %d: %s", n-1, correctOrLeaveOut)
		case v > float64(n-1):
			return fmt.Errorf("label %v: labels must be <= n_classes - 1 (%d): correct it%s", v, n-1, moreClasses(v))
		case v < 0:
			return fmt.Errorf("label %v: labels must be >= 0: %s", v, correctOrLeaveOut)
		}
		return nil
	}
}

// moreClasses proposes enough classes for a label that is too high.
func moreClasses(v float64) string {
	const most = 1 << 20 // a higher number is probably a mistake
	if !(v >= 0 && v < most) || v != math.Trunc(v) {
		return ", or leave such rows out"
	}
	return fmt.Sprintf(", or set n_classes (classes of a network) to at least %d", int(v)+1)
}

// cells are the elements of a tensor of one of the types that labels are made of.
type cells struct {
	f32 []float32
	f64 []float64
	i64 []int64
}

func cellsOf(dst *tensor.Tensor) cells {
	return cells{tensor.Values[float32](dst), tensor.Values[float64](dst), tensor.Values[int64](dst)}
}

// set sets element i.
func (c cells) set(i int, v float64) {
	switch {
	case c.f32 != nil:
		c.f32[i] = float32(v)
	case c.f64 != nil:
		c.f64[i] = v
	default:
		c.i64[i] = int64(v)
	}
}
