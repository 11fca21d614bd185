package convert_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	src, err := tensor.FromSlice([]float32{-1.5, 0, 2.75}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	dst := tensor.New(tensor.Int32, 3)
	convert.Between(src.DType, dst.DType)(dst.Bytes, src.Bytes)
	fmt.Println(tensor.Values[int32](dst))
	// Output: [-1 0 2]
}
