package kernels

import "github.com/goestimator/goestimator/internal/device/cuda/driver"

// Activation is what follows a bias.
type Activation int32

// The activations whose gradient follows from their result.
const (
	Linear Activation = iota
	Relu
	Relu6
	Sigmoid
	Tanh
	Elu
)

// BiasActivate sets y = act(x + bias) for x [n/cols, cols]. y may be x.
func BiasActivate(y, x, bias driver.Ptr, n, cols int, act Activation) Call {
	grid, block := over(n)
	return call("bias_activate", grid, block, y, x, bias, n, cols, int32(act))
}

// ActivateGrad sets dx = dy times the activation's derivative, out of its result y. dx may be dy.
func ActivateGrad(dx, dy, y driver.Ptr, n int, act Activation) Call {
	grid, block := over(n)
	return call("activate_grad", grid, block, dx, dy, y, n, int32(act))
}

// ToBFloat16 rounds n float32 to the nearest bfloat16, ties to even.
func ToBFloat16(dst, src driver.Ptr, n int) Call { return convert("cast_f32_bf16", dst, src, n) }

// FromBFloat16 makes float32 of bfloat16.
func FromBFloat16(dst, src driver.Ptr, n int) Call { return convert("cast_bf16_f32", dst, src, n) }

func convert(kernel string, dst, src driver.Ptr, n int) Call {
	grid, block := over(n)
	return call(kernel, grid, block, dst, src, n)
}

// Image is N bytes of images, channels last, to be made numbers v*Scale[c] + Shift[c].
type Image struct {
	Dst, Src     driver.Ptr
	Scale, Shift driver.Ptr // [Channels] float32
	N, Channels  int
	BFloat16     bool // of Dst; else float32
}

// Decode is the launch.
func (m Image) Decode() Call {
	kernel := "image_f32"
	if m.BFloat16 {
		kernel = "image_bf16"
	}
	grid, block := over(m.N)
	return call(kernel, grid, block, m.Dst, m.Src, m.Scale, m.Shift, m.N, m.Channels)
}
