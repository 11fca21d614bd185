package interop_test

import (
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostedTime bounds a script of the host. Where it is over there is time left to say where all stand.
func hostedTime(t *testing.T) time.Duration {
	bound := 8 * time.Minute // the end of a session at servers of TensorFlow took 2.5 minutes once
	if longForm() {
		bound = scriptTime
	}
	if end, ok := t.Deadline(); ok {
		bound = min(bound, time.Until(end)-30*time.Second)
	}
	return bound
}

// stacks is what the script and the servers of its cluster have logged and where their threads stand. It ends our servers.
func (s *pythonScript) stacks() string {
	select {
	case <-s.started:
	case <-s.done:
		return s.explain()
	}
	_ = syscall.Kill(s.pid, syscall.SIGQUIT)
	for range 100 { // the process writes when it has a processor
		if strings.Contains(s.said(), "most recent call first") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if s.cluster == nil {
		return s.explain()
	}
	return s.explain() + s.cluster.stacks()
}

// stacks is what the servers have logged and where their threads stand. It ends ours.
func (c *testCluster) stacks() string {
	var all strings.Builder
	for _, task := range slices.Sorted(maps.Keys(c.servers)) {
		all.WriteString("\n== " + task + "\n" + c.servers[task].stacks())
		if c.ours[task] {
			delete(c.servers, task)
		}
	}
	return all.String()
}

func (s *ourServer) stacks() string {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	hurry := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer hurry.Stop()
	_ = s.cmd.Wait()
	return tail(s.log.String(), 200_000)
}

// TestStacksOfClusters: a script that waits for ever is reported with its stack and that of our server.
func TestStacksOfClusters(t *testing.T) {
	peers(t)
	c := newCluster(t, map[string]int{"worker": 1, "ps": 1}, "worker", "ps")
	s := c.script(t, nil, "cluster_server.py", c.json(t), "ps", "0") // it waits in TensorFlow's server_lib.py: in join, or still in start
	s.until(t, "servers that listen", func(string) bool { return listens(c.addresses["ps"][0]) && listens(c.addresses["worker"][0]) })
	said := s.stacks()
	for _, want := range []string{"cluster_server.py still runs", "most recent call first", "server_lib.py", "== worker/0\n", "goroutine 1 "} {
		if !strings.Contains(said, want) {
			t.Errorf("expected %q in\n%s", want, said)
		}
	}
}

func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}
