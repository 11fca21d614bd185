package kernels_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// A layer of inference: its weights are packed once, its bias and relu happen inside the product.
func ExampleMatMulPacked() {
	weights := []float32{
		1, 2, 3,
		4, 5, 6,
	}
	packed := kernels.PackB(weights, 3, 2, 3, false)
	out := make([]float32, 2*3)
	kernels.MatMulPacked(kernels.PackedArgs[float32]{
		M: 2, A: []float32{1, 0, 0, -1}, LDA: 2, B: packed, C: out, LDC: 3,
		Epilogue: kernels.Epilogue[float32]{Bias: []float32{0, 10, 0}, Relu: true},
	})
	fmt.Println(out)
	// Output: [1 12 3 0 5 0]
}
