package cluster

import (
	"net"
	"testing"
)

// watched is an open connection.
func watched(t *testing.T) *watchedConn {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return &watchedConn{Conn: a}
}

// A process that has reconnected keeps its task when its previous connection is found to be lost.
func TestClaimOfAProcessThatConnectedAnew(t *testing.T) {
	var c claims
	task := Task{Job: "worker"}
	lost, anew, other := watched(t), watched(t), watched(t)
	for _, conn := range []*watchedConn{lost, anew} {
		if _, taken := c.rival(Peer{Task: task, Incarnation: 1}, conn); taken {
			t.Fatal("a process is its own rival")
		}
	}
	lost.Close()
	if held, taken := c.rival(Peer{Task: task, Incarnation: 2}, other); !taken || held.conn != anew {
		t.Errorf("another process has the task of one that is connected: %v", taken)
	}
	anew.Close()
	if _, taken := c.rival(Peer{Task: task, Incarnation: 2}, other); taken {
		t.Error("a process that has ended has its task")
	}
}
