package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// listeners are the places where a Server takes requests; nil where there is none.
type listeners struct{ grpc, rest, socket net.Listener }

// open listens at all places, or at none.
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

func (l Listen) tcp(what string, port int) (net.Listener, error) {
	if port < 0 {
		return nil, nil
	}
	lis, err := net.Listen("tcp", net.JoinHostPort(l.Host, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s port %d is taken by another process: choose another, or 0 for a free one: %w", what, port, err)
	case err != nil:
		return nil, fmt.Errorf("%s port: %w", what, err)
	}
	return lis, nil
}

// listenUnix listens on a Unix socket. A socket that a server has left behind
// makes way; one that answers does not.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("socket %s: another server answers there", path), c.Close())
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
	for _, l := range []net.Listener{ls.grpc, ls.rest, ls.socket} {
		if l != nil {
			_ = l.Close() // a server may have closed it already
		}
	}
}

// address is where l listens, "" where it is nil.
func address(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}
