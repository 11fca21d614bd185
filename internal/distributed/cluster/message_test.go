package cluster

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

func TestMessageReadsAFrame(t *testing.T) {
	m := messageOf(&Frame{Header: []byte("h"), Body: [][]byte{[]byte("one"), nil, []byte("two")}})
	if string(m.Header) != "h" || m.Len() != 6 {
		t.Fatalf("header %q, %d bytes", m.Header, m.Len())
	}
	if err := iotest.TestReader(m, []byte("onetwo")); err != nil {
		t.Error(err)
	}
	if n, err := m.Read(make([]byte, 1)); n != 0 || err != io.EOF || m.Len() != 0 {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

func TestNextOfAStream(t *testing.T) {
	caller, _, _ := local(t)
	s, err := caller.Stream(testContext(t), ps0, "/test.Echo/Stream")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		body := bytes.Repeat([]byte{byte(i)}, 100000)
		if err := s.Send(&Frame{Header: []byte{byte(i)}, Body: [][]byte{body[:10], body[10:]}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		m, err := Next(s)
		if err != nil || m.Len() != 100000 || m.Header[0] != byte(i) {
			t.Fatalf("message %d: %v", i, err)
		}
		if i%2 == 1 {
			continue // the next call drops unread data
		}
		got := make([]byte, 100000)
		if _, err := io.ReadFull(m, got); err != nil || got[0] != byte(i) || got[99999] != byte(i) {
			t.Errorf("body %d: %v", i, err)
		}
	}
	s.CloseSend()
	if _, err := Next(s); err != io.EOF {
		t.Errorf("at the end: got %v", err)
	}
}
