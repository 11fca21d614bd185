//go:build !linux

package cluster

import (
	"net"
	"time"
)

// loseAfter does nothing: the system's own timeout applies.
func loseAfter(net.Conn, time.Duration) {}
