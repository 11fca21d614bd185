package queue

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Gradient is a gradient of a variable: dense, or of some of its rows.
type Gradient struct {
	Values  *tensor.Tensor
	Sparse  bool
	Indices []int64 // indices of the rows, if Sparse
	Shape   []int64 // shape of the variable, if Sparse and known
}

// AccumulatorSpec says what an accumulator sums up.
type AccumulatorSpec struct {
	Type   tensor.DType // float32 or float64
	Shape  []int        // shape of the variable: -1 is any size; nil is any rank
	Mean   bool         // take the mean of the gradients, not their sum
	Sparse bool
	Room   *Room // the memory for sums
}

// Accumulator sums gradients until there are enough: TensorFlow's conditional accumulator. It is safe for concurrent use.
type Accumulator struct {
	spec AccumulatorSpec

	place
	step  int64      // gradients of earlier steps are dropped
	sum   Gradient   // the sum of count gradients
	times []int      // how often each row of a sparse sum was added to
	count int        // 0: sum is left over from before
	takes []*attempt // calls that wait for gradients
	gone  bool       // nobody can find it any more
}

// errTakeCancelled ends a Take whose accumulator is gone.
var errTakeCancelled = &Error{ErrCancelled, "TakeGrad operation was cancelled"}

// NewAccumulator returns an accumulator at step 0.
func NewAccumulator(s AccumulatorSpec) *Accumulator {
	a := &Accumulator{spec: s}
	a.flush = func() {
		for serve(&a.takes) {
		}
	}
	return a
}

// Spec returns what the accumulator sums up.
func (a *Accumulator) Spec() AccumulatorSpec { return a.spec }

// Count returns the number of gradients in the sum.
func (a *Accumulator) Count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// SetStep sets the current step: Apply drops gradients of earlier steps.
func (a *Accumulator) SetStep(step int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.step = step
}

// Apply adds a gradient that was computed at a step; it drops gradients of earlier steps.
func (a *Accumulator) Apply(step int64, g Gradient) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return &Error{ErrCancelled, "ApplyGradient operation was cancelled"}
	}
	if step < a.step {
		return nil
	}
	if g.Values.DType != a.spec.Type {
		return fmt.Errorf("expected a gradient of type %s, got %s", typeText(a.spec.Type), typeText(g.Values.DType))
	}
	check := a.checkDense
	if a.spec.Sparse {
		check = a.checkSparse
	}
	if err := check(g); err != nil {
		return err
	}
	if a.count > 0 && !a.spec.Sparse {
		addTo(a.sum.Values, 0, g.Values, 0, g.Values.Len())
	} else if err := a.grow(g); err != nil {
		return err
	}
	a.count++
	a.flush()
	return nil
}

// grow adds a gradient that needs memory.
func (a *Accumulator) grow(g Gradient) error {
	if err := a.spec.Room.take("accumulator", g.bytes()); err != nil {
		return err
	}
	had := g.bytes()
	if a.count == 0 {
		a.first(g)
	} else {
		had += a.sum.bytes()
		a.merge(g)
	}
	a.spec.Room.give(had - a.sum.bytes()) // the rows that the sum already had
	return nil
}

// bytes is the memory of a gradient and its counts.
func (g Gradient) bytes() int { return len(g.Values.Bytes) + 16*len(g.Indices) }

// Discard ends all waiting calls, and drops the sum. It is called when nobody can find the accumulator any more.
func (a *Accumulator) Discard() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.takes {
		t.finish(errTakeCancelled)
	}
	a.takes, a.gone = nil, true
	if a.count > 0 {
		a.spec.Room.give(a.sum.bytes())
		a.count, a.sum, a.times = 0, Gradient{}, nil
	}
}

// first makes a copy of a gradient the sum.
func (a *Accumulator) first(g Gradient) {
	v := tensor.New(g.Values.DType, g.Values.Shape...)
	copy(v.Bytes, g.Values.Bytes)
	a.sum = Gradient{Values: v, Sparse: g.Sparse, Indices: append([]int64{}, g.Indices...)}
	a.times = make([]int, len(g.Indices))
	for i := range a.times {
		a.times[i] = 1
	}
}

// Take waits for the required number of gradients and returns their sum or mean. It then starts over, at the next step.
func (a *Accumulator) Take(ctx context.Context, required int) (Gradient, error) {
	if required <= 0 {
		return Gradient{}, fmt.Errorf("Argument num_required must be positive, but was %d", required)
	}
	var taken Gradient
	err := a.wait(ctx, &a.takes, &attempt{try: func() (progress, error) {
		if a.gone {
			return finished, errTakeCancelled
		}
		if a.count < required {
			return stuck, nil
		}
		a.spec.Room.give(a.sum.bytes())
		taken = a.result()
		a.step++
		a.count, a.sum, a.times = 0, Gradient{}, nil
		return finished, nil
	}})
	return taken, err
}

// result returns the sum or mean of the gradients so far.
func (a *Accumulator) result() Gradient {
	g := a.sum
	rows, width := 1, g.Values.Len()
	if g.Sparse {
		rows = len(g.Indices)
		width /= max(rows, 1)
		g.Shape = []int64{-1}
		if len(a.spec.Shape) > 0 {
			g.Shape[0] = int64(a.spec.Shape[0])
		}
		for _, d := range g.Values.Shape[1:] {
			g.Shape = append(g.Shape, int64(d))
		}
	}
	if !a.spec.Mean {
		return g
	}
	for i := range rows {
		n := a.count
		if g.Sparse {
			n = a.times[i]
		}
		divide(g.Values, i*width, width, n)
	}
	return g
}

// checkDense fails for a gradient that cannot be added.
func (a *Accumulator) checkDense(g Gradient) error {
	if a.count > 0 && !compatible(a.sum.Values.Shape, g.Values.Shape) {
		return fmt.Errorf("Shape mismatch: expected %s, got %s", shapeText(a.sum.Values.Shape), shapeText(g.Values.Shape))
	}
	if a.spec.Shape != nil && !compatible(a.spec.Shape, g.Values.Shape) {
		return fmt.Errorf("Shape mismatch: expected %s, got %s", shapeText(a.spec.Shape), shapeText(g.Values.Shape))
	}
	return nil
}

// addTo adds n elements of src, from index j, to dst, from index i.
func addTo(dst *tensor.Tensor, i int, src *tensor.Tensor, j, n int) {
	if dst.DType == tensor.Float32 {
		addNumbers(tensor.Values[float32](dst)[i:i+n], tensor.Values[float32](src)[j:j+n])
		return
	}
	addNumbers(tensor.Values[float64](dst)[i:i+n], tensor.Values[float64](src)[j:j+n])
}

func addNumbers[T float32 | float64](dst, src []T) {
	for i, v := range src {
		dst[i] += v
	}
}

// divide divides n elements from index i.
func divide(t *tensor.Tensor, i, n, by int) {
	if t.DType == tensor.Float32 {
		divideNumbers(tensor.Values[float32](t)[i:i+n], float32(by))
		return
	}
	divideNumbers(tensor.Values[float64](t)[i:i+n], float64(by))
}

func divideNumbers[T float32 | float64](v []T, by T) {
	for i := range v {
		v[i] /= by
	}
}
