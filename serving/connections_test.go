package serving

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestKeptConnectionsAreClosedByAReply: a client that keeps its connection is told to let go of it before the server
// does, so that no request of its crosses the end.
func TestKeptConnectionsAreClosedByAReply(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Drain: 4 * patience}).wait(t)
	s.farewell = patience
	conn, err := net.Dial("tcp", s.Addresses().REST)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	replies := bufio.NewReader(conn)
	ask := func() *http.Response {
		t.Helper()
		body := `{"instances": [1]}`
		fmt.Fprintf(conn, "POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(replies, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text [100]byte
		n, _ := resp.Body.Read(text[:])
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", resp.Status, text[:n])
		}
		return resp
	}
	if ask().Close {
		t.Error("the connection is closed while the server runs")
	}
	s.stop()
	<-s.draining.Done()
	if !ask().Close {
		t.Error("the connection is kept while the server drains")
	}
	err = <-s.done // with the last connection the wait is over
	s.done <- err
	if err != nil {
		t.Error(err)
	}
}
