package cluster

import (
	"context"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	worker0 = Task{"worker", 0}
	ps0     = Task{"ps", 0}
)

// echo answers with what it was sent.
func echo() Service {
	return Service{
		Name: "test.Echo",
		Unary: map[string]Handler{
			"Echo": func(_ context.Context, req *Frame) (*Frame, error) {
				return &Frame{Header: req.Header, Body: req.Body}, nil
			},
			"Panic": func(context.Context, *Frame) (*Frame, error) { panic("boom") },
			"Fail": func(context.Context, *Frame) (*Frame, error) {
				return nil, status.Error(codes.FailedPrecondition, "not now")
			},
		},
		Streams: map[string]StreamHandler{
			"Echo": func(_ context.Context, s Stream) error {
				for {
					f, err := s.Recv()
					if err == io.EOF {
						return nil
					}
					if err != nil {
						return err
					}
					if err := s.Send(&Frame{Header: f.Header, Body: f.Body}); err != nil {
						return err
					}
					f.Release()
				}
			},
		},
	}
}

func closeAll(t *testing.T, nodes map[Task]*Node) {
	t.Helper()
	t.Cleanup(func() {
		for _, n := range nodes {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestCallReturnsTheAnswer(t *testing.T) {
	nodes, _ := NewLocal(worker0, ps0)
	closeAll(t, nodes)
	if err := nodes[ps0].Register(echo()); err != nil {
		t.Fatal(err)
	}
	nodes[ps0].Serve()
	f, err := nodes[worker0].Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{Header: []byte("h"), Body: [][]byte{make([]byte, 5000), []byte("xyz")}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	got := make([]byte, 4)
	if n := f.CopyTo(got, 4999); n != 4 || string(got) != "\x00xyz" || f.Len() != 5003 || string(f.Header) != "h" {
		t.Fatalf("got %d bytes %q of %d, header %q", n, got, f.Len(), f.Header)
	}
}
