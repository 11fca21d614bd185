package lower

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/device/cuda/kernels"
	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/graph"
	host "github.com/goestimator/goestimator/internal/kernels"
)

// sliding is the attributes of an op that moves a window over images.
type sliding struct {
	stride, dilation [2]int // height, width
	padding          string
	explicit         []int64
}

func newSliding(n *graph.Node) (*sliding, error) {
	s := &sliding{padding: n.Str("padding"), explicit: n.Ints("explicit_paddings")}
	if f := n.Str("data_format"); f != "" && f != "NHWC" {
		return nil, fmt.Errorf("data_format %s: expected NHWC: put the channels last", f)
	}
	var err error
	if s.stride, err = heightWidth(n, "strides"); err != nil {
		return nil, err
	}
	s.dilation = [2]int{1, 1}
	if len(n.Ints("dilations")) > 0 {
		if s.dilation, err = heightWidth(n, "dilations"); err != nil {
			return nil, err
		}
	}
	switch {
	case s.padding == "SAME" || s.padding == "VALID":
	case s.padding == "EXPLICIT" && len(s.explicit) == 8:
	default:
		return nil, fmt.Errorf("padding %q with explicit_paddings %v: expected SAME, VALID, or EXPLICIT with 8 numbers", s.padding, s.explicit)
	}
	return s, nil
}

// heightWidth reads an attribute [1, height, width, 1].
func heightWidth(n *graph.Node, name string) (hw [2]int, err error) {
	v := n.Ints(name)
	if len(v) != 4 || v[0] != 1 || v[3] != 1 || min(v[1], v[2]) < 1 || max(v[1], v[2]) >= 1<<31 {
		return hw, fmt.Errorf("%s %v: expected [1, height, width, 1]", name, v)
	}
	return [2]int{int(v[1]), int(v[2])}, nil
}

// window is the geometry for images x, results y and a window of k.
func (s *sliding) window(x, y []int, k [2]int) (host.Window, error) {
	w := host.Window{Batch: x[0], InH: x[1], InW: x[2], InC: x[3], OutH: y[1], OutW: y[2], OutC: y[3],
		KH: k[0], KW: k[1], StrideH: s.stride[0], StrideW: s.stride[1], DilH: s.dilation[0], DilW: s.dilation[1]}
	var outH, outW int
	outH, w.PadTop = s.size(x[1], k[0], 0)
	outW, w.PadLeft = s.size(x[2], k[1], 1)
	if y[0] != x[0] || y[1] != outH || y[2] != outW {
		return w, fmt.Errorf("images %v under a window of %v with stride %v and padding %s: expected a result of [%d %d %d], got %v", x, k, s.stride, s.padding, x[0], outH, outW, y[:3])
	}
	return w, kernels.Conv{Window: w}.Check()
}

// size is the output's length and the padding before of dimension i (height, width).
func (s *sliding) size(in, k, i int) (out, before int) {
	if s.padding != "EXPLICIT" {
		return host.OutSize(in, k, s.stride[i], s.dilation[i], s.padding == "SAME")
	}
	before, after := int(s.explicit[2+2*i]), int(s.explicit[3+2*i])
	out, _ = host.OutSize(in+before+after, k, s.stride[i], s.dilation[i], false)
	return out, before
}

// images fails unless all operands are of rank 4 and of one type that the kernels have.
func images(of ...*engine.Operand) error {
	d := of[0].Type.DType
	if d != graph.Float32 && d != graph.BFloat16 {
		return fmt.Errorf("expected images of float32 or bfloat16, got %v", d)
	}
	for _, o := range of {
		if o.Type.Shape.Rank() != 4 || o.Type.DType != d {
			return fmt.Errorf("expected images, filter and result of rank 4 and type %v, got %v %v", d, o.Type.DType, o.Type.Shape)
		}
	}
	return nil
}
