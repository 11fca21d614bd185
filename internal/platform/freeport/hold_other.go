//go:build !linux

package freeport

import "net"

// hold asks for a port and releases it at once: other systems do not let a
// second socket of another process use it.
func hold() (port int, release func() error, err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	return l.Addr().(*net.TCPAddr).Port, func() error { return nil }, l.Close()
}
