package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"testing"
)

func TestPSServers(t *testing.T) {
	for name, want := range map[string][2]int{"1ps": {0, 1}, "2ps": {1, 2}} {
		if from, n, err := psServers(name); err != nil || from != want[0] || n != want[1] {
			t.Errorf("%s: processes %d to %d, %v: expected from %d on %d", name, from, from+n, err, want[0], want[1])
		}
	}
	for _, name := range []string{"", "ps", "0ps", "3ps", "x"} {
		if _, _, err := psServers(name); err == nil {
			t.Errorf("%q: expected an error", name)
		}
	}
}

// A server for plain copies sends its share, receives it back, and ends with the connection.
func TestPSTCPServer(t *testing.T) {
	in, tell := io.Pipe()
	heard, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- psTCPServer(newLink(in, out), nil) }()
	lines := bufio.NewReader(heard)
	address := readReply(t, lines).Version
	if _, err := io.WriteString(tell, "run 0 a,b\n"); err != nil {
		t.Fatal(err)
	}
	readReply(t, lines)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	m := psTCP{"2ps": {c}}
	if err := receive(c, psModelBytes/2); err != nil {
		t.Fatal(err)
	}
	if err := transmit(c, psModelBytes/2); err != nil {
		t.Fatal(err)
	}
	m.close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := m.step("1ps"); err == nil {
		t.Error("a case without connections: expected an error")
	}
}

func readReply(t *testing.T, lines *bufio.Reader) (r reply) {
	t.Helper()
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
