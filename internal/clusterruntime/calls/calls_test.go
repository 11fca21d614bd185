package calls

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a master whose steps wait until they are ended or released through let, or panic if they have a name for it.
func serve(t *testing.T, c *Calls) (master service.Caller, let chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	let = make(chan struct{})
	step := func(ctx context.Context, in *rpcs.RunStepRequest) (*rpcs.RunStepResponse, error) {
		if in.GetSessionHandle() == "panic" {
			panic("as asked")
		}
		select {
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		case <-let:
			return &rpcs.RunStepResponse{}, nil
		}
	}
	look := func(context.Context, *rpcs.GetStatusRequest) (*rpcs.GetStatusResponse, error) {
		return &rpcs.GetStatusResponse{}, nil
	}
	g := grpc.NewServer(grpc.WaitForHandlers(true))
	service.Register(c.Through(g), service.Master, []service.Method{service.Bind("RunStep", step), service.Bind("GetStatus", look)})
	go func() { _ = g.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		g.Stop()
	})
	return service.Remote{Conn: conn, Service: service.Master}, let
}

func step(ctx context.Context, master service.Caller, session string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := service.Ask[rpcs.RunStepResponse](ctx, master, "RunStep", &rpcs.RunStepRequest{SessionHandle: session})
	return err
}

// TestToken: calls without the job token are refused with a text that says which clients do not send one.
func TestToken(t *testing.T) {
	master, let := serve(t, New(Options{Task: "/job:ps/task:0", Token: "correct"}))
	close(let)
	for shown, want := range map[string]string{
		"": "with no job token", "Bearer wrong": "with a wrong job token", "Bearer correct": "", "correct": "",
	} {
		ctx := t.Context()
		if shown != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", shown)
		}
		err := step(ctx, master, "")
		if want == "" && err == nil {
			continue
		}
		if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "TensorFlow's own clients and servers send none") {
			t.Errorf("%q: got %v", shown, err)
		}
	}
}

// TestPanic: a method that panics answers INTERNAL, and the process continues.
func TestPanic(t *testing.T) {
	master, let := serve(t, New(Options{}))
	close(let)
	if err := step(t.Context(), master, "panic"); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	if err := step(t.Context(), master, ""); err != nil {
		t.Errorf("the next step: %v", err)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestDrain: a task that shuts down accepts no new steps, waits for running ones, and ends the rest with UNAVAILABLE.
func TestDrain(t *testing.T) {
	for _, finishes := range []bool{true, false} {
		c := New(Options{Task: "/job:worker/task:1"})
		master, let := serve(t, c)
		ran := make(chan error, 1)
		go func() { ran <- step(context.Background(), master, "") }()
		until(t, "a step runs", func() bool { return c.Idle() == 0 })
		ctx, cancel := context.WithCancel(t.Context())
		drained := make(chan int, 1)
		go func() { drained <- c.Drain(ctx) }()
		until(t, "draining", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.draining
		})
		if err := step(t.Context(), master, ""); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "/job:worker/task:1 is ending") {
			t.Errorf("a new step: got %v", err)
		}
		if finishes {
			close(let)
		} else {
			cancel()
		}
		err, cut := <-ran, <-drained
		if finishes && (err != nil || cut != 0) {
			t.Errorf("a step that ends by itself: %v, %d cut", err, cut)
		}
		if !finishes && (status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "took longer") || cut != 1) {
			t.Errorf("a step that does not end: %v, %d cut", err, cut)
		}
		cancel()
	}
}

// TestIdle: calls count as use, except queries.
func TestIdle(t *testing.T) {
	c := New(Options{})
	master, let := serve(t, c)
	until(t, "idle", func() bool { return c.Idle() > 10*time.Millisecond })
	if _, err := service.Ask[rpcs.GetStatusResponse](t.Context(), master, "GetStatus", &rpcs.GetStatusRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := c.Idle(); got < 10*time.Millisecond {
		t.Errorf("after a look: idle for %v", got)
	}
	c.mu.Lock()
	c.last = c.last.Add(-time.Hour)
	c.mu.Unlock()
	close(let)
	if err := step(t.Context(), master, ""); err != nil || c.Idle() >= time.Hour {
		t.Errorf("after a step: idle for %v, %v", c.Idle(), err)
	}
}
