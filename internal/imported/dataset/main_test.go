package dataset

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that goroutines of a pass end with it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
