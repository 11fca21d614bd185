package summary

import (
	"fmt"
	"math"
	"slices"
	"sync"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"

	"github.com/goestimator/goestimator/tensor"
)

// bucketLimits are the upper bounds of TensorFlow's default buckets
// (tensorflow/core/lib/histogram/histogram.cc): from 1e-12 to 1e20 in steps of
// 10 %, the same below 0, and 0 itself.
var bucketLimits = sync.OnceValue(func() []float64 {
	var pos []float64
	for v := 1e-12; v < 1e20; v *= 1.1 {
		pos = append(pos, v)
	}
	pos = append(pos, math.MaxFloat64)
	var all []float64
	for _, v := range slices.Backward(pos) {
		all = append(all, -v)
	}
	return append(append(all, 0), pos...)
})

// Histogram returns the distribution of a numeric tensor's elements. NaN and
// infinite elements are an error, as in TensorFlow.
func Histogram(tag string, t *tensor.Tensor) (*Value, error) {
	values, err := toFloats(t)
	if err != nil {
		return nil, fmt.Errorf("histogram %s: %w", tag, err)
	}
	limits := bucketLimits()
	counts := make([]float64, len(limits))
	h := &summarypb.HistogramProto{Min: math.MaxFloat64, Max: -math.MaxFloat64, Num: float64(len(values))}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("histogram %s: element %d is %v", tag, i, v)
		}
		h.Min, h.Max = min(h.Min, v), max(h.Max, v)
		h.Sum += v
		h.SumSquares += v * v
		counts[bucketOf(limits, v)]++
	}
	h.BucketLimit, h.Bucket = compact(limits, counts)
	return &Value{Tag: tag, Value: &summarypb.Summary_Value_Histo{Histo: h}}, nil
}

// bucketOf returns the first bucket whose limit is above v.
func bucketOf(limits []float64, v float64) int {
	i, found := slices.BinarySearch(limits, v)
	if found {
		i++
	}
	return min(i, len(limits)-1)
}

// compact merges each run of empty buckets into its last one.
func compact(limits, counts []float64) (outLimits, outCounts []float64) {
	for i := range counts {
		if counts[i] == 0 && i+1 < len(counts) && counts[i+1] == 0 {
			continue
		}
		outLimits, outCounts = append(outLimits, limits[i]), append(outCounts, counts[i])
	}
	return outLimits, outCounts
}

// toFloats converts the elements of any numeric tensor.
func toFloats(t *tensor.Tensor) ([]float64, error) {
	switch t.DType {
	case tensor.Float32:
		return convert[float32](t), nil
	case tensor.Float64:
		return convert[float64](t), nil
	case tensor.Int8:
		return convert[int8](t), nil
	case tensor.Int16:
		return convert[int16](t), nil
	case tensor.Int32:
		return convert[int32](t), nil
	case tensor.Int64:
		return convert[int64](t), nil
	case tensor.Uint8:
		return convert[uint8](t), nil
	case tensor.Uint16:
		return convert[uint16](t), nil
	case tensor.Uint32:
		return convert[uint32](t), nil
	case tensor.Uint64:
		return convert[uint64](t), nil
	case tensor.BFloat16:
		return fromBits(t, func(b uint16) float64 { return float64(math.Float32frombits(uint32(b) << 16)) }), nil
	case tensor.Float16:
		return fromBits(t, halfToFloat), nil
	case tensor.Bool:
		out := make([]float64, len(t.Bytes))
		for i, b := range t.Bytes {
			out[i] = float64(b & 1)
		}
		return out, nil
	}
	return nil, fmt.Errorf("expected a numeric tensor, got %s", t.DType)
}

func convert[T interface {
	tensor.Element
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}](t *tensor.Tensor) []float64 {
	in := tensor.Values[T](t)
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(v)
	}
	return out
}

func fromBits(t *tensor.Tensor, f func(uint16) float64) []float64 {
	out := make([]float64, len(t.Bytes)/2)
	for i := range out {
		out[i] = f(uint16(t.Bytes[2*i]) | uint16(t.Bytes[2*i+1])<<8)
	}
	return out
}

// halfToFloat converts an IEEE 754 binary16 number.
func halfToFloat(b uint16) float64 {
	sign := 1 - 2*float64(b>>15)
	exp, frac := int(b>>10&31), float64(b&1023)
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}
