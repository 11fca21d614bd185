package estimator

import "testing"

func TestCountOps(t *testing.T) {
	got := countOps([]string{"a/b (TopKV2): no kernel", "c (Where): x (y)", "d (TopKV2): k is 5000"})
	if want := "TopKV2 x2, Where x1"; got != want {
		t.Errorf("expected %s, got %s", want, got)
	}
	if got := countOps(nil); got != "" {
		t.Errorf("got %q", got)
	}
}
