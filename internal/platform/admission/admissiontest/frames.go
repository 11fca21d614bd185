package admissiontest

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// Frames is an HTTP/2 connection used frame by frame: it opens windows and reads as the test likes.
type Frames struct {
	net.Conn
	t      testing.TB
	last   uint32 // number of the last stream
	failed bool   // a frame could not be sent
}

// initialWindow is a setting of HTTP/2.
const initialWindow = 4

// Types of frames of HTTP/2.
const (
	DataFrame         = 0
	HeadersFrame      = 1
	ResetFrame        = 3
	SettingsFrame     = 4
	PingFrame         = 6
	WindowUpdateFrame = 8
)

// DialFrames connects to a plaintext server and sets the initial window of each stream.
func DialFrames(t testing.TB, address string, window uint32) *Frames {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	f := &Frames{Conn: c, t: t}
	setting := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, initialWindow), window)
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	f.Send(SettingsFrame, 0, 0, setting)
	return f
}

// Send writes a frame, if the connection still exists.
func (f *Frames) Send(kind, flags byte, stream uint32, payload []byte) {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	_, err := f.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
	f.failed = f.failed || err != nil
}

// Call begins a call with a whole message of at most 16 KiB, and returns the number of its stream.
func (f *Frames) Call(method string, message []byte, headers ...string) (stream uint32) {
	stream = f.Open(method, headers...)
	f.Send(DataFrame, 1, stream, Framed(false, len(message), message))
	return stream
}

// Open begins a call without its message.
func (f *Frames) Open(method string, headers ...string) (stream uint32) {
	if f.last == 0 {
		f.last = 1
	} else {
		f.last += 2
	}
	var block []byte
	all := append([]string{":method", "POST", ":scheme", "http", ":path", method, ":authority", "localhost", "content-type", "application/grpc", "te", "trailers"}, headers...)
	for i := 0; i < len(all); i += 2 {
		block = appendText(append(block, 0), all[i]) // a literal that is not indexed, with a new name
		block = appendText(block, all[i+1])
	}
	f.Send(HeadersFrame, 4, f.last, block)
	return f.last
}

// appendText appends a header's name or value.
func appendText(b []byte, text string) []byte {
	if len(text) >= 127 {
		panic("a header is too long for this client")
	}
	return append(append(b, byte(len(text))), text...)
}

// Ends reports whether the server closes the connection within a minute. Nothing is read meanwhile.
func (f *Frames) Ends() bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		f.Send(WindowUpdateFrame, 0, 0, []byte{0, 0, 0, 1})
		if f.failed {
			return true
		}
	}
	return false
}
