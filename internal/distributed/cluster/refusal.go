package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// explainTLS returns why a handshake says that the peer will not talk and what
// to do, nil where it does not: a connection that breaks says nothing.
func explainTLS(err error) error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	var alert *net.OpError
	switch {
	case errors.As(err, &authority):
		return fmt.Errorf("its certificate is not signed by this task's rpc.ca_file: give all tasks the same CA: %w", err)
	case errors.As(err, &name):
		return fmt.Errorf("its certificate is for other names than it is called by: issue it with this host among its subject alternative names, or set rpc.server_name: %w", err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("its certificate is expired or not valid yet: replace its rpc.cert_file, or set the clocks: %w", err)
	case errors.As(err, &invalid):
		return fmt.Errorf("its certificate cannot be used: replace its rpc.cert_file: %w", err)
	case errors.As(err, &header):
		return fmt.Errorf("it does not speak TLS: set rpc.cert_file and rpc.key_file for it as well: %w", err)
	case errors.As(err, &alert) && alert.Op == "remote error": // how crypto/tls names an alert
		return fmt.Errorf("it refuses this task's connection: check this task's rpc.cert_file (signed by the CA that the peer trusts, not expired) and rpc.key_file: %w", err)
	}
	return nil
}

// errWantsTLS is of a server that answers plaintext with an alert.
var errWantsTLS = errors.New("it wants TLS, and this task has no certificates: set rpc.ca_file (and rpc.cert_file and rpc.key_file) for this task as well")

// First bytes of TLS records.
const (
	recordAlert     = 0x15
	recordHandshake = 0x16
)

var (
	// tlsAlert is what a TLS server tells a caller that does not speak it: a fatal alert, "protocol version".
	tlsAlert = []byte{recordAlert, 3, 3, 0, 2, 2, 70}
	// emptySettings is the HTTP/2 frame that a plaintext server starts with.
	emptySettings = []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
)

// sniff reads the first byte that a caller sends. It refuses a caller that speaks
// TLS where this task does not, or the other way round, so that the caller can
// report why. The caller's bytes are read again from the result.
func sniff(raw net.Conn, secured bool) (net.Conn, error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(raw, first); err != nil {
		return raw, err
	}
	switch callerSecured := first[0] == recordHandshake; {
	case secured && !callerSecured:
		dismiss(raw, tlsAlert)
		return raw, errors.New("the caller speaks plaintext, this task TLS: set rpc.ca_file for the caller as well")
	case !secured && callerSecured:
		dismiss(raw, emptySettings)
		return raw, errors.New("the caller speaks TLS, this task has no certificates: set rpc.cert_file and rpc.key_file for it")
	}
	return &prefixedConn{Conn: raw, prefix: first}, nil
}

// dismiss tells the caller why, and waits a moment for it to hang up.
func dismiss(c net.Conn, why []byte) {
	c.SetDeadline(time.Now().Add(alertTime))
	if _, err := c.Write(why); err != nil {
		return
	}
	closeWrite(c)
	linger(c)
}

// prefixedConn is a connection with some bytes that were read already.
type prefixedConn struct {
	net.Conn
	prefix []byte
}

func (c *prefixedConn) Read(p []byte) (int, error) {
	if len(c.prefix) > 0 && len(p) > 0 {
		n := copy(p, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Direct returns the connection below, to which the same may be written.
func (c *prefixedConn) Direct() net.Conn { return c.Conn }

// limiter lets something happen at most once in a while.
type limiter struct {
	every time.Duration
	mu    sync.Mutex
	last  time.Time
}

func (l *limiter) allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.last.IsZero() && now.Sub(l.last) < l.every {
		return false
	}
	l.last = now
	return true
}
