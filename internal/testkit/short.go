package testkit

import "testing"

// NotConcurrent skips a test with -short, as CI does with the race detector: it takes
// seconds there, and shares nothing between goroutines that other tests do not.
func NotConcurrent(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: long under the race detector, and not concurrent (-short)")
	}
}
