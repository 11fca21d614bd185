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

// explainTLS returns why the peer refuses a TLS handshake and what to do, or nil if the error does not say
// so: a broken connection explains nothing.
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
	case errors.As(err, &alert) && alert.Op == "remote error": // crypto/tls's name for an alert
		return fmt.Errorf("it refuses this task's connection: check this task's rpc.cert_file (signed by the CA that the peer trusts, not expired) and rpc.key_file: %w", err)
	}
	return nil
}

// errWantsTLS is the error for a server that answers plaintext with an alert.
var errWantsTLS = errors.New("it wants TLS, and this task has no certificates: set rpc.ca_file (and rpc.cert_file and rpc.key_file) for this task as well")

// First bytes of TLS records.
const (
	recordAlert     = 0x15
	recordHandshake = 0x16
)

var (
	// tlsAlert is a TLS server's answer to a caller without TLS: a fatal alert, "protocol version".
	tlsAlert = []byte{recordAlert, 3, 3, 0, 2, 2, 70}
	// emptySettings is the first HTTP/2 frame of a plaintext server.
	emptySettings = []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
)

// sniff reads the first byte that a caller sends. If only one side uses TLS, it refuses the caller, so that
// the caller can report why. The returned connection repeats the byte.
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

// dismiss sends the caller the reason, and waits a moment for it to close the connection.
func dismiss(c net.Conn, why []byte) {
	c.SetDeadline(time.Now().Add(alertTime))
	if _, err := c.Write(why); err != nil {
		return
	}
	closeWrite(c)
	linger(c)
}

// prefixedConn is a connection with bytes that were read already.
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

// Direct returns the connection below, for writing.
func (c *prefixedConn) Direct() net.Conn { return c.Conn }

// limiter limits how often something happens.
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
