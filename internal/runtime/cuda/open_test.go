package cuda

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// TestOpen opens this machine's GPU, or checks the error if it has none.
func TestOpen(t *testing.T) {
	d, err := Open(t.Context(), 0)
	if err == nil {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	var missing *dylib.NotFoundError
	if !errors.Is(err, driver.ErrUnavailable) && !errors.Is(err, driver.ErrNoDevice) && !errors.As(err, &missing) {
		t.Errorf("expected to hear what is missing, got %v", err)
	}
	if !strings.HasPrefix(err.Error(), "GPU 0: ") || strings.Contains(err.Error(), "%!") {
		t.Errorf("got %q", err)
	}
}

func TestOpenOfNoSuchGPU(t *testing.T) {
	if _, err := Open(t.Context(), -1); err == nil {
		t.Error("expected an error")
	}
}
