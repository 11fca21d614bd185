package eager

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// crossEntropyOps are losses, as in exported evaluation graphs.
var crossEntropyOps = map[*ops.Def]maker{
	ops.SparseSoftmaxCrossEntropyWithLogits: plain(floats(crossEntropy(kernels.LogSoftmax[float32]), crossEntropy(kernels.LogSoftmax[float64])).on(0)),
}

// crossEntropy returns the loss of each row of logits [N, classes], and its gradient: softmax minus one-hot labels.
func crossEntropy[T float](logSoftmax func(dst, x []T, rows, cols int)) kernel {
	return func(c call) error {
		x, labels := c.t(0), c.t(1)
		if len(x.Shape) != 2 || len(labels.Shape) != 1 || labels.Shape[0] != x.Shape[0] || x.Shape[1] < 1 {
			return fmt.Errorf("logits and labels must have shapes [N, classes] and [N], got %v and %v", x.Shape, labels.Shape)
		}
		rows, cols := x.Shape[0], x.Shape[1]
		ids, err := c.integers("labels", labels)
		if err != nil {
			return err
		}
		loss, err := outputOf[T](c, 0, rows)
		if err != nil {
			return err
		}
		grad, err := outputOf[T](c, 1, rows, cols)
		if err != nil || rows == 0 {
			return err
		}
		logSoftmax(grad, tensor.Values[T](x), rows, cols)
		for i := range rows {
			label := ids[i]
			if label < 0 || label >= cols {
				return fmt.Errorf("Received a label value of %d which is outside the valid range of [0, %d)", label, cols)
			}
			row := grad[i*cols : (i+1)*cols]
			loss[i] = -row[label]
			for j, v := range row {
				row[j] = T(math.Exp(float64(v)))
			}
			row[label]--
		}
		return nil
	}
}
