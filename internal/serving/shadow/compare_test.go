package shadow

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/tensor"
)

func of[T tensor.Element](v ...T) *tensor.Tensor {
	t, err := tensor.FromSlice(v, len(v))
	if err != nil {
		panic(err)
	}
	return t
}

func words(v ...string) *tensor.Tensor {
	t := tensor.New(tensor.String, len(v))
	for i, s := range v {
		t.Strings[i] = []byte(s)
	}
	return t
}

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	half := func(bits ...uint16) *tensor.Tensor { // 0x3c00 is 1, 0x4000 is 2
		x := of(bits...)
		x.DType = tensor.Float16
		return x
	}
	for name, c := range map[string]struct {
		a, b *tensor.Tensor
		want float64
	}{
		"equal":       {of(1.5, nan, inf, -inf), of(1.5, nan, inf, -inf), 0},
		"zeros":       {of(0.0), of(math.Copysign(0, -1)), 0},
		"small":       {of(0.1), of(0.3), 0.2},
		"large":       {of(100.0), of(-50.0), 1.5},
		"nan":         {of(1.0), of(nan), inf},
		"infinity":    {of(inf), of(-inf), inf},
		"overflow":    {of(math.MaxFloat64), of(-math.MaxFloat64), inf},
		"empty":       {of[float32](), of[float32](), 0},
		"types":       {of[float32](1), of[int32](1), inf},
		"int64":       {of[int64](3), of[int64](4), 0.25},
		"bool":        {of(true), of(false), 1},
		"strings":     {words("a", "b"), words("a", "b"), 0},
		"words":       {words("a", "b"), words("a", "c"), inf},
		"fewer":       {words("a", "b"), words("a"), inf},
		"half":        {half(0x3c00), half(0x4000), 0.5},
		"complex":     {of[complex64](2i), of[complex64](1i), 0.5},
		"complex128":  {of[complex128](2i), of[complex128](1i), 0.5},
		"damaged":     {&tensor.Tensor{DType: tensor.Float32, Shape: []int{2}, Bytes: make([]byte, 8)}, &tensor.Tensor{DType: tensor.Float32, Shape: []int{2}, Bytes: make([]byte, 4)}, inf},
		"not numbers": {&tensor.Tensor{DType: tensor.DType(99), Bytes: []byte{1}}, &tensor.Tensor{DType: tensor.DType(99), Bytes: []byte{2}}, inf},
	} {
		for _, pair := range [][2]*tensor.Tensor{{c.a, c.b}, {c.b, c.a}} {
			got := compare(inference.Answer{"y": pair[0]}, inference.Answer{"y": pair[1]})
			if got != c.want && !(math.Abs(got-c.want) < 1e-12) {
				t.Errorf("%s: got %v, expected %v", name, got, c.want)
			}
		}
	}
	x := of(1.0)
	for name, b := range map[string]inference.Answer{"another name": {"z": x}, "more": {"y": x, "z": x}, "none": {}} {
		if got := compare(inference.Answer{"y": x}, b); !math.IsInf(got, 1) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
