package admission

import (
	"net"

	"golang.org/x/sys/unix"
)

// established is the state of a TCP connection that is open on both sides.
const established = 1

// peerClosed reports whether the other side of a connection has closed it, even before everything that it sent was
// read.
func peerClosed(c net.Conn) (closed bool) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // fails if this side has closed it
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State != established
	})
	return closed
}
