//go:build !linux

package admission

import "net"

// peerClosed reports whether the other side of a connection has closed it. This system shows it only after everything was read.
func peerClosed(net.Conn) bool { return false }
