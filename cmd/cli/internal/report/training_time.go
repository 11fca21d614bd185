package report

import (
	"fmt"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
)

// TimeShare is a share of the training time.
type TimeShare struct {
	Part  string  `json:"part"`
	Share float64 `json:"share"` // of the training time, 0 to 1
	MS    float64 `json:"ms"`    // mean per step
}

// timeTags are the scalars with shares of the training time, and their meanings.
var timeTags = []struct{ tag, part string }{
	{"data_wait", "waiting for data"},
	{"step_time/compute", "computing"},
	{"step_time/checkpoints", "writing checkpoints"},
	{"step_time/summaries", "summaries and log lines"},
	{"step_time/evaluations", "evaluations between steps"},
}

// isTimeShare reports whether a scalar is in the table of times, and so needs no chart.
func isTimeShare(tag string) bool {
	for _, t := range timeTags[1:] {
		if t.tag == tag {
			return true
		}
	}
	return false
}

// trainingTime computes from the events where the training time went: the means of the shares, weighted by the time that each covers.
// It is nil if the events do not say.
func (r *Run) trainingTime() []TimeShare {
	for _, run := range r.Events {
		rate, ok := run.Tag("global_step/sec")
		_, told := run.Tag("step_time/compute")
		if run.Name == "." && ok && told {
			return timeShares(run, rate.Points)
		}
	}
	return nil
}

func timeShares(run events.Run, rate []events.Point) (out []TimeShare) {
	seconds, whole, steps := map[int64]float64{}, 0.0, 0.0
	for i, p := range rate {
		n := float64(p.Step)
		if i > 0 {
			n = float64(p.Step - rate[i-1].Step)
		} else if len(rate) > 1 { // the time before the first rate was not measured
			n = min(n, float64(rate[1].Step-p.Step))
		}
		if p.Scalar > 0 {
			seconds[p.Step] = n / p.Scalar
			whole, steps = whole+n/p.Scalar, steps+n
		}
	}
	rest := 1.0
	add := func(part string, share float64) {
		out = append(out, TimeShare{part, share, 1e3 * share * whole / max(steps, 1)})
	}
	for _, t := range timeTags {
		tag, _ := run.Tag(t.tag)
		spent := 0.0
		for _, p := range tag.Points {
			spent += p.Scalar * seconds[p.Step]
		}
		share := spent / max(whole, 1e-12)
		rest -= share
		add(t.part, share)
	}
	add("the rest: other hooks, staging batches", max(rest, 0))
	return out
}

// timeSection is the table of training time by part.
func (r *Run) timeSection() []section {
	shares := r.trainingTime()
	if shares == nil {
		return nil
	}
	t := table{Left: 1, Head: []string{"part", "share of the time %", "ms of a step"}}
	for _, s := range shares {
		t.Rows = append(t.Rows, []string{s.Part, fmt.Sprintf("%.1f", 100*s.Share), number(s.MS)})
	}
	return []section{{Title: "Where the time of training goes", Notes: []string{"Means over the steps between log lines (run.log_step_count_steps). Evaluations at the end are not among them."}, Tables: []table{t}}}
}
