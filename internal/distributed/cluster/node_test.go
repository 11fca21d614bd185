package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

var (
	worker0 = Task{"worker", 0}
	ps0     = Task{"ps", 0}
)

// echo answers with the received frame.
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
			"None": func(context.Context, *Frame) (*Frame, error) { return nil, nil },
			"Hang": func(ctx context.Context, _ *Frame) (*Frame, error) { <-ctx.Done(); return nil, ctx.Err() },
			"Who": func(ctx context.Context, _ *Frame) (*Frame, error) {
				p, ok := PeerOf(ctx)
				if !ok || p.Incarnation == 0 {
					return nil, status.Error(codes.InvalidArgument, "the caller did not say who it is")
				}
				return &Frame{Header: []byte(p.Task.String())}, nil
			},
		},
		Streams: map[string]StreamHandler{
			"Stream": func(_ context.Context, s Stream) error {
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
			"TwoThenFail": func(_ context.Context, s Stream) error {
				for range 2 {
					if err := s.Send(&Frame{Header: []byte("x")}); err != nil {
						return err
					}
				}
				return status.Error(codes.Aborted, "enough")
			},
			"PanicStream": func(context.Context, Stream) error { panic("boom") },
		},
	}
}

// local returns a caller and a task that serves echo, in memory.
func local(t *testing.T) (caller, server *Node, faults *Faults) {
	t.Helper()
	nodes, faults := NewLocal(worker0, ps0)
	for _, n := range nodes {
		t.Cleanup(func() { n.Close() })
	}
	if err := nodes[ps0].Register(echo()); err != nil {
		t.Fatal(err)
	}
	nodes[ps0].Serve()
	return nodes[worker0], nodes[ps0], faults
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestCallReturnsTheAnswer(t *testing.T) {
	caller, _, _ := local(t)
	f, err := caller.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{Header: []byte("h"), Body: [][]byte{make([]byte, 50000), []byte("xyz")}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	got := make([]byte, 4)
	if n := f.CopyTo(got, 49999); n != 4 || string(got) != "\x00xyz" || f.Len() != 50003 || string(f.Header) != "h" {
		t.Fatalf("got %d bytes %q of %d, header %q", n, got, f.Len(), f.Header)
	}
}

func TestCallErrors(t *testing.T) {
	caller, server, _ := local(t)
	ctx := testContext(t)
	for _, c := range []struct {
		method string
		code   codes.Code
		kind   error
		text   string
	}{
		{"/test.Echo/Fail", codes.FailedPrecondition, nil, "/job:ps/task:0 (local-ps-0:0): Fail: "},
		{"/test.Echo/Panic", codes.Internal, nil, "Panic panicked: boom"},
		{"/test.Echo/Nothing", codes.Unimplemented, ErrRefused, "same version"},
		{"/test.Nobody/Echo", codes.Unimplemented, ErrRefused, "unknown service"},
	} {
		_, err := caller.Call(ctx, ps0, c.method, &Frame{})
		var e *PeerError
		if !errors.As(err, &e) || status.Code(err) != c.code || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", c.method, err)
		}
		if c.kind == nil && (errors.Is(err, ErrPeerLost) || errors.Is(err, ErrRefused)) {
			t.Errorf("%s: %v is of a kind", c.method, err)
		}
	}
	if _, err := caller.Call(ctx, Task{"ps", 7}, "/test.Echo/Echo", &Frame{}); err == nil || !strings.Contains(err.Error(), "not in the cluster") {
		t.Errorf("a task that is not there: got %v", err)
	}
	if f, err := caller.Call(ctx, ps0, "/test.Echo/None", &Frame{}); err != nil || f.Len() != 0 {
		t.Errorf("no answer: got %v, %v", f, err)
	}
	if f, err := caller.Call(ctx, ps0, "/test.Echo/Who", &Frame{}); err != nil || string(f.Header) != worker0.String() {
		t.Errorf("who calls: got %v", err)
	}
	if err := caller.Healthy(ctx, ps0); err != nil {
		t.Errorf("after all this: %v", err)
	}
	if server.Incarnation() == 0 || server.Incarnation() == caller.Incarnation() {
		t.Error("incarnations are zero or equal")
	}
}

func TestCallWaitsForAPeerThatStartsLater(t *testing.T) {
	nodes, _ := NewLocal(worker0, ps0)
	defer nodes[worker0].Close()
	defer nodes[ps0].Close()
	if err := nodes[ps0].Register(echo()); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	go func() {
		_, err := nodes[worker0].Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{})
		errs <- err
	}()
	nodes[ps0].Serve()
	if err := <-errs; err != nil {
		t.Error(err)
	}
}

func TestCallThatNobodyAnswers(t *testing.T) {
	caller, _, _ := local(t)
	if _, err := caller.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil { // connect first
		t.Fatal(err)
	}
	caller.peers[ps0].probe = time.Minute // the machine may be slow, too
	ctx, cancel := WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := caller.Call(ctx, ps0, "/test.Echo/Hang", &Frame{})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrPeerLost) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("a slow handler: got %v, want a deadline and no lost peer", err)
	}
	for _, cause := range []error{nil, errors.New("signal: terminated")} {
		cancelled, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err = caller.Call(cancelled, ps0, "/test.Echo/Hang", &Frame{}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrPeerLost) {
			t.Errorf("a call that was cancelled for %v: got %v", cause, err)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	port, err := freeport.Reserve(1) // otherwise another process may listen there by now
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	spec := runconfig.NewClusterSpec(map[string][]string{"ps": {port.Address(0), "no-such-host.invalid:1"}})
	n, err := Open(Config{Task: worker0, Spec: spec, CallTimeout: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for i := range 2 {
		to := Task{"ps", i}
		if _, err := n.Call(t.Context(), to, "/test.Echo/Echo", &Frame{}); !errors.Is(err, ErrPeerLost) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call to %v: got %v", to, err)
		}
		if _, err := n.Stream(t.Context(), to, "/test.Echo/Echo"); !errors.Is(err, ErrPeerLost) {
			t.Errorf("stream to %v: got %v", to, err)
		}
		if err := n.Healthy(t.Context(), to); !errors.Is(err, ErrPeerLost) {
			t.Errorf("health of %v: got %v", to, err)
		}
	}
}

func TestOpenAndRegisterErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := slog.New(slog.DiscardHandler)
	if _, err := Open(Config{Task: ps0, Address: l.Addr().String(), Log: log}); err == nil || !strings.Contains(err.Error(), "/job:ps/task:0 cannot listen at "+l.Addr().String()) {
		t.Errorf("an address in use: got %v", err)
	}
	for _, bad := range []string{"no port", "127.0.0.1:99999"} {
		if _, err := Open(Config{Task: ps0, Address: bad, Log: log}); err == nil {
			t.Errorf("listened at %q", bad)
		}
	}
	client, err := Open(Config{Task: worker0, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.Serve()
	if err := client.Register(echo()); err == nil || client.Addr() != "" {
		t.Errorf("a node that only calls: registered %v, address %q", err, client.Addr())
	}
	server, err := Open(Config{Task: ps0, Address: "localhost:0", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Register(echo()); err != nil {
		t.Error(err)
	}
	if err := server.Register(echo()); err == nil {
		t.Error("a service was registered twice")
	}
	both := Service{Name: "test.Both", Unary: map[string]Handler{"X": nil}, Streams: map[string]StreamHandler{"X": func(context.Context, Stream) error { return nil }}}
	if err := server.Register(both); err == nil {
		t.Error("a method was registered as a call and as a stream")
	}
	server.Serve()
	if err := server.Register(Service{Name: "test.Late"}); err == nil {
		t.Error("a service was registered after Serve")
	}
	if err := errors.Join(server.Close(), server.Close()); err != nil {
		t.Error(err)
	}
	if _, err := server.Call(t.Context(), worker0, "/x/y", &Frame{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a call from a closed node: got %v", err)
	}
}

func TestListenAddress(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:22": "127.0.0.1:22", "localhost:22": "localhost:22", "[::1]:22": "[::1]:22",
		"worker-0.svc:22": ":22", "10.1.2.3:22": ":22", ":22": ":22",
	} {
		if got := ListenAddress(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestCloseDoesNotWaitForHandlers(t *testing.T) {
	caller, server, _ := local(t)
	errs := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		s, err := caller.Stream(testContext(t), ps0, "/test.Echo/Stream")
		if err == nil {
			err = s.Send(&Frame{})
		}
		if err == nil {
			_, err = s.Recv()
		}
		close(started)
		if err == nil {
			_, err = s.Recv()
		}
		errs <- err
	}()
	<-started
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-errs; !errors.Is(err, ErrPeerLost) {
		t.Errorf("the stream ended with %v, want a lost peer", err)
	}
}

func TestCloseLeavesAHandlerThatDoesNotEnd(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	caller, server := sockets(t, nil, Service{Name: "test.Deaf", Unary: map[string]Handler{"Deaf": func(context.Context, *Frame) (*Frame, error) {
		close(entered)
		<-release
		return nil, nil
	}}})
	errs := make(chan error, 1)
	go func() {
		_, err := caller.Call(testContext(t), ps0, "/test.Deaf/Deaf", &Frame{})
		errs <- err
	}()
	<-entered
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-errs; !errors.Is(err, ErrPeerLost) {
		t.Errorf("got %v", err)
	}
}

func TestOwnCloseEndsCalls(t *testing.T) {
	caller, _, _ := local(t)
	errs := make(chan error, 1)
	go func() {
		_, err := caller.Call(testContext(t), ps0, "/test.Echo/Hang", &Frame{})
		errs <- err
	}()
	if err := caller.Healthy(testContext(t), ps0); err != nil {
		t.Fatal(err)
	}
	caller.Close()
	if err := <-errs; !errors.Is(err, net.ErrClosed) || errors.Is(err, ErrPeerLost) {
		t.Errorf("got %v", err)
	}
}
