package estimator_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/tensor"
)

func TestPredictionsPrint(t *testing.T) {
	words, err := tensor.FromStrings([][]byte{[]byte(`a "b"`), {0xff}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	slice := func(data []float32, shape ...int) *tensor.Tensor {
		x, err := tensor.FromSlice(data, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	many := make([]float32, 21)
	many[20] = 7
	for _, c := range []struct {
		of   map[string]*tensor.Tensor
		want string
	}{
		{nil, "{}"},
		{map[string]*tensor.Tensor{"probabilities": slice([]float32{0.1, float32(math.NaN())}, 2), "class": tensor.Scalar(int64(3))}, "{class:3 probabilities:[0.1 NaN]}"},
		{map[string]*tensor.Tensor{"words": words, "yes": tensor.Scalar(true), "big": tensor.Scalar(uint64(math.MaxUint64))}, `{big:18446744073709551615 words:["a \"b\"" "\xff"] yes:true}`},
		{map[string]*tensor.Tensor{"none": slice(nil, 0), "exact": tensor.Scalar(0.1)}, "{exact:0.1 none:[]}"},
		{map[string]*tensor.Tensor{"all": slice(many[:20], 4, 5)}, "{all:[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]}"},
		{map[string]*tensor.Tensor{"first": slice(many, 21)}, "{first:[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 and 1 more]}"},
	} {
		if got := fmt.Sprint(estimator.PredictionOf(c.of)); got != c.want {
			t.Errorf("got %s, expected %s", got, c.want)
		}
	}
	if got := fmt.Sprint(estimator.Prediction{}); got != "{}" {
		t.Errorf("the zero Prediction: got %s", got)
	}
}
