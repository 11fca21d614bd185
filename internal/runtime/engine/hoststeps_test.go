package engine

import "testing"

func TestCountOps(t *testing.T) {
	steps := []string{"a (Where): why", "b (Cumsum): why", "c (Where): another (why)", "odd"}
	if got := CountOps(steps); got != " x1, Cumsum x1, Where x2" {
		t.Errorf("got %q", got)
	}
	if got := CountOps(nil); got != "" {
		t.Errorf("nothing: got %q", got)
	}
}
