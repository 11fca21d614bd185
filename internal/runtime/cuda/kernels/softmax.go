package kernels

import "github.com/goestimator/goestimator/internal/runtime/cuda/driver"

// Softmax sets each row of y to the softmax of the same row of x [rows, cols], or its logarithm. y may be x only if nothing
// else reads x.
func Softmax(y, x driver.Ptr, rows, cols int, log bool) Call {
	kernel, grid := byRows("softmax", rows, cols)
	return call(kernel, grid, driver.Dim{X: blockThreads}, y, x, rows, cols, flag(log))
}

// Xent is a cross entropy of Logits [Rows, Cols].
type Xent struct {
	Loss     driver.Ptr // [Rows]
	Backprop driver.Ptr // [Rows, Cols], or 0; may be Logits
	Logits   driver.Ptr
	Labels   driver.Ptr // sparse: [Rows] integers; else [Rows, Cols] float32
	Fault    Fault      // sparse: for a label that is no class
	Rows     int
	Cols     int
	Int64    bool // sparse: the labels' type; else int32
}

// Sparse is SparseSoftmaxCrossEntropyWithLogits. A label that is no class gives a loss of NaN and a fault.
func (x Xent) Sparse() Call {
	kernel, grid := byRows("sparse_xent", x.Rows, x.Cols)
	return call(kernel+intSuffix(x.Int64), grid, driver.Dim{X: blockThreads}, x.Loss, x.Backprop, x.Logits, x.Labels, x.Fault.Record, x.Fault.Operation, x.Rows, x.Cols)
}

// Dense is SoftmaxCrossEntropyWithLogits.
func (x Xent) Dense() Call {
	kernel, grid := byRows("xent", x.Rows, x.Cols)
	return call(kernel, grid, driver.Dim{X: blockThreads}, x.Loss, x.Backprop, x.Logits, x.Labels, x.Rows, x.Cols)
}

// intSuffix returns the suffix of the name of a kernel over integers.
func intSuffix(wide bool) string {
	if wide {
		return "_i64"
	}
	return "_i32"
}
