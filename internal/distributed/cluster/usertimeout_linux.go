package cluster

import (
	"net"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not name.
const tcpUserTimeout = 18

// loseAfter makes the system end a connection if the peer's host acknowledges
// nothing for d. This also detects a network that drops only this connection, and
// not the gRPC connection that it belongs to.
func loseAfter(c net.Conn, d time.Duration) {
	if p, ok := c.(*prefixedConn); ok {
		c = p.Conn
	}
	t, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	// Without it, the system's own timeout of minutes applies.
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d/time.Millisecond))
	})
}
