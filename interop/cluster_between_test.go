package interop_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// betweenRun is a training with one client process for each worker; clients[0] is the chief.
type betweenRun struct {
	cluster *testCluster
	clients []*pythonScript
	steps   int
}

// between returns a program that trains for a number of steps with a client for each worker, and calls disturb meanwhile.
func between(steps int, disturb func(*testing.T, *betweenRun)) func(*testing.T, *testCluster) string {
	return func(t *testing.T, c *testCluster) string {
		r := &betweenRun{cluster: c, steps: steps}
		for i := range c.addresses["worker"] {
			r.clients = append(r.clients, r.client(t, i))
			r.reach(t, 1) // later clients would wait 30 s if the chief had not created the variables
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

// reach waits until the chief has logged this step or a later one.
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

// loggedStep matches the output of LoggingTensorHook.
var loggedStep = regexp.MustCompile(`:step = (\d+)`)

func nothing(*testing.T, *betweenRun) {}

// killServer kills a server after a number of steps, and starts it again.
func killServer(task string, after int) func(*testing.T, *betweenRun) {
	return func(t *testing.T, r *betweenRun) {
		r.reach(t, after)
		r.cluster.kill(task)
		r.cluster.start(t, task)
	}
}

// killEach kills in turn a parameter server, the masters of all workers and the chief's client, and starts each again.
func killEach(t *testing.T, r *betweenRun) {
	killServer("ps/1", 200)(t, r)
	for i := range r.clients {
		killServer("worker/"+strconv.Itoa(i), 600+200*i)(t, r)
	}
	r.reach(t, 1000)
	r.clients[0].kill()
	r.clients[0] = r.client(t, 0)
}
