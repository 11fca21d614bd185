package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// listeners are where a Server takes requests. A port has no listener, one, or two for both loopback addresses.
type listeners struct {
	grpc, rest []net.Listener
	socket     net.Listener // nil: none
}

// open listens at all addresses, or after an error at none.
func (l Listen) open() (ls listeners, err error) {
	defer func() {
		if err != nil {
			ls.close()
		}
	}()
	if ls.grpc, err = l.tcp("gRPC", l.Port); err != nil {
		return ls, err
	}
	if ls.rest, err = l.tcp("REST", l.REST); err != nil {
		return ls, err
	}
	if l.Socket != "" {
		ls.socket, err = listenUnix(l.Socket)
	}
	return ls, err
}

func (l Listen) tcp(what string, port int) (ls []net.Listener, err error) {
	switch {
	case port < 0:
		return nil, nil
	case l.Host == "" || l.Host == "localhost":
		ls, err = onLoopback(net.Listen, port)
	default:
		var lis net.Listener
		if lis, err = net.Listen("tcp", net.JoinHostPort(l.Host, strconv.Itoa(port))); err == nil {
			ls = []net.Listener{lis}
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s port %d is taken by another process: choose another, or 0 for a free one: %w", what, port, err)
	case err != nil:
		return nil, fmt.Errorf("%s port: %w", what, err)
	}
	return ls, nil
}

// freePorts is the number of free ports of 127.0.0.1 to try: another process may have the same port of [::1].
const freePorts = 50

// onLoopback listens at 127.0.0.1 and [::1] on the same port, so that localhost is this server, whichever address a client
// resolves it to. If the machine has only one of the addresses, it listens there.
func onLoopback(listen func(network, address string) (net.Listener, error), port int) ([]net.Listener, error) {
	for try := 1; ; try++ {
		four, err := listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
		same := port
		if err == nil {
			same = four.Addr().(*net.TCPAddr).Port
		}
		six, err6 := listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(same)))
		switch taken := errors.Is(err6, syscall.EADDRINUSE); {
		case err != nil && err6 != nil:
			return nil, err
		case err != nil:
			return []net.Listener{six}, nil
		case err6 == nil:
			return []net.Listener{four, six}, nil
		case !taken:
			return []net.Listener{four}, nil
		case port != 0 || try == freePorts:
			return nil, errors.Join(err6, four.Close())
		}
		if err := four.Close(); err != nil {
			return nil, err
		}
	}
}

// remote reports whether other machines can reach any of ls.
func remote(ls []net.Listener) bool {
	return slices.ContainsFunc(ls, func(l net.Listener) bool {
		at, ok := l.Addr().(*net.TCPAddr)
		return ok && !at.IP.IsLoopback()
	})
}

// listenUnix listens on a Unix socket. It replaces a socket on which no server
// answers.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("socket %s: another server answers there", path), c.Close())
		}
		if !errors.Is(err, syscall.ECONNREFUSED) { // such as EAGAIN: the server's queue is full
			return nil, fmt.Errorf("socket %s: whether another server answers there is not known: remove the socket if none does: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("socket %s: %w", path, err)
		}
	}
	lis, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	return lis, nil
}

func (ls listeners) close() {
	for _, l := range slices.Concat(ls.grpc, ls.rest, ls.sockets()) {
		_ = l.Close() // the server may have closed it already
	}
}

func (ls listeners) sockets() []net.Listener {
	if ls.socket == nil {
		return nil
	}
	return []net.Listener{ls.socket}
}

// addresses returns where ls listen.
func addresses(ls []net.Listener) (at []string) {
	for _, l := range ls {
		at = append(at, l.Addr().String())
	}
	return at
}

// firstAddress returns the address that the Server reports, "" for none.
func firstAddress(ls []net.Listener) string {
	if len(ls) == 0 {
		return ""
	}
	return ls[0].Addr().String()
}
