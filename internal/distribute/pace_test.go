package distribute

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
)

// TestPaceIsAMovingMean: over all steps at first, then over about 50.
func TestPaceIsAMovingMean(t *testing.T) {
	var p pace
	if p.secs() != 0 {
		t.Errorf("%v s before the first step", p.secs())
	}
	for i, want := range []float64{4, 3, 2} {
		p.add([]time.Duration{4 * time.Second, 2 * time.Second, 0}[i])
		if math.Abs(p.secs()-want) > 1e-9 {
			t.Errorf("after step %d: %v s, expected %v", i+1, p.secs(), want)
		}
	}
	for range paceSteps - 3 {
		p.add(2 * time.Second)
	}
	if math.Abs(p.secs()-2) > 1e-9 {
		t.Errorf("after 50 steps: %v s, expected 2", p.secs())
	}
	p.add(52 * time.Second) // the 51st counts for a 50th
	if math.Abs(p.secs()-3) > 1e-9 {
		t.Errorf("after 51 steps: %v s, expected 3", p.secs())
	}
	for range 10 * paceSteps {
		p.add(time.Second)
	}
	if math.Abs(p.secs()-1) > 1e-3 {
		t.Errorf("long after a slow step: %v s, expected 1", p.secs())
	}
}

// TestPacesOfMembers: workers that are lost, have left or have reported invalid times are
// left out.
func TestPacesOfMembers(t *testing.T) {
	member := func(index int, state keyvalue.State, secs float64) keyvalue.Member {
		return keyvalue.Member{Peer: cluster.Peer{Task: cluster.Task{Job: "worker", Index: index}}, Rank: index, State: state, StepSecs: secs}
	}
	own := Pace{cluster.Task{Job: "worker", Index: 3}, 0.5}
	got := pacesOfMembers([]keyvalue.Member{member(0, keyvalue.Active, 0.25), member(1, keyvalue.Lost, 1), member(2, keyvalue.Done, 1),
		member(3, keyvalue.Lost, 9), member(4, keyvalue.Active, 0), member(5, keyvalue.Active, math.NaN()),
		member(6, keyvalue.Active, math.Inf(1)), member(7, keyvalue.Active, -1)}, own)
	if want := []Pace{{cluster.Task{Job: "worker", Index: 0}, 0.25}, own}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	if got := pacesOfMembers(nil, own); got != nil {
		t.Errorf("without members: %v", got)
	}
}
