package metrics

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// number has all element types that a metric reads as numbers.
type number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// convert returns t's elements, which are of type From, as To.
func convert[To, From number](t *tensor.Tensor) []To {
	out := make([]To, t.Len())
	for i, v := range tensor.Values[From](t) {
		out[i] = To(v)
	}
	return out
}

// numbers returns t's elements as To; false becomes 0 and true 1.
func numbers[To number](name string, t *tensor.Tensor) ([]To, error) {
	if err := wellFormed(name, t); err != nil {
		return nil, err
	}
	switch t.DType {
	case tensor.Float32:
		return convert[To, float32](t), nil
	case tensor.Float64:
		return convert[To, float64](t), nil
	case tensor.Int8:
		return convert[To, int8](t), nil
	case tensor.Int16:
		return convert[To, int16](t), nil
	case tensor.Int32:
		return convert[To, int32](t), nil
	case tensor.Int64:
		return convert[To, int64](t), nil
	case tensor.Uint8, tensor.Bool:
		u := tensor.Tensor{DType: tensor.Uint8, Shape: t.Shape, Bytes: t.Bytes}
		return convert[To, uint8](&u), nil
	case tensor.Uint16:
		return convert[To, uint16](t), nil
	case tensor.Uint32:
		return convert[To, uint32](t), nil
	case tensor.Uint64:
		return convert[To, uint64](t), nil
	}
	return nil, fmt.Errorf("%s: expected float32, float64, an integer type or bool, got %v", name, t.DType)
}

// wellFormed checks that t exists and that its memory fits its shape.
func wellFormed(name string, t *tensor.Tensor) error {
	if t == nil {
		return fmt.Errorf("%s: expected a tensor, got nil", name)
	}
	for _, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("%s: expected a known shape, got %v", name, t.Shape)
		}
	}
	if size := t.DType.Size(); size > 0 && len(t.Bytes) != size*t.Len() {
		return fmt.Errorf("%s: expected %d bytes for shape %v of %v, got %d", name, size*t.Len(), t.Shape, t.DType, len(t.Bytes))
	}
	return nil
}

// classIDs returns t's elements as class ids in [0, classes), or with any value if
// classes is 0. Floats must be whole numbers.
func classIDs(name string, t *tensor.Tensor, classes int) ([]int64, error) {
	if t != nil && t.DType.Float() {
		fs, err := numbers[float64](name, t)
		if err != nil {
			return nil, err
		}
		for i, f := range fs {
			if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
				return nil, fmt.Errorf("%s: expected whole class ids, got %v at element %d", name, f, i)
			}
		}
	}
	ids, err := numbers[int64](name, t)
	if err != nil || classes == 0 {
		return ids, err
	}
	for i, id := range ids {
		if id < 0 || id >= int64(classes) {
			return nil, fmt.Errorf("%s: expected class ids in [0, %d), got %d at element %d", name, classes, id, i)
		}
	}
	return ids, nil
}

// within returns t's elements as float64s after checking that all lie in [0, 1].
func within(name string, t *tensor.Tensor) ([]float64, error) {
	vs, err := numbers[float64](name, t)
	if err != nil {
		return nil, err
	}
	for i, v := range vs {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("%s: expected values in [0, 1], got %v at element %d", name, v, i)
		}
	}
	return vs, nil
}

// binaryLabels returns t's elements as booleans. Each must be 0 or 1.
func binaryLabels(t *tensor.Tensor) ([]bool, error) {
	vs, err := numbers[float64]("labels", t)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(vs))
	for i, v := range vs {
		if v != 0 && v != 1 {
			return nil, fmt.Errorf("labels: expected 0 or 1, got %v at element %d", v, i)
		}
		out[i] = v == 1
	}
	return out, nil
}

// args are the checked tensors of one Update of labels and predictions.
type args struct {
	labels, predictions *tensor.Tensor
	weights             weighting
}

// pairArgs checks the arguments labels, predictions[, weights] of one shape.
func pairArgs(ts []*tensor.Tensor) (args, error) {
	a, w, err := splitArgs(ts)
	if err != nil {
		return args{}, err
	}
	if !sameShape(a.labels.Shape, a.predictions.Shape) {
		return args{}, fmt.Errorf("expected labels and predictions of one shape, got labels %v and predictions %v", a.labels.Shape, a.predictions.Shape)
	}
	a.weights, err = newWeighting(w, a.predictions.Shape)
	return a, err
}

// classArgs checks the arguments labels [B...], scores [B..., classes][, weights]
// and returns the number of classes.
func classArgs(ts []*tensor.Tensor) (args, int, error) {
	a, w, err := splitArgs(ts)
	if err != nil {
		return args{}, 0, err
	}
	last := len(a.predictions.Shape) - 1
	if last < 1 || a.predictions.Shape[last] < 1 {
		return args{}, 0, fmt.Errorf("predictions: expected shape [batch, classes], got %v", a.predictions.Shape)
	}
	examples := a.predictions.Shape[:last]
	if !sameShape(a.labels.Shape, examples) {
		return args{}, 0, fmt.Errorf("labels: expected shape %v for predictions %v, got %v", examples, a.predictions.Shape, a.labels.Shape)
	}
	a.weights, err = newWeighting(w, examples)
	return a, a.predictions.Shape[last], err
}

// splitArgs names the arguments labels, predictions[, weights].
func splitArgs(ts []*tensor.Tensor) (a args, weights *tensor.Tensor, err error) {
	if len(ts) != 2 && len(ts) != 3 {
		return a, nil, fmt.Errorf("expected labels, predictions and optionally weights, got %d tensors", len(ts))
	}
	a.labels, a.predictions = ts[0], ts[1]
	if err := wellFormed("labels", a.labels); err != nil {
		return a, nil, err
	}
	if err := wellFormed("predictions", a.predictions); err != nil {
		return a, nil, err
	}
	if len(ts) == 3 {
		weights = ts[2]
	}
	return a, weights, nil
}

// sameShape reports whether a and b are equal, possibly after dropping a trailing
// dimension of 1 from the longer one.
func sameShape(a, b []int) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b) == len(a)+1 && b[len(a)] == 1 {
		b = b[:len(a)]
	}
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
