package eager

import (
	"fmt"
	"maps"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// poolSizeOps are pools whose sizes and strides are inputs.
var poolSizeOps = map[*ops.Def]maker{
	ops.MaxPoolV2:     pooledBySizes(ops.MaxPool, 1, pooling(kernels.MaxPool[float32]), pooling(kernels.MaxPool[float64])),
	ops.MaxPoolGradV2: pooledBySizes(ops.MaxPoolGrad, 3, maxPoolGrad[float32], maxPoolGrad[float64]),
}

// pooledBySizes is the maker of op with ksize and strides as inputs from one on, in place of attributes.
func pooledBySizes(op *ops.Def, first int, f32, f64 func(c call, w *window.Attrs) error) maker {
	return func(s *site) (kernel, error) {
		return func(c call) error {
			n := *s.node
			n.Op, n.Attrs = op.Name, maps.Clone(s.node.Attrs)
			for i, name := range []string{"ksize", "strides"} {
				v, err := vector(name, c.t(first+i))
				if err != nil {
					return err
				}
				if len(v) != 4 {
					return fmt.Errorf("Sliding window %s field must specify 4 dimensions", name)
				}
				wide := make([]int64, len(v))
				for k, x := range v {
					wide[k] = int64(x)
				}
				n.Attrs[name] = wide
			}
			w, err := windowAttrs(&site{node: &n})
			if err != nil {
				return err
			}
			c.in = c.in[:first]
			return floats(func(c call) error { return f32(c, w) }, func(c call) error { return f64(c, w) }).on(0)(c)
		}, nil
	}
}
