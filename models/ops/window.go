package ops

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Padding says how windows overlap the border of an image.
type Padding struct {
	kind     string
	explicit [4]int
}

var (
	// Valid adds nothing: windows lie within the image.
	Valid = Padding{kind: "VALID"}
	// Same adds zeros so that the output has ceil(size/stride) positions. If the
	// number is odd, one more is added after than before.
	Same = Padding{kind: "SAME"}
)

// Explicit adds the given rows and columns of zeros; for convolutions only.
func Explicit(top, bottom, left, right int) Padding {
	return Padding{"EXPLICIT", [4]int{top, bottom, left, right}}
}

// String returns TensorFlow's name of the padding; the zero Padding is VALID.
func (p Padding) String() string {
	if p.kind == "" {
		return "VALID"
	}
	return p.kind
}

// output returns the number of window positions along one dimension.
func (p Padding) output(size, window, stride, dim int) int {
	switch p.String() {
	case "SAME":
		return (size + stride - 1) / stride
	case "EXPLICIT":
		size += p.explicit[2*dim] + p.explicit[2*dim+1]
	}
	if size < window {
		return 0
	}
	return (size-window)/stride + 1
}

// steps reports whether sizes of windows, strides or dilations are valid attributes.
func steps(n ...int) bool { return slices.Min(n) >= 1 && slices.Max(n) <= math.MaxInt32 }

// windows returns the shape of the output of windows over the image x.
func windows(c models.Context, op string, x *G.Node, window, strides [2]int, p Padding) (h, w int, ok bool) {
	s := x.Shape()
	if !steps(append(window[:], strides[:]...)...) {
		c.Core().Failf("%s: window %v with strides %v: expected >= 1 and below 2^31", op, window, strides)
		return 0, 0, false
	}
	if slices.Min(p.explicit[:]) < 0 || slices.Max(p.explicit[:]) > math.MaxInt32 {
		c.Core().Failf("%s: padding %v: expected >= 0 and below 2^31", op, p.explicit)
		return 0, 0, false
	}
	h, w = p.output(s[1], window[0], strides[0], 0), p.output(s[2], window[1], strides[1], 1)
	if h < 1 || w < 1 {
		c.Core().Failf("%s: a window of %v does not fit into an image of shape %v with padding %v", op, window, s, p)
		return 0, 0, false
	}
	return h, w, true
}

// attrs returns the attributes that convolutions and pools share.
func (p Padding) attrs(x *G.Node, strides [2]int) graph.Attrs {
	a := with(typeAttr(x.Dtype()), "data_format", []byte("NHWC"), "padding", []byte(p.String()),
		"strides", []int64{1, int64(strides[0]), int64(strides[1]), 1})
	if p.kind == "EXPLICIT" {
		e := []int64{0, 0, 0, 0, 0, 0, 0, 0}
		for i, n := range p.explicit {
			e[2+i] = int64(n)
		}
		a["explicit_paddings"] = e
	}
	return a
}
