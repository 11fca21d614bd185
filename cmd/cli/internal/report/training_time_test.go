package report

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
)

// TestTrainingTime: shares are weighted by the time that they cover, and the rest is what remains.
func TestTrainingTime(t *testing.T) {
	scalar := func(name string, values ...float64) events.Tag {
		tag := events.Tag{Name: name, Kind: events.Scalar}
		for i, v := range values {
			tag.Points = append(tag.Points, events.Point{Step: int64(100*i + 101), Scalar: v})
		}
		return tag
	}
	// 100 steps in 1 s, then 100 steps in 3 s.
	r := &Run{Events: []events.Run{{Name: ".", Tags: []events.Tag{
		scalar("data_wait", 0.5, 0.1), scalar("global_step/sec", 100, 100./3), scalar("step_time/compute", 0.5, 0.5)}}}}
	got := r.trainingTime()
	if len(got) != 6 || got[0].Part != "waiting for data" {
		t.Fatalf("got %+v", got)
	}
	for i, want := range map[int]TimeShare{0: {Share: 0.2, MS: 4}, 1: {Share: 0.5, MS: 10}, 2: {}, 5: {Share: 0.3, MS: 6}} {
		if math.Abs(got[i].Share-want.Share) > 1e-9 || math.Abs(got[i].MS-want.MS) > 1e-9 {
			t.Errorf("%s: %+v, expected %+v", got[i].Part, got[i], want)
		}
	}
	for name, tags := range map[string][]events.Tag{"nothing": nil, "an older run": {scalar("data_wait", 0.5), scalar("global_step/sec", 10)}} {
		if got := (&Run{Events: []events.Run{{Name: ".", Tags: tags}}}).trainingTime(); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	stuck := &Run{Events: []events.Run{{Name: ".", Tags: []events.Tag{scalar("global_step/sec", 0), scalar("step_time/compute", 1)}}}}
	for _, s := range stuck.trainingTime() {
		if math.IsNaN(s.Share) || math.IsInf(s.MS, 0) {
			t.Errorf("no rate: %+v", s)
		}
	}
}
