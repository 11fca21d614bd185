package freeport

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hold binds a socket that does not listen.
func hold() (port int, release func() error, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("socket: %w", err)
	}
	release = func() error { return unix.Close(fd) }
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		_ = release() // the error is known
		return 0, nil, fmt.Errorf("bind: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		_ = release() // the error is known
		return 0, nil, fmt.Errorf("getsockname: %w", err)
	}
	return name.(*unix.SockaddrInet4).Port, release, nil
}
