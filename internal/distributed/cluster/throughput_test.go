package cluster

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/goestimator/goestimator/runconfig"
)

// sockets returns a caller and a server on loopback.
func sockets(t testing.TB, change func(*Config), services ...Service) (from, to *Node) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Log: slog.New(slog.DiscardHandler), Spec: runconfig.NewClusterSpec(map[string][]string{"ps": {l.Addr().String()}})}
	server, client := c, c
	server.Task, server.Listener = ps0, l
	client.Task = worker0
	if change != nil {
		change(&server)
		change(&client)
	}
	if to, err = Open(server); err != nil {
		t.Fatal(err)
	}
	if from, err = Open(client); err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		if err := to.Register(s); err != nil {
			t.Fatal(err)
		}
	}
	to.Serve()
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

// sink receives frames into a buffer and acknowledges each stream at its end.
func sink(size int) Service {
	return Service{Name: "test.Sink", Streams: map[string]StreamHandler{"Sink": func(_ context.Context, s Stream) error {
		buf := make([]byte, size)
		for {
			m, err := Next(s)
			if err == io.EOF {
				return s.Send(&Frame{})
			}
			if err != nil {
				return err
			}
			if _, err := io.ReadFull(m, buf[:m.Len()]); err != nil {
				return err
			}
		}
	}}}
}

func BenchmarkStream(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 4 << 20, 16 << 20, 100 << 20} {
		for _, way := range []string{"bulk", "grpc"} {
			b.Run(fmt.Sprintf("%s/%dKB", way, size>>10), func(b *testing.B) {
				streamed(b, size, func(c *Config) { c.MaxMessageBytes, c.noBulk = 128<<20, way == "grpc" })
			})
		}
		b.Run(fmt.Sprintf("tcp/%dKB", size>>10), func(b *testing.B) { rawTCP(b, size) })
	}
}

// BenchmarkSums measures the cost of checksums: ratios of its results with and without them.
func BenchmarkSums(b *testing.B) {
	for _, way := range []string{"bulk", "grpc", "call"} {
		for _, sums := range []string{"with", "without"} {
			change := func(c *Config) {
				c.MaxMessageBytes, c.noBulk, c.noSums = 128<<20, way == "grpc", sums == "without"
			}
			if way == "call" {
				b.Run("call/1KB/"+sums, func(b *testing.B) { called(b, 1<<10, change) })
				continue
			}
			for _, size := range []int{64 << 10, 4 << 20, 100 << 20} {
				b.Run(fmt.Sprintf("%s/%dKB/%s", way, size>>10, sums), func(b *testing.B) { streamed(b, size, change) })
			}
		}
	}
}

// streamed measures a stream of messages of one size between nodes with a changed config.
func streamed(b *testing.B, size int, change func(*Config)) {
	from, _ := sockets(b, change, sink(size))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	body := make([]byte, size)
	send := func(n int) {
		s, err := from.Stream(ctx, ps0, "/test.Sink/Sink")
		if err != nil {
			b.Fatal(err)
		}
		for range n {
			f := &Frame{Body: [][]byte{body}}
			if err := s.Send(f); err != nil {
				b.Fatal(err)
			}
		}
		s.CloseSend()
		if _, err := s.Recv(); err != nil {
			b.Fatal(err)
		}
	}
	send(1)
	b.SetBytes(int64(size))
	b.ResetTimer()
	send(b.N)
}

// rawTCP measures a copy over a loopback socket.
func rawTCP(b *testing.B, size int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, size)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				c.Write([]byte{1})
				return
			}
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	body := make([]byte, size)
	b.SetBytes(int64(size))
	b.ResetTimer()
	for range b.N {
		if _, err := c.Write(body); err != nil {
			b.Fatal(err)
		}
	}
	c.(*net.TCPConn).CloseWrite()
	io.ReadAll(c)
}

// BenchmarkCall measures the latency of a small call.
func BenchmarkCall(b *testing.B) { called(b, 64, nil) }

// called measures a call with a header of one size, answered with the same.
func called(b *testing.B, size int, change func(*Config)) {
	from, _ := sockets(b, change, echo())
	ctx := context.Background()
	req := &Frame{Header: make([]byte, size)}
	for b.Loop() {
		f, err := from.Call(ctx, ps0, "/test.Echo/Echo", req)
		if err != nil {
			b.Fatal(err)
		}
		f.Release()
	}
}

// BenchmarkPull measures a call with a large answer.
func BenchmarkPull(b *testing.B) {
	const size = 100 << 20
	body := make([]byte, size)
	pull := Service{Name: "test.Pull", Unary: map[string]Handler{"Pull": func(context.Context, *Frame) (*Frame, error) {
		return &Frame{Body: [][]byte{body}}, nil
	}}}
	from, _ := sockets(b, func(c *Config) { c.MaxMessageBytes = 128 << 20 }, pull)
	dst := make([]byte, size)
	b.SetBytes(size)
	for b.Loop() {
		f, err := from.Call(context.Background(), ps0, "/test.Pull/Pull", &Frame{})
		if err != nil {
			b.Fatal(err)
		}
		f.CopyTo(dst, 0)
		f.Release()
	}
}
