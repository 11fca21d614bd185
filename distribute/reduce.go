package distribute

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"

	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/remote"
	"github.com/goestimator/goestimator/tensor"
)

// ReduceOp says how Reduce combines values.
type ReduceOp int

// The operations of Reduce.
const (
	Sum ReduceOp = iota
	Mean
)

// reduceCalls are the names that tasks compare.
var reduceCalls = map[ReduceOp]string{Sum: "Reduce of a sum", Mean: "Reduce of a mean"}

// gatherer returns the strategy if tasks in lock step exchange values, else nil.
func (s *Strategy) gatherer() strategies.Gatherer {
	g, ok := s.inner.(strategies.Gatherer)
	if !ok || !s.ready {
		return nil
	}
	return g
}

// Reduce combines a result over all replicas of all tasks in lock step. All these tasks
// call it, and get the same tensor. Sums are computed in float64, in the order of the
// replicas. If no replica had data, the result is nil.
func (s *Strategy) Reduce(ctx context.Context, op ReduceOp, value PerReplica) (*tensor.Tensor, error) {
	call, ok := reduceCalls[op]
	if !ok {
		return nil, fmt.Errorf("reduce: operation %d: expected Sum or Mean", op)
	}
	all, err := s.everywhere(ctx, call, value)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	first := all[0]
	if first.DType == tensor.String || first.DType.Size() == 0 {
		return nil, fmt.Errorf("reduce: %v has no sum: see Gather", first.DType)
	}
	sum := make([]float64, first.Len())
	for _, t := range all {
		if t.DType != first.DType || !slices.Equal(t.Shape, first.Shape) {
			return nil, fmt.Errorf("reduce: %v%v of one replica, %v%v of another: expected one type and shape", first.DType, first.Shape, t.DType, t.Shape)
		}
		for i := range sum {
			sum[i] += t.Float(i)
		}
	}
	if op == Mean {
		for i := range sum {
			sum[i] /= float64(len(all))
		}
	}
	return fromFloats(sum, first.DType, first.Shape)
}

// fromFloats returns numbers as a tensor of that type.
func fromFloats(values []float64, d tensor.DType, shape []int) (*tensor.Tensor, error) {
	out := tensor.New(d, shape...)
	switch d {
	case tensor.Float64:
		copy(tensor.Values[float64](out), values)
	case tensor.Float32:
		convert(tensor.Values[float32](out), values)
	case tensor.Int64:
		convert(tensor.Values[int64](out), values)
	case tensor.Int32:
		convert(tensor.Values[int32](out), values)
	default:
		return nil, fmt.Errorf("reduce: %v: expected float32, float64, int32 or int64", d)
	}
	return out, nil
}

func convert[T float32 | int64 | int32](dst []T, src []float64) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

// Gather concatenates a result of all replicas of all tasks in lock step along its first
// dimension. All these tasks call it. If no replica had data, the result is nil.
func (s *Strategy) Gather(ctx context.Context, value PerReplica) (*tensor.Tensor, error) {
	all, err := s.everywhere(ctx, "Gather", value)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	out := &tensor.Tensor{DType: all[0].DType, Shape: slices.Clone(all[0].Shape)}
	if len(out.Shape) == 0 {
		return nil, errors.New("gather: a scalar has no first dimension: see Reduce")
	}
	out.Shape[0] = 0
	for _, t := range all {
		if t.DType != out.DType || len(t.Shape) != len(out.Shape) || !slices.Equal(t.Shape[1:], out.Shape[1:]) {
			return nil, fmt.Errorf("gather: %v%v of one replica, %v%v of another: expected rows of one type and shape", out.DType, all[0].Shape, t.DType, t.Shape)
		}
		out.Shape[0] += t.Shape[0]
		out.Bytes = append(out.Bytes, t.Bytes...)
		out.Strings = append(out.Strings, t.Strings...)
	}
	return out, nil
}

// gathered returns the message of each task in lock step. All of them make the same call.
func gathered(ctx context.Context, g strategies.Gatherer, call string, mine []byte) ([][]byte, error) {
	all, err := g.Gather(ctx, append([]byte(call+"\n"), mine...))
	if err != nil {
		return nil, err
	}
	for rank, text := range all {
		theirs, value, _ := bytes.Cut(text, []byte("\n"))
		if string(theirs) != call {
			return nil, fmt.Errorf("%w: this task calls %s, worker %d %.100q: all tasks make the same calls in the same order", ErrDiffer, call, rank, theirs)
		}
		all[rank] = value
	}
	return all, nil
}

// everywhere returns the values of all replicas of all tasks in lock step, in order.
func (s *Strategy) everywhere(ctx context.Context, call string, mine PerReplica) (PerReplica, error) {
	if s.closed {
		return nil, errClosed
	}
	for replica, t := range mine {
		if err := remote.Check(t); err != nil {
			return nil, fmt.Errorf("the value of replica %d: %w", replica, err)
		}
	}
	g := s.gatherer()
	if g == nil {
		return mine, nil
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(mine); err != nil {
		return nil, err
	}
	parts, err := gathered(ctx, g, call, b.Bytes())
	if err != nil {
		return nil, err
	}
	var out PerReplica
	for rank, p := range parts {
		var theirs PerReplica
		if err := gob.NewDecoder(bytes.NewReader(p)).Decode(&theirs); err != nil {
			return nil, fmt.Errorf("values of worker %d: %w: do all tasks run the same program?", rank, err)
		}
		for _, t := range theirs {
			if err := remote.Check(t); err != nil {
				return nil, fmt.Errorf("values of worker %d: %w", rank, err)
			}
		}
		out = append(out, theirs...)
	}
	return out, nil
}
