package admission

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// serveHTTP serves a handler that reads bodies; dial connects a client.
func serveHTTP(t *testing.T, secure bool) (dial func() net.Conn) {
	t.Helper()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, len(b), r.TLS != nil && r.TLS.HandshakeComplete)
		if len(r.Trailer) > 0 {
			fmt.Fprint(w, " trailers: ", r.Trailer)
		}
	})
	var open sync.WaitGroup // connections; one that is refused lingers
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, now http.ConnState) {
		switch now {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Done()
		}
	}}
	dial = func() net.Conn { return nil }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if secure {
		known := httptest.NewTLSServer(nil)
		defer known.Close()
		s.TLSConfig = known.TLS
	}
	served := BoundHTTP(s)
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(NewPlaces(16, nil).Listener(l)) }()
	t.Cleanup(func() {
		_ = served.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
		open.Wait()
	})
	return func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if secure {
			t := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
			return t
		}
		return c
	}
}

// requestOf is a request with that many header lines, and a body.
func requestOf(lines int, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n", len(body))
	for i := 2; i < lines; i++ {
		fmt.Fprintf(&b, "a%d:\n", i)
	}
	return b.String() + "\r\n" + body
}

func TestHeaderLines(t *testing.T) {
	lines := strings.Repeat("\n", 3*4096)
	fits, long := requestOf(MaxHeaderLines, lines), requestOf(MaxHeaderLines+2, "")
	for _, secure := range []bool{false, true} {
		ok := fmt.Sprint("200 ", len(lines), secure)
		none := fmt.Sprint("200 ", 0, secure)
		dial := serveHTTP(t, secure)
		for name, test := range map[string]struct {
			sent string
			want []string
		}{
			"as many as may be":               {fits, []string{ok}},
			"one more":                        {long, []string{"431 431 Request Header Fields Too Large"}},
			"of the second request":           {fits + long, []string{ok, "431 431 Request Header Fields Too Large"}},
			"after empty lines":               {fits + "\r\n\n" + long, []string{ok, "431 431 Request Header Fields Too Large"}},
			"requests that follow each other": {fits + fits + requestOf(2, "") + fits, []string{ok, ok, none, ok}},
			"trailers": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: b\r\n\r\n2\r\nxx\r\n0\r\na: 1\r\nb: 2\r\n\r\n" + fits,
				[]string{fmt.Sprint("200 ", 2, secure), ok}},
			"a line that does not end": {requestOf(2, "") + strings.Repeat("x", 2*MaxHeaders), []string{none, "431 431 Request Header Fields Too Large"}},
			"headers that do not end":  {strings.TrimSuffix(requestOf(1000, ""), "\r\n"), []string{"431 431 Request Header Fields Too Large"}},
		} {
			for _, slow := range []bool{false, true} {
				c := dial()
				go func() {
					r := io.Reader(strings.NewReader(test.sent))
					if slow {
						r = iotest.OneByteReader(r)
					}
					_, _ = io.Copy(struct{ io.Writer }{c}, r) // refused: the rest is not read
				}()
				replies := bufio.NewReader(c)
				for i, want := range test.want {
					resp, err := http.ReadResponse(replies, nil)
					if err != nil {
						t.Errorf("%s, TLS %v, slow %v: reply %d: %v", name, secure, slow, i, err)
						break
					}
					body, err := io.ReadAll(resp.Body)
					if got := fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body))); got != want || err != nil {
						t.Errorf("%s, TLS %v, slow %v: reply %d is %q, %v, expected %q", name, secure, slow, i, got, err, want)
					}
				}
				_ = c.Close()
			}
		}
	}
}

// A body does not count as headers, wherever the request was split: here its headers came with the previous request, except for the last newline.
func TestBodyOfLines(t *testing.T) {
	body := strings.Repeat("x\n", 2*MaxHeaderLines)
	request := requestOf(MaxHeaderLines, body)
	head := len(request) - len(body)
	for back := range 5 {
		c := serveHTTP(t, false)()
		replies := bufio.NewReader(c)
		for i, sent := range []string{request + request[:head-back], request[head-back:]} {
			if _, err := io.WriteString(c, sent); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(replies, nil)
			if err != nil {
				t.Fatalf("split %d before the body: %v", back, err)
			}
			got, err := io.ReadAll(resp.Body)
			if want := fmt.Sprint(len(body), false); string(got) != want || err != nil {
				t.Errorf("split %d before the body: reply %d is %q, %v, expected %q", back, i, got, err, want)
			}
		}
	}
}

// Over TLS, clients are offered only HTTP/1, even if settings are requested per client, and sessions resume.
func TestHTTP1(t *testing.T) {
	asked := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	c := HTTP1(&tls.Config{NextProtos: []string{"h2"}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return asked, nil }})
	first, _ := c.GetConfigForClient(nil)
	again, _ := c.GetConfigForClient(nil)
	if len(first.NextProtos) != 1 || first.NextProtos[0] != "http/1.1" || len(c.NextProtos) != 1 || first != again {
		t.Errorf("offered %q and %q, the same settings %v", c.NextProtos, first.NextProtos, first == again)
	}
	asked = &tls.Config{ServerName: "new"}
	if changed, _ := c.GetConfigForClient(nil); changed.ServerName != "new" {
		t.Error("new settings are not used")
	}
	if HTTP1(nil) != nil {
		t.Error("settings where there are none")
	}
}
