package transport

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// frozenFor is how long a peer may do nothing before its connection is closed.
const frozenFor = 2 * time.Minute

// TestFrozenServer: calls to a server that freezes at any point end with UNAVAILABLE.
func TestFrozenServer(t *testing.T) {
	for _, read := range []int64{0, 7, headerSize, 100, 70_000, 1 << 20, 9 << 20} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe() // it has no buffer: a write waits for the reader
			l := newClientLink(newLink(client), "there")
			go l.run()
			go func() { _, _ = io.CopyN(io.Discard, server, read) }()
			begun := time.Now()
			var all sync.WaitGroup
			for _, size := range []int{10, 10, 5 << 20, 3 << 20, 10} {
				all.Go(func() {
					in := requestOf("x", size)
					if _, began, err := l.invoke(context.Background(), "/a/b", in, in); !began || status.Code(err) != codes.Unavailable {
						t.Errorf("after %d bytes, a message of %d: %v, %v", read, size, began, err)
					}
				})
			}
			all.Wait()
			if took := time.Since(begun); took > frozenFor {
				t.Errorf("after %d bytes: calls ended after %v", read, took)
			}
			_ = server.Close()
		})
	}
}

// frozenClients is the data that clients sent before they froze. None of them reads.
func frozenClients() map[string][]byte {
	rest := []byte(preface[magic:])
	with := func(all ...[]byte) []byte {
		b := rest
		for _, f := range all {
			b = append(b[:len(b):len(b)], f...)
		}
		return b
	}
	var answers, pings []byte
	for i := range uint32(50) {
		answers = append(answers, raw(request, i, asking(), []byte("\n\x01x"))...)
		pings = append(pings, raw(ping, 0, nil, nil)...)
	}
	large := with(raw(request, 1, asking(3<<20), nil))
	for range 3 << 20 / maxData {
		large = append(large, raw(data, 1, nil, make([]byte, maxData))...)
	}
	waits := requestHead{method: "/" + service.Master + "/CloseSession"}
	return map[string][]byte{
		"nothing": nil, "half a preface": rest[:2], "a preface": rest, "half a header": with(raw(ping, 0, nil, nil)[:9]),
		"half a request": with(raw(request, 1, asking(), []byte("\n\x01x"))[:40]), "an announcement": with(raw(request, 1, asking(1<<30), nil)),
		"half a part":         with(raw(request, 1, asking(8<<20), nil), raw(data, 1, nil, make([]byte, 100_000))[:50_000]),
		"requests":            with(answers),
		"a large request":     large,
		"pings":               with(pings),
		"a call that waits":   with(raw(request, 1, appendSizes(waits.append(nil), nil), nil)),
		"data of no call":     with(raw(data, 9, nil, make([]byte, 1000)), raw(cancel, 9, nil, nil)),
		"a call and its end":  with(raw(request, 1, asking(1<<20), nil), raw(cancel, 1, nil, nil), raw(data, 1, nil, make([]byte, 1000))),
		"two large at a time": with(raw(request, 1, asking(8<<20), nil), raw(request, 2, asking(8<<20), nil), raw(data, 2, nil, make([]byte, maxData)), raw(data, 1, nil, make([]byte, maxData))),
	}
}

// TestFrozenClient: the connection of a frozen client ends with its calls, whatever was sent before.
func TestFrozenClient(t *testing.T) {
	for name, b := range frozenClients() {
		for _, reads := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer()
				r := &rig{t: t, began: make(chan struct{}, 1), ended: make(chan error, 1)}
				service.Register(s, service.Master, r.methods())
				c := s.pipe()
				go func() { _, _ = c.Write(b) }()
				if reads {
					go func() { _, _ = io.Copy(io.Discard, c) }()
				}
				begun := time.Now()
				for left := 1; left > 0; time.Sleep(time.Second) {
					s.mu.Lock()
					left = len(s.links) + s.running
					s.mu.Unlock()
					if time.Since(begun) > frozenFor {
						t.Errorf("%s, reads %v: %d connections and calls after %v", name, reads, left, frozenFor)
						break
					}
				}
				_ = c.Close()
				s.Stop()
			})
		}
	}
}
