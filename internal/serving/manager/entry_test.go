package manager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
)

// TestReleaseTwice: a handle that is released again does not free its version
// for another that is still in use.
func TestReleaseTwice(t *testing.T) {
	e := newEntry(servable.ID{Name: "m", Version: 1}, "")
	var handles [2]handle
	for i := range handles {
		if !e.acquire() {
			t.Fatal("a new version cannot be used")
		}
		handles[i].e = e
	}
	handles[0].Release()
	handles[0].Release()
	e.retire()
	if e.acquire() {
		t.Error("a retired version can be used")
	}
	select {
	case <-e.drained:
		t.Error("the version is given up while it is in use")
	default:
	}
	handles[1].Release()
	<-e.drained
}
