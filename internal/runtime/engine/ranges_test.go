package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

func TestRanges(t *testing.T) {
	for _, dev := range []device.Device{device.NewHost(), device.NewFake(), newTwin()} {
		vars, err := NewVariables(dev)
		if err != nil {
			t.Fatal(err)
		}
		x, err := tensor.FromSlice([]uint8{0, 1, 10, 11, 20, 21}, 3, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(vars.Create("x", x), vars.Create("s", tensor.Scalar(int64(3))), vars.CreateZero("z", tensor.Float32, 2)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 3)
		if err := vars.ReadAt("x", got, 2); err != nil || !slices.Equal(got, []byte{10, 11, 20}) {
			t.Errorf("ReadAt: %v, %v", got, err)
		}
		if err := vars.WriteAt("x", []byte{7, 8}, 3); err != nil {
			t.Error(err)
		}
		rows := make([]byte, 6)
		if err := vars.ReadRows("x", []int32{2, 0, 2}, rows); err != nil || !slices.Equal(rows, []byte{8, 21, 0, 1, 8, 21}) {
			t.Errorf("ReadRows: %v, %v", rows, err)
		}
		var index *IndexError
		if err := vars.ReadRows("x", []int32{0, 3}, rows[:4]); !errors.As(err, &index) || index.Position != 1 {
			t.Errorf("a row beyond the end: %v", err)
		}
		if z, err := vars.Get("z"); err != nil || !slices.Equal(z.Shape, []int{2}) || z.Float(1) != 0 {
			t.Errorf("CreateZero: %v, %v", z, err)
		}
		for _, err := range []error{
			vars.CreateZero("z", tensor.Float32), vars.CreateZero("n", tensor.String), vars.CreateZero("huge", tensor.Float32, 1<<50),
			vars.ReadAt("x", got, 4), vars.WriteAt("x", got, -1), vars.ReadAt("y", got, 0), vars.ReadRows("s", nil, nil), vars.ReadRows("x", []int32{1}, got),
		} {
			if err == nil {
				t.Error("expected an error")
			}
		}
		if err := vars.ReadAt("x", got, 0); err != nil || got[0] != 0 {
			t.Errorf("after errors: %v, %v", got, err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}
