package interop_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// betweenRun is a training whose workers are processes of their own: clients 0 is the chief.
type betweenRun struct {
	cluster *testCluster
	clients []*pythonScript
	steps   int
}

// between returns what trains with a client for each worker until these steps are done, while disturb disturbs it.
func between(steps int, disturb func(*testing.T, *betweenRun)) func(*testing.T, *testCluster) string {
	return func(t *testing.T, c *testCluster) string {
		r := &betweenRun{cluster: c, steps: steps}
		for i := range c.addresses["worker"] {
			r.clients = append(r.clients, r.client(t, i))
			r.reach(t, 1) // others would wait for 30 s where the chief has not made the variables
		}
		disturb(t, r)
		var lines []string
		for _, client := range r.clients {
			for line := range strings.Lines(client.wait(t)) {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
}

// client starts the client of a worker.
func (r *betweenRun) client(t *testing.T, worker int) *pythonScript {
	return r.cluster.script(t, nil, "cluster_between.py", r.cluster.json(t), r.cluster.folder, strconv.Itoa(worker), strconv.Itoa(r.steps))
}

// reach waits until the chief has logged a step that is at least this one.
func (r *betweenRun) reach(t *testing.T, step int) {
	t.Helper()
	r.clients[0].until(t, fmt.Sprintf("step %d", step), func(said string) bool {
		all := loggedStep.FindAllStringSubmatch(said, -1)
		return slices.ContainsFunc(all, func(m []string) bool {
			n, err := strconv.Atoi(m[1])
			return err == nil && n >= step
		})
	})
}

// loggedStep is what LoggingTensorHook writes.
var loggedStep = regexp.MustCompile(`:step = (\d+)`)

func nothing(*testing.T, *betweenRun) {}

// killServer kills a server after this many steps, and starts it again.
func killServer(task string, after int) func(*testing.T, *betweenRun) {
	return func(t *testing.T, r *betweenRun) {
		r.reach(t, after)
		r.cluster.kill(task)
		r.cluster.start(t, task)
	}
}

// killEach kills a parameter server, the masters of all workers and the chief's client, one after the other, and starts each again.
func killEach(t *testing.T, r *betweenRun) {
	killServer("ps/1", 200)(t, r)
	for i := range r.clients {
		killServer("worker/"+strconv.Itoa(i), 600+200*i)(t, r)
	}
	r.reach(t, 1000)
	r.clients[0].kill()
	r.clients[0] = r.client(t, 0)
}
