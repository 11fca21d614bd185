package admission

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
)

// MaxHeaderLines are the lines of the headers of a request over HTTP/1. Package net/http bounds their bytes alone, and a line of three bytes
// takes a hundred in its maps. Apache's servers take as many.
const MaxHeaderLines = 100

// HTTPServer is an http.Server of HTTP/1 whose requests have bounded headers: a connection of HTTP/2 would have hundreds of requests, and
// as many headers.
type HTTPServer struct {
	*http.Server
	secure *tls.Config // nil: no TLS
}

// BoundHTTP bounds the headers of a server, whose connections it is to get by Serve.
func BoundHTTP(s *http.Server) HTTPServer {
	secure := HTTP1(s.TLSConfig)
	s.TLSConfig = nil // net/http gets connections on which TLS has been taken off
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

// Serve is that of http.Server, and its ServeTLS where the server has a TLSConfig.
func (s HTTPServer) Serve(l net.Listener) error {
	return s.Server.Serve(httpListener{l, s})
}

// fewLines refuses requests with too many lines that came with the body of the request before them, where connections do not count, and
// drops the lines behind bodies.
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
		if r.ContentLength < 0 { // in chunks, which trailers may follow
			r.Body = untrailed{r.Body, r}
		}
		h.ServeHTTP(w, r)
	})
}

// untrailed is the body of a request that drops its trailers: nobody reads them, and lines are as many as fit into 4 KiB.
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

// httpListener hands out connections whose headers are bounded.
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

// httpConn is a connection on which requests follow each other. It counts the lines of their headers as they come.
type httpConn struct {
	net.Conn
	begun bool // the headers of the request have come: what follows is its body

	// of the headers that come
	lines int
	text  bool // the present line has some
}

// setState notes when a request begins and when it has been read. It is called by the goroutine that reads headers.
func (c *httpConn) setState(now http.ConnState) {
	switch now {
	case http.StateActive:
		c.begun = true
	case http.StateIdle:
		c.begun, c.lines, c.text = false, 0, false
	}
}

// Read implements net.Conn. A request with too many lines is answered here, and is the end of the connection.
func (c *httpConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.begun && !c.count(b[:n]) {
		say(c.Conn, Refusal("HTTP/1.1 "+tooManyLines+"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"+tooManyLines))
		return 0, io.EOF
	}
	return n, err
}

// CloseWrite is that of the connection, which net/http calls where a client may not have read all.
func (c *httpConn) CloseWrite() error {
	if half, ok := c.Conn.(halfCloser); ok {
		return half.CloseWrite()
	}
	return nil
}

// count counts the lines of headers; false: there are too many. An empty line ends headers. It may also be before them, or their lines came
// with the body of the request before: then what follows in b stays uncounted, as these did.
func (c *httpConn) count(b []byte) bool {
	for _, x := range b {
		switch {
		case x != '\n':
			c.text = c.text || x != '\r'
			continue
		case c.text:
			c.lines++
		default: // behind it there may be a body
			c.begun = c.lines > 0
			return true
		}
		if c.text = false; c.lines > 1+MaxHeaderLines { // the first is the request's
			return false
		}
	}
	return true
}

// tooManyLines is what net/http says where there are too many bytes.
const tooManyLines = "431 Request Header Fields Too Large"
