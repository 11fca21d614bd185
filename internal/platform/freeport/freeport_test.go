package freeport

import (
	"fmt"
	"net"
	"runtime"
	"slices"
	"testing"
)

func TestReservedPortsCanBeListenedOn(t *testing.T) {
	r, err := Reserve(8)
	if err != nil {
		t.Fatal(err)
	}
	ports := r.Ports()
	slices.Sort(ports)
	if got := len(slices.Compact(ports)); got != 8 {
		t.Fatalf("got %d different ports, want 8", got)
	}
	for i, port := range r.Ports() {
		for _, address := range []string{r.Address(i), fmt.Sprintf("0.0.0.0:%d", port), fmt.Sprintf(":%d", port)} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatalf("listen on a reserved port: %v", err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestReservedPortsAreGivenToNobody(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: ports are kept on Linux only")
	}
	r, err := Reserve(64)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2000 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if slices.Contains(r.ports, port) {
			t.Fatalf("port %d was given to another", port)
		}
	}
}
