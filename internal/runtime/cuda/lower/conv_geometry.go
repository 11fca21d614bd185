package lower

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// windowAttrs reads the attributes of an op that moves a window over images.
func windowAttrs(n *graph.Node) (*window.Attrs, error) {
	if f := n.Str("data_format"); f != "" && f != "NHWC" {
		return nil, fmt.Errorf("data_format %s: expected NHWC: put the channels last", f)
	}
	return window.Read(n)
}

// checkWindow fails unless y has the sizes of a geometry's result, and the kernels can do it.
func checkWindow(g host.Window, y []int) error {
	if want := window.Result(g); !slices.Equal(y, want) {
		return fmt.Errorf("images [%d %d %d %d] under a window of [%d %d]: expected a result of %v, got %v", g.Batch, g.InH, g.InW, g.InC, g.KH, g.KW, want, y)
	}
	return kernels.Conv{Window: g}.Check()
}

// images fails unless all operands have rank 4 and the same type, which the kernels support.
func images(of ...*engine.Operand) error {
	d := of[0].Type.DType
	if d != tensor.Float32 && d != tensor.BFloat16 {
		return fmt.Errorf("expected images of float32 or bfloat16, got %v", d)
	}
	for _, o := range of {
		if o.Type.Shape.Rank() != 4 || o.Type.DType != d {
			return fmt.Errorf("expected images, filter and result of rank 4 and type %v, got %v %v", d, o.Type.DType, o.Type.Shape)
		}
	}
	return nil
}
