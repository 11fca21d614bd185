package testkit

import "testing"

// NotConcurrent skips a test with -short, with which CI runs the race detector:
// it takes seconds there, and no goroutines share anything that other tests do not share.
func NotConcurrent(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: long under the race detector, and not concurrent (-short)")
	}
}
