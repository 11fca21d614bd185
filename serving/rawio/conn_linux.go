package rawio

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// small is the most bytes that a bare system call copies: longer ones would keep the garbage collector waiting.
const small = 64 << 10

// Wrap returns c with quick reads and writes where it is a TCP or Unix stream, else c. All else, such as deadlines and Close, is
// c's; it is safe for concurrent use as c is.
func Wrap(c net.Conn) net.Conn {
	var raw syscall.RawConn
	var err error
	switch c := c.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		if c.LocalAddr().Network() != "unix" {
			return c // a read of no bytes is no end there
		}
		raw, err = c.SyscallConn()
	default:
		return c
	}
	if err != nil {
		return c
	}
	w := &conn{Conn: c, raw: raw}
	w.in.init(syscall.SYS_READ)
	w.out.init(syscall.SYS_WRITE)
	return w
}

type conn struct {
	net.Conn
	raw     syscall.RawConn
	in, out side
}

// side is one direction of a connection.
type side struct {
	mu    sync.Mutex
	call  uintptr // number of the system call
	p     []byte
	n     int
	errno syscall.Errno
	try   func(fd uintptr) bool // made once: it would be garbage otherwise
}

func (s *side) init(call uintptr) {
	s.call = call
	s.try = s.once
}

// once makes the system call; false where the socket is not ready.
func (s *side) once(fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(s.call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(s.p))), uintptr(len(s.p)))
		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		case 0:
			s.n, s.errno = int(n), 0
		default:
			s.n, s.errno = 0, errno
		}
		return true
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 || len(p) > small {
		return c.Conn.Read(p)
	}
	s := &c.in
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p = p
	err := c.raw.Read(s.try)
	s.p = nil
	switch {
	case err != nil:
		return 0, c.failed("read", err)
	case s.errno != 0:
		return 0, c.failed("read", os.NewSyscallError("read", s.errno))
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) == 0 || len(p) > small {
		return c.Conn.Write(p)
	}
	s := &c.out
	s.mu.Lock()
	defer s.mu.Unlock()
	written := 0
	for written < len(p) {
		s.p = p[written:]
		err := c.raw.Write(s.try)
		s.p = nil
		if err == nil && s.errno != 0 {
			err = os.NewSyscallError("write", s.errno)
		}
		if err != nil {
			return written, c.failed("write", err)
		}
		written += s.n
	}
	return written, nil
}

// failed gives an error the form of package net's.
func (c *conn) failed(op string, err error) error {
	if of := (*net.OpError)(nil); errors.As(err, &of) {
		err = of.Err
	}
	return &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// SyscallConn implements syscall.Conn.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return c.raw, nil }

// CloseWrite ends what is sent, as net.TCPConn's and net.UnixConn's do: TLS and HTTP part in that way.
func (c *conn) CloseWrite() error { return c.Conn.(interface{ CloseWrite() error }).CloseWrite() }
