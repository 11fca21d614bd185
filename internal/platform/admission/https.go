package admission

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// httpsConn is an httpConn over TLS. Package net/http recognizes TLS connections only by their type, so httpsConn makes the handshake.
type httpsConn struct {
	httpConn
	tls    *tls.Conn
	server *http.Server
}

// ConnectionState is tls.Conn's state after the handshake. Package net/http asks for it before it reads.
func (c *httpsConn) ConnectionState() tls.ConnectionState {
	if err := c.handshake(); err != nil {
		if c.server.ErrorLog != nil {
			c.server.ErrorLog.Printf("http: TLS handshake error from %v: %v", c.RemoteAddr(), err)
		}
		_ = c.Close() // nothing can be read
	}
	return c.tls.ConnectionState()
}

func (c *httpsConn) handshake() error {
	_ = c.SetDeadline(time.Now().Add(c.server.ReadHeaderTimeout))
	err := c.tls.Handshake()
	_ = c.SetDeadline(time.Time{})
	var other tls.RecordHeaderError
	if errors.As(err, &other) && other.Conn != nil && likeHTTP(other.RecordHeader) {
		_, _ = io.WriteString(other.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		return errors.New("client sent an HTTP request to an HTTPS server")
	}
	return err
}

// likeHTTP reports whether a client's first bytes begin a request without TLS.
func likeHTTP(b [5]byte) bool {
	switch string(b[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		return true
	}
	return false
}

// HTTP1 returns settings that offer clients only HTTP/1.
func HTTP1(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.NextProtos = []string{"http/1.1"}
	ask := c.GetConfigForClient
	if ask == nil {
		return c
	}
	type pair struct{ from, to *tls.Config }
	var last atomic.Pointer[pair] // the same settings for many clients, since they have the keys for session resumption
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		from, err := ask(hello)
		if from == nil || err != nil {
			return nil, err
		}
		if p := last.Load(); p != nil && p.from == from {
			return p.to, nil
		}
		to := HTTP1(from)
		last.Store(&pair{from, to})
		return to, nil
	}
	return c
}
