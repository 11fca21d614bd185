package dataset

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain: whatever runs beside a pass ends with it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
