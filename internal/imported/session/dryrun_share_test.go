package session

import (
	"testing"
	"time"
)

// TestShare: a dry run has the time that others left, and never less than an equal share.
func TestShare(t *testing.T) {
	c := Check{Time: 12 * time.Second}
	for taken, want := range map[time.Duration]time.Duration{0: 12, 8: 4, 9: 3, 10: 3, 12: 3, 1000: 3} {
		if got := c.share(4, taken*time.Second); got != want*time.Second {
			t.Errorf("after %d s: got %v, expected %d s", taken, got, want)
		}
	}
}
