package admission

import (
	"net"

	"golang.org/x/sys/unix"
)

// established is the state of a TCP connection whose two sides are open.
const established = 1

// peerClosed reports whether the other side of a connection has closed it, perhaps before all that it sent was read.
func peerClosed(c net.Conn) (closed bool) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // an error: closed on this side
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State != established
	})
	return closed
}
