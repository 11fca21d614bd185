package admission

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Refusal is the data that a refused connection reads: a reply, or its equivalent in another protocol.
type Refusal []byte

// NoRoom is the reason why a connection gets no place.
const NoRoom = "all connections of the server are in use: try again later"

// HTTPRefusal is an HTTP reply, 503.
func HTTPRefusal(why string) Refusal {
	body := fmt.Sprintf("{\"error\": %q}\n", why)
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// GRPCRefusal is an HTTP/2 GOAWAY frame, ENHANCE_YOUR_CALM, after which gRPC clients connect again later.
func GRPCRefusal() Refusal {
	const settings, goAway, calm = 4, 7, 11
	b := []byte{0, 0, 0, settings, 0, 0, 0, 0, 0}
	b = append(b, 0, 0, byte(8+len(NoRoom)), goAway, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	return append(binary.BigEndian.AppendUint32(b, calm), NoRoom...)
}

const (
	// lingering is how long a refused connection may take to read the reason. If it were closed at once, it might be reset before.
	lingering = time.Second
	// mostLingering is how many connections may do so at the same time; others are closed without a reason.
	mostLingering = 64
)

// refusals are the refused connections of a listener.
type refusals struct {
	text Refusal
	now  atomic.Int64
}

// refuse closes a connection after it was sent the reason.
func (r *refusals) refuse(c net.Conn) {
	if r == nil || len(r.text) == 0 {
		_ = c.Close()
		return
	}
	if r.now.Add(1) > mostLingering {
		r.now.Add(-1)
		_ = c.Close()
		return
	}
	go func() {
		defer r.now.Add(-1)
		defer func() { _ = c.Close() }()
		say(c, r.text)
	}()
}

// halfCloser is a connection that can be closed for writing.
type halfCloser interface{ CloseWrite() error }

// say writes the last data of a connection, and gives the client time to read it.
func say(c net.Conn, text Refusal) {
	if _, err := c.Write(text); err != nil {
		return
	}
	if half, ok := c.(halfCloser); ok {
		_ = half.CloseWrite()
	}
	_ = c.SetReadDeadline(time.Now().Add(lingering))
	_, _ = io.Copy(io.Discard, io.LimitReader(c, 1<<20))
}
