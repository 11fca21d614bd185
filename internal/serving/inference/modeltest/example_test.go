package modeltest_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	m := modeltest.New()
	y, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x:0": tensor.Scalar[float32](5)}, []string{"half:0"})
	fmt.Println(tensor.Values[float32](y[0]), err)
	// Output: [4.5] <nil>
}
