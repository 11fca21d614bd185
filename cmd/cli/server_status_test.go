package cli

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// A page takes so many connections and no more, so that clients cannot use up the process's open files; connections within the bound are answered.
func TestConnectionsOfAPage(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	at, stop, err := servePage(context.Background(), "127.0.0.1:0", hello, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var all []net.Conn
	for range pageConnections + 1 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	last := all[pageConnections]
	_ = last.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := last.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		t.Errorf("got %d bytes and %v of a connection too many, expected its end", n, err)
	}
	if _, err := io.WriteString(all[0], "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(all[0]); err != nil || len(b) < 5 || string(b[len(b)-5:]) != "hello" {
		t.Errorf("got %q and %v of the first connection", b, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
