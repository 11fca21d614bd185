package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A page has a limit on connections, so that clients cannot use up the process's open files. If silent connections reach the limit, a new
// one is still served, and the one that was silent longest is closed.
func TestConnectionsOfAPage(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	at, stop, err := servePage(context.Background(), "127.0.0.1:0", hello, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var all []net.Conn
	for range pageConnections {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	last, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	if _, err := io.WriteString(last, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(last); err != nil || !strings.HasSuffix(string(b), "hello") {
		t.Errorf("got %q and %v of a connection that comes when all places are taken", b, err)
	}
	_ = all[0].SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := all[0].Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %d bytes and %v of the connection that was silent longest, expected its end", n, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
