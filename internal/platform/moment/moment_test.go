package moment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(was time.Time) { began = was }(began)
		began = time.Now()
		var m Moment
		if _, ok := m.Time(); ok || m.Lasts(0) {
			t.Error("the zero value is a time")
		}
		m.Note()
		if at, ok := m.Time(); !ok || !at.Equal(time.Now()) {
			t.Errorf("got %v, %v, expected %v", at, ok, time.Now())
		}
		time.Sleep(time.Second)
		if !m.Lasts(time.Second) || m.Lasts(time.Second+1) {
			t.Error("a second is not what has passed")
		}
		m.Clear()
		if _, ok := m.Time(); ok {
			t.Error("it is not cleared")
		}
	})
}

// The difference of moments is measured by the monotonic clock.
func TestMonotonic(t *testing.T) {
	var m Moment
	m.Note()
	if at, _ := m.Time(); !strings.Contains(at.String(), " m=") {
		t.Errorf("%v has no reading of the monotonic clock", at)
	}
}
