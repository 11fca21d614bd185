// Package admissiontest calls gRPC servers as an attacker might: with bodies that no library would
// send.
package admissiontest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Framed is a message as gRPC sends it, with a size that may be wrong.
func Framed(compressed bool, size int, message []byte) []byte {
	head := []byte{0}
	if compressed {
		head[0] = 1
	}
	return append(binary.BigEndian.AppendUint32(head, uint32(size)), message...)
}

// Zeros is gzip data that decompresses to that many MiB of zeros, a thousand times its size.
func Zeros(t testing.TB, mib int) []byte {
	t.Helper()
	var one bytes.Buffer
	z := gzip.NewWriter(&one)
	if _, err := z.Write(make([]byte, 1<<20)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(one.Bytes(), mib)
}

// Endless is a message that announces size bytes and never completes.
func Endless(size int) io.Reader {
	return io.MultiReader(bytes.NewReader(Framed(false, size, nil)), io.LimitReader(zeros{}, int64(size)))
}

// Stalled is a body that stops after text and stays open until done is called, or for a minute.
func Stalled(text string) (body io.Reader, done func()) {
	rest, end := io.Pipe()
	late := time.AfterFunc(time.Minute, func() { end.Close() })
	return io.MultiReader(strings.NewReader(text), rest), func() {
		late.Stop()
		end.Close()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Reply is the outcome of a call, and its cost.
type Reply struct {
	Status    string // number of the gRPC status
	Message   string // its text, as sent
	Allocated uint64 // bytes, by this whole process
	Sent      int64  // bytes of the body
}

// RawClient makes calls without gRPC's libraries.
type RawClient struct {
	Address string
	client  http.Client
}

// NewRawClient calls a plaintext server at address until the test ends.
func NewRawClient(t testing.TB, address string) *RawClient {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &RawClient{address, http.Client{Transport: transport}}
}

// Call sends a body unchanged. Headers are pairs of names and values.
func (s *RawClient) Call(t testing.TB, method string, body io.Reader, headers ...string) Reply {
	t.Helper()
	sent := &counting{Reader: body}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Address+method, sent)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "Grpc-Timeout": {"60S"}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	runtime.ReadMemStats(&after)
	ended := resp.Trailer
	if ended.Get("Grpc-Status") == "" {
		ended = resp.Header
	}
	return Reply{ended.Get("Grpc-Status"), ended.Get("Grpc-Message"), after.TotalAlloc - before.TotalAlloc, sent.n.Load()}
}

// counting counts the bytes that are read of a body.
type counting struct {
	io.Reader
	n atomic.Int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
