package admission

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
)

// MaxHeaderLines is the most header lines of an HTTP/1 request. Package net/http limits only their bytes, and a line of three bytes takes a
// hundred in its maps. Apache's servers have the same limit.
const MaxHeaderLines = 100

// HTTPServer is an HTTP/1 http.Server whose requests have bounded headers: an HTTP/2 connection could have hundreds of requests, each with
// its headers.
type HTTPServer struct {
	*http.Server
	secure *tls.Config // nil: no TLS
}

// BoundHTTP bounds the headers of a server. Its connections must come through Serve.
func BoundHTTP(s *http.Server) HTTPServer {
	secure := HTTP1(s.TLSConfig)
	s.TLSConfig = nil // net/http gets connections without the TLS layer
	s.MaxHeaderBytes, s.ConnContext, s.Handler = MaxHeaders, ConnContext, fewLines(s.Handler)
	state := s.ConnState
	s.ConnState = func(c net.Conn, now http.ConnState) {
		if c, ok := c.(interface{ setState(http.ConnState) }); ok {
			c.setState(now)
		}
		if state != nil {
			state(c, now)
		}
	}
	return HTTPServer{s, secure}
}

// Serve serves as http.Server.Serve does, or as ServeTLS if the server has a TLSConfig.
func (s HTTPServer) Serve(l net.Listener) error {
	return s.Server.Serve(httpListener{l, s})
}

// fewLines refuses requests with too many header lines that arrived with the previous request's body, where connections do not count them,
// and drops the lines after bodies.
func fewLines(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines := 0
		for _, values := range r.Header {
			lines += len(values)
		}
		if lines > MaxHeaderLines {
			w.Header().Set("Connection", "close")
			http.Error(w, tooManyLines, http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		if r.ContentLength < 0 { // chunked, so trailers may follow
			r.Body = untrailed{r.Body, r}
		}
		h.ServeHTTP(w, r)
	})
}

// untrailed is a request body that drops its trailers: they are not used, and 4 KiB hold many lines.
type untrailed struct {
	io.ReadCloser
	of *http.Request
}

// Read implements io.Reader.
func (b untrailed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.of.Trailer = nil
	}
	return n, err
}

// httpListener accepts connections whose headers are bounded.
type httpListener struct {
	net.Listener
	server HTTPServer
}

// Accept implements net.Listener.
func (l httpListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.server.secure != nil {
		t := tls.Server(c, l.server.secure)
		return &httpsConn{httpConn{Conn: t}, t, l.server.Server}, nil
	}
	return &httpConn{Conn: c}, nil
}

// httpConn is a connection for one request after the other. It counts the header lines as they arrive.
type httpConn struct {
	net.Conn
	begun bool // the headers have arrived: the body follows

	// of the headers that come
	lines int
	text  bool // the current line is not empty
}

// setState records when a request begins and when it was read. It is called by the goroutine that reads headers.
func (c *httpConn) setState(now http.ConnState) {
	switch now {
	case http.StateActive:
		c.begun = true
	case http.StateIdle:
		c.begun, c.lines, c.text = false, 0, false
	}
}

// Read implements net.Conn. It answers a request with too many lines and ends the connection.
func (c *httpConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.begun && !c.count(b[:n]) {
		say(c.Conn, Refusal("HTTP/1.1 "+tooManyLines+"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"+tooManyLines))
		return 0, io.EOF
	}
	return n, err
}

// CloseWrite closes the connection for writing. net/http calls it if a client may not have read everything.
func (c *httpConn) CloseWrite() error {
	if half, ok := c.Conn.(halfCloser); ok {
		return half.CloseWrite()
	}
	return nil
}

// count counts header lines; it returns false if there are too many. An empty line ends headers. It may also come before them, or after
// lines that arrived with the previous request's body: then the rest of b is not counted either.
func (c *httpConn) count(b []byte) bool {
	for _, x := range b {
		switch {
		case x != '\n':
			c.text = c.text || x != '\r'
			continue
		case c.text:
			c.lines++
		default: // a body may follow
			c.begun = c.lines > 0
			return true
		}
		if c.text = false; c.lines > 1+MaxHeaderLines { // the first is the request line
			return false
		}
	}
	return true
}

// tooManyLines is the answer of net/http to too many bytes.
const tooManyLines = "431 Request Header Fields Too Large"
