package eager

import (
	"github.com/goestimator/goestimator/internal/compiler/window"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// maxPool pools floats by their kernels, and integers by wholeMaxPool.
func maxPool(s *site) (kernel, error) {
	w, err := window.Read(s.node)
	if err != nil {
		return nil, err
	}
	under := func(k poolKernel) kernel { return func(c call) error { return k(c, w) } }
	k := numbers(under(pooling(images, kernels.MaxPool[float32])), under(pooling(images, kernels.MaxPool[float64])), under(pooling(images, wholeMaxPool[int8])),
		under(pooling(images, wholeMaxPool[int16])), under(pooling(images, wholeMaxPool[int32])), under(pooling(images, wholeMaxPool[int64])),
		under(pooling(images, wholeMaxPool[uint8])), under(pooling(images, wholeMaxPool[uint16])), nil, nil).on(0)
	if w.First {
		k = channelsFirst(k, true, 0)
	}
	return k, nil
}

// wholeMaxPool sets y to the maximum of the integers under each window.
func wholeMaxPool[T integral](g kernels.Window, y, x []T) {
	for i := 0; i < len(y); i += g.InC {
		pixel := i / g.InC
		image, top, left := pixel/(g.OutH*g.OutW), pixel/g.OutW%g.OutH*g.StrideH-g.PadTop, pixel%g.OutW*g.StrideW-g.PadLeft
		first := true
		for h := max(top, 0); h < min(top+g.KH, g.InH); h++ {
			for w := max(left, 0); w < min(left+g.KW, g.InW); w++ {
				from := x[((image*g.InH+h)*g.InW+w)*g.InC:][:g.InC]
				for d, v := range from {
					if first || v > y[i+d] {
						y[i+d] = v
					}
				}
				first = false
			}
		}
	}
}
