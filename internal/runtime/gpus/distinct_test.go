package gpus_test

import (
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
)

// TestDistinct: Distinct finds the GPUs behind a Chooser's devices, unless one occurs twice or is the host.
func TestDistinct(t *testing.T) {
	c := gpus.NewChooser(gpustest.Emulated(t, 2), slog.New(slog.DiscardHandler))
	var all []device.Device
	for _, n := range []int{0, 1, 0} {
		d, _, err := c.Open(t.Context(), gpus.Name{GPU: true, Number: n})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		all = append(all, d)
	}
	if got := gpus.Distinct(all[:2]); len(got) != 2 || got[0] == got[1] {
		t.Errorf("two GPUs: got %v", got)
	}
	if got := gpus.Distinct(all); got != nil {
		t.Errorf("a GPU twice: expected nil, got %v", got)
	}
	if got := gpus.Distinct([]device.Device{all[0], device.NewHost()}); got != nil {
		t.Errorf("the host: expected nil, got %v", got)
	}
}
