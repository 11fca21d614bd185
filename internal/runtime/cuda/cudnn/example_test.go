package cudnn_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/cudnn"
)

func ExampleError() {
	fmt.Println(&cudnn.Error{Call: "cudnnBackendFinalize", Status: 3000, Name: "CUDNN_STATUS_NOT_SUPPORTED"})
	// Output: cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED (3000)
}
