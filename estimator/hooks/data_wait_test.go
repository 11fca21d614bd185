package hooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/goestimator/goestimator/inputs"
)

// waitingRun is a loop that waits for its input.
type waitingRun struct {
	Run
	wait  time.Duration
	steps []inputs.StepTime
}

func (r *waitingRun) InputWait() time.Duration      { return r.wait }
func (r *waitingRun) InputSteps() []inputs.StepTime { return r.steps }

// TestDataWait: the share is over each interval, the bottleneck over the last second or more.
func TestDataWait(t *testing.T) {
	at := time.Unix(100, 0)
	d, r := dataWait{now: func() time.Time { return at }}, &waitingRun{}
	if _, _, ok := d.since(r); ok {
		t.Error("a share before the beginning")
	}
	d.begin(struct{ Run }{})
	if _, _, ok := d.since(struct{ Run }{}); ok {
		t.Error("a share of a loop that does not know")
	}
	d.begin(r)
	for i, c := range []struct {
		after, wait, source, shuffle time.Duration
		want                         string
	}{
		{500, 250, 100, 50, "0.5 "}, {500, 0, 100, 50, "0 shuffle"}, // a quarter of the second; the bottleneck worked before
		{1000, 200, 100, 500, "0.2 "}, {1000, 201, 600, 500, "0.201 source"}, {2000, 2500, 600, 501, "1 shuffle"}, {0, 0, 600, 501, "0 "},
	} {
		at, r.wait = at.Add(c.after*time.Millisecond), r.wait+c.wait*time.Millisecond
		r.steps = []inputs.StepTime{{Name: "source", Busy: c.source}, {Name: "shuffle", Busy: c.shuffle}}
		if i == 1 {
			r.steps[1].Busy = 150
		}
		share, bottleneck, ok := d.since(r)
		if got := fmt.Sprint(share, " ", bottleneck); !ok || got != c.want {
			t.Errorf("%d: got %q, expected %q", i, got, c.want)
		}
	}
}
