package serving

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
)

// slow is a model whose runs wait for a token.
func slow(began chan<- struct{}, token <-chan struct{}) Loader {
	return func(context.Context, string) (Model, error) {
		m := modeltest.New()
		compute := m.Compute
		m.Compute = func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
			began <- struct{}{}
			<-token
			return compute(ctx, feeds, fetches)
		}
		return m, nil
	}
}

// TestDrains: requests in progress are answered, later ones are refused.
func TestDrains(t *testing.T) {
	root := folders(t, "m/1")
	began, token := make(chan struct{}), make(chan struct{})
	s := run(t, Options{Models: single(root, "m"), Loader: slow(began, token), Drain: waitLimit}).wait(t)
	at := s.Addresses()
	c := dial(t, at.GRPC)

	conn, err := grpc.NewClient(at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(testContext(t), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := watch.Recv(); err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("health: %v, %v", r, err)
	}
	answers := make(chan error, 2)
	go func() { _, err := predict(t, c, "m"); answers <- err }()
	go func() {
		if got := do(t, "POST", "http://"+at.REST+"/v1/models/m:predict", `{"instances": [1]}`); !strings.HasPrefix(got, "200") {
			answers <- errors.New(got)
			return
		}
		answers <- nil
	}()
	<-began
	<-began
	s.stop()
	<-s.draining.Done()
	if s.Ready() {
		t.Error("ready while draining")
	}
	if r, err := watch.Recv(); err == nil && r.Status != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health while draining: %v", r) // a stream that has already ended is fine, too
	}
	close(token)
	for range 2 {
		if err := <-answers; err != nil {
			t.Errorf("a request that was going on: %v", err)
		}
	}
	err = <-s.done
	s.done <- err
	if err != nil {
		t.Error(err)
	}
	if l, err := net.Dial("tcp", at.GRPC); err == nil {
		l.Close()
		t.Error("the port still answers")
	}
}

// TestDrainEnds: a request that does not end is aborted, and Run says so.
func TestDrainEnds(t *testing.T) {
	root := folders(t, "m/1")
	began, token := make(chan struct{}), make(chan struct{})
	s, err := New(Options{Models: single(root, "m"), Loader: slow(began, token), Drain: 10 * time.Millisecond, Listen: Listen{Host: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-s.Available()
	c := dial(t, s.Addresses().GRPC)
	answer := make(chan error, 1)
	go func() { _, err := predict(t, c, "m"); answer <- err }()
	<-began
	stop()
	if err := <-answer; err == nil {
		t.Error("the request was answered")
	}
	close(token)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "requests were cut off that were not done after 10ms") {
		t.Errorf("got %v, want the requests that were cut off", err)
	}
}

// TestStuckModel: a run that ignores its context blocks neither the end of the server nor, with batching, other requests.
func TestStuckModel(t *testing.T) {
	for name, b := range map[string]*Batching{"alone": nil, "batched": {BatchingParameters: DefaultBatching()}} {
		t.Run(name, func(t *testing.T) {
			root := folders(t, "m/1")
			began, token := make(chan struct{}), make(chan struct{})
			o := Options{Models: single(root, "m"), Loader: slow(began, token), Drain: 50 * time.Millisecond, Listen: Listen{Host: "127.0.0.1"}, Batching: b}
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(testContext(t))
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			<-s.Available()
			c := dial(t, s.Addresses().GRPC)
			go func() { _, _ = predict(t, c, "m") }()
			<-began
			stop()
			select {
			case err := <-done:
				if err == nil {
					t.Error("nothing is said of the run that did not end")
				}
			case <-time.After(waitLimit):
				t.Error("the server waits for a run that does not end")
			}
			close(token)
			within, enough := context.WithTimeout(context.Background(), waitLimit)
			defer enough()
			if err := s.models.Close(within); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDrainRefusesWhatArrives: incomplete requests delay the end only for a moment, on both ports, and get an error that says why.
func TestDrainRefusesWhatArrives(t *testing.T) {
	began, token := make(chan struct{}), make(chan struct{})
	s, err := New(Options{Models: single(folders(t, "m/1"), "m"), Loader: slow(began, token), Drain: time.Hour, Listen: Listen{Host: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	s.arrivalGrace, s.handshakeTimeout = 10*time.Millisecond, time.Hour
	ctx, stop := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-s.Available()
	at := s.Addresses()
	computed := make(chan string, 1)
	go func() { computed <- do(t, "POST", "http://"+at.REST+"/v1/models/m:predict", `{"instances": [1]}`) }()
	<-began
	replies := make(chan string, 2)
	conn, err := net.Dial("tcp", at.REST)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /v1/models/m:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	go func() {
		reply, _ := io.ReadAll(conn)
		replies <- string(reply)
	}()
	body, end := admissiontest.Stalled("")
	defer end()
	raw := admissiontest.NewRawClient(t, at.GRPC)
	go func() {
		r := raw.Call(t, "/tensorflow.serving.PredictionService/Predict", body, "Grpc-Timeout", "10H")
		replies <- r.Status + " " + r.Message
	}()
	for s.places.Open() < 3 || s.memory.Used() < 2*64<<10 { // requests that wait for a message or a body count
		time.Sleep(time.Millisecond)
	}
	stop()
	for range 2 {
		if got := <-replies; !strings.HasPrefix(got, "14 ") && !strings.HasPrefix(got, "HTTP/1.1 503") || !strings.Contains(got, "the server is ending") {
			t.Errorf("got %q, expected that the server is ending", got)
		}
	}
	close(token) // a complete request is answered
	if got := <-computed; !strings.HasPrefix(got, "200") {
		t.Errorf("a request that was being computed: %s", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDrainEndsWhatIsRefused: the bodies of refused requests, requests with incomplete headers, and streams that wait for a message do not
// delay the end.
func TestDrainEndsWhatIsRefused(t *testing.T) {
	quick := func(context.Context, string) (Model, error) { return modeltest.New(), nil }
	s, err := New(Options{Models: single(folders(t, "m/1"), "m"), Loader: quick, Drain: 40 * time.Second, Listen: Listen{Host: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	s.arrivalGrace, s.handshakeTimeout = 10*time.Millisecond, time.Hour
	ctx, stop := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-s.Available()
	at := s.Addresses()
	for _, begun := range []string{
		"POST /v1/models/other:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
		"POST /v1/models/other:predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
		"POST /v1/models/m:predict HTTP/1.1\r\nHo",
	} {
		conn, err := net.Dial("tcp", at.REST)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, begun); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := grpc.NewClient(at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	for s.places.Open() < 4 {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("a stream that waits: %v", err)
	}
}
