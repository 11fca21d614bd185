package eager

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// grouped computes a convolution in n groups of channels, each a convolution of its own, into output 0.
func grouped(c call, g kernels.Window, n int) error {
	x, err := channelGroups(c, c.t(0), n)
	if err != nil {
		return err
	}
	f, err := channelGroups(c, c.t(1), n)
	if err != nil {
		return err
	}
	g.InC, g.OutC = g.InC/n, g.OutC/n
	y, err := c.alloc(x.DType, append([]int{n}, window.Result(g)...)...)
	if err != nil {
		return err
	}
	for i := range n {
		part := func(t *tensor.Tensor) *tensor.Tensor {
			k := t.Len() / n
			return rows(t, []int{k}, i*k, k)
		}
		if x.DType == tensor.Float64 {
			kernels.Conv2D(g, tensor.Values[float64](part(y)), tensor.Values[float64](part(x)), tensor.Values[float64](part(f)), nil, false)
		} else {
			kernels.Conv2D(g, tensor.Values[float32](part(y)), tensor.Values[float32](part(x)), tensor.Values[float32](part(f)), nil, false)
		}
	}
	// The groups, which are the first dimension, come before the channels of each.
	out := c.out[0].T
	from := contiguous(y.Shape).steps
	box := []int{out.Len() / (n * g.OutC), n, g.OutC}
	return copyBox(box, out, contiguous(box), y, stride{steps: []int{from[3], from[0], from[4]}})
}

// channelGroups returns t with its last dimension in n groups, the groups first.
func channelGroups(c call, t *tensor.Tensor, n int) (*tensor.Tensor, error) {
	last := len(t.Shape) - 1
	each := t.Shape[last] / n
	out, err := c.alloc(t.DType, slices.Concat([]int{n}, t.Shape[:last], []int{each})...)
	if err != nil {
		return nil, err
	}
	box := []int{n, product(t.Shape[:last]), each}
	return out, copyBox(box, out, contiguous(box), t, stride{steps: []int{each, t.Shape[last], 1}})
}
