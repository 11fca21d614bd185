package kernels

import (
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Filter is a convolution's filter in both layouts: Rows is TensorFlow's [KH, KW, InC, OutC], Packed is cuDNN's
// [OutC, TallH, TallW, InC]. Packed may have additional taps of zeros; the taps of Rows begin at (Top, Left).
type Filter struct {
	Rows, Packed driver.Ptr
	KH, KW       int
	InC, OutC    int
	TallH, TallW int
	Top, Left    int
	BFloat16     bool
	FloatRows    bool // Unpack: Rows is float32 even if Packed is not
}

// PackedBytes returns the size of Packed in bytes.
func (f Filter) PackedBytes() int {
	each := 4
	if f.BFloat16 {
		each = 2
	}
	return each * f.OutC * f.TallH * f.TallW * f.InC
}

// Pack sets Packed from Rows.
func (f Filter) Pack() Call {
	return f.move("filter_pack"+typeSuffix(f.BFloat16), f.TallH*f.TallW*f.InC, f.Packed, f.Rows)
}

// Unpack sets Rows from Packed without the additional taps.
func (f Filter) Unpack() Call {
	kernel := "filter_unpack" + typeSuffix(f.BFloat16)
	if f.BFloat16 && f.FloatRows {
		kernel = "filter_unpack_widen"
	}
	return f.move(kernel, f.KH*f.KW*f.InC, f.Rows, f.Packed)
}

// move returns a launch over tiles of n x OutC numbers.
func (f Filter) move(kernel string, n int, dst, src driver.Ptr) Call {
	grid := driver.Dim{X: ceilDiv(n, tileColumns), Y: ceilDiv(f.OutC, tileColumns)}
	return call(kernel, grid, driver.Dim{X: tileColumns, Y: tileRows}, dst, src, int32(f.OutC), int32(f.KH), int32(f.KW), int32(f.InC),
		int32(f.TallH), int32(f.TallW), int32(f.Top), int32(f.Left))
}
