package cudnn

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// conv is a convolution of size x size images with 3 channels into 5.
func conv(size, k, stride, dilation int, same bool) lower.Convolution {
	c := lower.Convolution{Type: tensor.Float32, Batch: 2, InH: size, InW: size + 1, InC: 3, OutC: 5, H: k, W: k, StrideH: stride, StrideW: stride, DilationH: dilation, DilationW: dilation}
	c.OutH, c.PadTop = host.OutSize(c.InH, k, stride, dilation, same)
	c.OutW, c.PadLeft = host.OutSize(c.InW, k, stride, dilation, same)
	return c
}

// TestPaddingIsMadeEqual checks how many taps of zeros a filter gets, and where.
func TestPaddingIsMadeEqual(t *testing.T) {
	for _, c := range []struct {
		a                    axis
		ok                   bool
		k, before, pre, post int
	}{
		{axis{6, 3, 3, 2, 1, 0, 1}, true, 4, 1, 1, 1},
		{axis{6, 6, 3, 1, 1, 2, 0}, true, 5, 0, 2, 2},
		{axis{8, 4, 3, 2, 2, 1, 2}, false, 0, 0, 0, 0}, // half a tap
		{axis{8, 8, 1, 1, 1, 0, 5}, false, 0, 0, 0, 0}, // too many taps
	} {
		b, before, ok := c.a.equal()
		if ok != c.ok || ok && (b.k != c.k || before != c.before || b.pre != c.pre || b.post != c.post) {
			t.Errorf("%+v: got %+v, %d, %v", c.a, b, before, ok)
		}
		if out, _ := host.OutSize(b.in+b.pre+b.post, b.k, b.stride, b.dilation, false); ok && out != b.out {
			t.Errorf("%+v: %d results", b, out)
		}
	}
}
