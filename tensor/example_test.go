package tensor_test

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	t, err := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.DType, t.Shape, tensor.Values[float32](t.Row(1)))
	// Output: float32 [2 3] [4 5 6]
}
