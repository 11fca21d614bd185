package manager

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
)

// TestPolicies is the table of TensorFlow Serving's policies. A version is
// "number state", with a star if it is aspired.
func TestPolicies(t *testing.T) {
	for _, c := range []struct{ versions, availability, resource string }{
		{"", "nothing", "nothing"},
		{"1* start", "load 1", "load 1"},
		{"1* start, 2* start", "load 2", "load 2"},
		{"1* loading, 2* start", "load 2", "load 2"},
		{"1* loading", "nothing", "nothing"},
		{"1* available", "nothing", "nothing"},
		{"1 available, 2* start", "load 2", "unload 1"},
		{"1 available, 2* loading", "nothing", "unload 1"},
		{"1 available, 2* available", "unload 1", "unload 1"},
		{"1 available, 2* end", "nothing", "unload 1"},
		{"1 unloading, 2* start", "load 2", "nothing"},
		{"1 loading, 2* start", "load 2", "nothing"},
		{"1 end, 2* start", "load 2", "load 2"},
		{"1 available, 2 available, 3* start", "unload 1", "unload 1"},
		{"1 available", "unload 1", "unload 1"},
		{"2 available, 1 available", "unload 1", "unload 1"},
		{"2 available, 1* start", "load 1", "unload 2"},
		{"2 available, 1* available", "unload 2", "unload 2"},
		{"1* available, 2* start, 3 available", "unload 3", "unload 3"},
		{"1* available, 2* start", "load 2", "load 2"},
		{"1 start, 2 end, 3 loading", "nothing", "nothing"},
	} {
		for p, want := range map[Policy]string{AvailabilityPreserving: c.availability, ResourcePreserving: c.resource} {
			if got := nextOf(p, c.versions); got != want {
				t.Errorf("policy %d of %q: got %q, want %q", p, c.versions, got, want)
			}
		}
	}
}

func nextOf(p Policy, versions string) string {
	states := map[string]servable.State{"start": servable.Start, "loading": servable.Loading, "available": servable.Available, "unloading": servable.Unloading, "end": servable.End}
	var es []*entry
	for v := range strings.SplitSeq(versions, ", ") {
		if v == "" {
			continue
		}
		var n int64
		number, state, _ := strings.Cut(v, " ")
		fmt.Sscan(strings.TrimSuffix(number, "*"), &n)
		e := newEntry(servable.ID{Name: "m", Version: n}, "")
		e.state, e.aspired = states[state], strings.HasSuffix(number, "*")
		es = append(es, e)
	}
	a, e := p.next(es)
	switch a {
	case load:
		return fmt.Sprint("load ", e.id.Version)
	case unload:
		return fmt.Sprint("unload ", e.id.Version)
	}
	return "nothing"
}
