package testkit

import "testing"

func TestSeed(t *testing.T) {
	t.Setenv(SeedVariable, "")
	if a, b, c := Seed(t), Seed(t), Seed(t); a == b && b == c {
		t.Errorf("expected fresh seeds, got %d each time", a)
	}
	t.Setenv(SeedVariable, "123")
	if got := Seed(t); got != 123 {
		t.Errorf("expected 123, got %d", got)
	}
}
