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

// hostedTime limits the time of a script. It leaves time before the test's deadline to print stacks.
func hostedTime(t *testing.T) time.Duration {
	bound := 8 * time.Minute // closing a session on TensorFlow's servers once took 2.5 minutes
	if longForm() {
		bound = scriptTime
	}
	if end, ok := t.Deadline(); ok {
		bound = min(bound, time.Until(end)-30*time.Second)
	}
	return bound
}

// stacks returns the logs and stacks of the script and of the servers in its cluster. It ends our servers.
func (s *pythonScript) stacks() string {
	select {
	case <-s.started:
	case <-s.done:
		return s.explain()
	}
	_ = syscall.Kill(s.pid, syscall.SIGQUIT)
	for range 100 { // the process may wait for a processor before it writes
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

// stacks returns the logs and stacks of the servers. It ends our servers.
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

// TestStacksOfClusters: a script that never ends is reported with its stack and our server's.
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
