package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/device/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/kernels"
)

func TestConversions(t *testing.T) {
	r := newRig(t, "convert")
	x := append(numbers(1, 1000), 0, 1, -1, float32(math.Inf(1)), float32(math.NaN()), 1.00390625, 1.01171875, 3.4e38)
	n := len(x)
	half := r.alloc(2 * n)
	back := r.alloc(4 * n)
	r.run(kernels.ToBFloat16(half, up(r, x), n), kernels.FromBFloat16(back, half, n))
	got := down[float32](r, back, n)
	for i, v := range x {
		w := float64(got[i])
		if math.IsNaN(float64(v)) != math.IsNaN(w) || math.Abs(float64(v)-w) > math.Abs(float64(v))/256 && v < 3e38 {
			t.Errorf("%g became %g", v, w)
		}
	}
	if tie := got[n-3]; tie != 1 { // 1 + 2^-8 lies between 1 and 1 + 2^-7
		t.Errorf("tie: expected the even 1, got %g", tie)
	}
	img, scale, shift := []byte{0, 128, 255, 10, 20, 30}, []float32{1. / 255, 2, 3}, []float32{-0.5, 0, 1}
	m := kernels.Image{Dst: back, Src: up(r, img), Scale: up(r, scale), Shift: up(r, shift), N: 6, Channels: 3}
	r.run(m.Decode())
	want := make([]float32, 6)
	for i, v := range img {
		want[i] = float32(v)*scale[i%3] + shift[i%3]
	}
	near(t, "image", want, down[float32](r, back, 6), 1e-6)
	m.BFloat16, m.Dst = true, half
	r.run(m.Decode(), kernels.FromBFloat16(back, half, 6))
	near(t, "image in bfloat16", want, down[float32](r, back, 6), 1./256)
	testActivations(t, r)
}

func testActivations(t *testing.T, r *rig) {
	const rows, cols = 9, 5
	x, bias, dy := numbers(1, rows*cols), numbers(2, cols), numbers(3, rows*cols)
	for act, f := range map[kernels.Activation]struct {
		f    host.UnaryOp
		grad host.BinaryOp
	}{kernels.Relu: {host.Relu, host.ReluGrad}, kernels.Relu6: {host.Relu6, host.Relu6Grad}, kernels.Sigmoid: {host.Sigmoid, host.SigmoidGrad},
		kernels.Tanh: {host.Tanh, host.TanhGrad}, kernels.Elu: {host.Elu, host.EluGrad}} {
		y, dx := make([]float32, len(x)), make([]float32, len(x))
		host.BroadcastRow(host.Add, y, x, bias, rows, cols)
		host.Unary(f.f, y, y)
		host.Binary(f.grad, dx, dy, y)
		p, q := up(r, x), up(r, dy)
		r.run(kernels.BiasActivate(p, p, up(r, bias), len(x), cols, act), kernels.ActivateGrad(q, q, p, len(x), act))
		near(t, fmt.Sprint("activation ", act), y, down[float32](r, p, len(x)), 1e-6)
		near(t, fmt.Sprint("gradient ", act), dx, down[float32](r, q, len(x)), 1e-6)
	}
}
