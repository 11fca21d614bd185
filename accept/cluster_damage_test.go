package accept

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// TestClusterDamagedBytes flips random bits in the traffic between two tasks. Each flip is
// detected before it does any harm, the task that had opened the connection
// ends with 138, and after its restart the job finishes. A job has a name if
// its tasks know the chief by different addresses.
func TestClusterDamagedBytes(t *testing.T) {
	for _, c := range []struct {
		name     string
		tasks    string
		from, to string // from opens the connection
		args     []string
		ways     int   // 1: there is hardly any traffic back
		bytes    int64 // upper limit, a few steps' traffic
		extra    int64 // additional steps that asynchronous workers may run
	}{
		{"asynchronous", "chief-0 worker-0 ps-0 ps-1", "worker-0", "ps-1", asynchronous, 2, 50_000, 1},
		{"synchronous", "chief-0 worker-0 ps-0 ps-1", "chief-0", "ps-0", synchronous, 2, 50_000, 0},
		{"between_servers", "chief-0 ps-0 ps-1", "ps-0", "ps-1", synchronous, 2, 500, 0},
		{"all_reduce", "chief-0 worker-0 worker-1", "worker-0", "worker-1", allReduce, 1, 200_000, 0},
		{"key-value store", "chief-0 worker-0 worker-1", "worker-1", "chief-0", set(allReduce, "run.job_id=one"), 1, 200_000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			flips := 4
			if !long(t) {
				if flips = 1; c.name != "asynchronous" && c.name != "all_reduce" {
					t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
				}
			}
			const steps = 1000
			r := newRig(t, c.tasks, set(c.args, fmt.Sprintf("train.max_steps=%d", steps), "run.max_restarts=100")...)
			p := r.proxy(c.from, c.to)
			r.start()
			for range flips {
				r.reach("chief-0", r.step("chief-0")+20)
				way, after := clustertest.Way(rand.IntN(c.ways)), rand.Int64N(c.bytes)
				p.Damage(way, after)
				took := r.exit(c.from, 138)
				last := lastLine(r.tasks[c.from].all())
				t.Logf("way %d, %d bytes later: ended after %v: %s", way, after, took, last)
				if !strings.Contains(last, "damaged") {
					t.Errorf("the last line does not tell of the damage: %s", last)
				}
				r.start(c.from)
			}
			r.ended("chief-0", steps, steps+c.extra)
			for name := range r.tasks {
				r.exit(name, 0)
			}
		})
	}
}
