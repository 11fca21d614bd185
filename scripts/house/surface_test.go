package main

import "testing"

// TestSurface checks that no public signature of the module names an internal type, which users could not name.
func TestSurface(t *testing.T) {
	h, err := measure("../..", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range h.internal {
		t.Errorf("%s: move what users do not call under internal, or give it a type of its own", s)
	}
}
