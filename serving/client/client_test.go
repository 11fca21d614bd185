package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/serving/client"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server serves the test model on a free port.
func server(t testing.TB, opts ...grpc.ServerOption) string {
	t.Helper()
	models := modeltest.Source()
	s := grpc.NewServer(append(grpcapi.Options(grpcapi.Limits{}), opts...)...)
	grpcapi.Register(s, &inference.Service{Models: models}, &grpcapi.Models{Catalog: models})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	return lis.Addr().String()
}

func dial(t testing.TB, target string, o client.Options) *client.Client {
	t.Helper()
	c, err := client.Dial(target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ctx(t testing.TB) context.Context {
	c, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	return c
}

func roundTrip[T any](t *testing.T, c *client.Client, signature string, v T) {
	t.Helper()
	p, err := c.Predict(ctx(t), client.Model{Name: "m", Signature: signature}, client.Inputs{"x": v})
	if err != nil {
		t.Errorf("%s: %v", signature, err)
		return
	}
	got, err := client.Output[T](p, "x")
	if diff := cmp.Diff(v, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%s: %v %s", signature, err, diff)
	}
}

func TestValuesGoAndComeBack(t *testing.T) {
	c := dial(t, server(t), client.Options{})
	roundTrip(t, c, "float32", float32(1.5))
	roundTrip(t, c, "float32", []float32{1, 2})
	roundTrip(t, c, "float32", [][]float32{{1, 2, 3}, {4, 5, 6}})
	roundTrip(t, c, "float32", [][][]float32{{{1}, {2}}, {{3}, {4}}, {{5}, {6}}})
	roundTrip(t, c, "float64", []float64{1, 2})
	roundTrip(t, c, "int8", []int8{-1, 2})
	roundTrip(t, c, "int16", []int16{-1, 2})
	roundTrip(t, c, "int32", []int32{-1, 2})
	roundTrip(t, c, "int64", [][]int64{{-1}, {2}})
	roundTrip(t, c, "uint16", []uint16{1, 2})
	roundTrip(t, c, "uint32", []uint32{1, 1 << 31})
	roundTrip(t, c, "uint64", []uint64{1, 1 << 63})
	roundTrip(t, c, "bool", []bool{true, false})
	roundTrip(t, c, "string", "word")
	roundTrip(t, c, "string", []string{"a", ""})
	roundTrip(t, c, "string", [][]string{{"a", "b"}})
	roundTrip(t, c, "string", [][]byte{{0xff}, {}})
	roundTrip(t, c, "string", []byte{0xff, 0})
	roundTrip(t, c, "int64", []int64{})
}

func TestTensors(t *testing.T) {
	c := dial(t, server(t), client.Options{})
	p, err := c.Predict(ctx(t), client.Model{Name: "m", Signature: "uint8"}, client.Inputs{"x": &client.Tensor{Shape: []int{2, 2}, Values: []uint8{1, 2, 3, 255}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(client.Tensor{Shape: []int{2, 2}, Values: []uint8{1, 2, 3, 255}}, p.Outputs["x"]); diff != "" {
		t.Error(diff)
	}
	if _, err := client.Output[[]float32](p, "x"); err == nil || !strings.Contains(err.Error(), "shape [2 2]") {
		t.Errorf("a matrix of bytes is a vector of floats: %v", err)
	}
	if _, err := client.Output[[]float32](p, "y"); err == nil {
		t.Error("an output that is missing")
	}
	if got, err := client.Output[[][]uint8](p, "x"); err != nil || !cmp.Equal(got, [][]uint8{{1, 2}, {3, 255}}) {
		t.Errorf("%v %v", got, err)
	}
}

func TestInputsThatAreNoTensors(t *testing.T) {
	c := dial(t, "127.0.0.1:1", client.Options{}) // no call is made
	for _, v := range []any{nil, 1, []int{1}, [][]float32{{1}, {2, 3}}, [][][]float32{{{1}}, {}}, struct{}{}, map[string]int{}, []any{1}, [][]any{{1}},
		(*client.Tensor)(nil), client.Tensor{}, client.Tensor{Shape: []int{2}, Values: []float32{1}}, client.Tensor{Shape: []int{-1, -1}, Values: []float32{1}}} {
		if _, err := c.Predict(ctx(t), client.Model{Name: "m"}, client.Inputs{"x": v}); err == nil || !strings.Contains(err.Error(), "input x") {
			t.Errorf("%#v: %v", v, err)
		}
	}
	if _, err := c.Classify(ctx(t), client.Model{Name: "m"}, client.Example{"a": struct{}{}}); err == nil || !strings.Contains(err.Error(), "feature a") {
		t.Errorf("got %v", err)
	}
}

func TestExamples(t *testing.T) {
	c := dial(t, server(t), client.Options{})
	e := client.Example{"a": 7} // 14 bytes
	rows, err := c.Classify(ctx(t), client.Model{Name: "m", Signature: "classify"}, e, client.Example{})
	want := [][]client.Class{{{"long", 14}, {"short", 0.5}}, {{"long", 2}, {"short", 0.5}}}
	if diff := cmp.Diff(want, rows); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	values, err := c.Regress(ctx(t), client.Model{Name: "m", Signature: "regress"}, e)
	if diff := cmp.Diff([]float32{14}, values); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	all := client.Example{"1": float32(1), "2": []float32{1}, "3": 1., "4": []float64{1}, "5": true, "6": false, "7": int32(1), "8": int64(1), "9": []int{1},
		"a": []int64{1}, "b": "s", "c": []byte("s"), "d": [][]byte{{1}}, "e": []string{"s"}}
	if _, err := c.Regress(ctx(t), client.Model{Name: "m", Signature: "regress"}, all); err != nil {
		t.Error(err)
	}
}

func TestMetadataAndStatus(t *testing.T) {
	c := dial(t, server(t), client.Options{})
	m, err := c.Metadata(ctx(t), client.Model{Name: "m", Version: new(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	want := client.Signature{Method: "tensorflow/serving/classify", Inputs: map[string]client.TensorInfo{"inputs": {Type: "string", Shape: []int{-1}}},
		Outputs: map[string]client.TensorInfo{"classes": {Type: "string", Shape: []int{-1, 2}}, "scores": {Type: "float32", Shape: []int{-1, 2}}}}
	if diff := cmp.Diff(want, m.Signatures["classify"]); m.Version != 1 || diff != "" {
		t.Errorf("version %d %s", m.Version, diff)
	}
	st, err := c.Status(ctx(t), "m")
	if diff := cmp.Diff([]client.VersionStatus{{2, "AVAILABLE", nil}, {1, "AVAILABLE", nil}}, st); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for name, want := range map[string]bool{"m": true, "nobody": false} {
		if ok, err := c.Ready(ctx(t), name); ok != want || err != nil {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
	_, err = c.Predict(ctx(t), client.Model{Name: "m", Label: "canary"}, client.Inputs{"x": float32(1)})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
}

// Many calls in parallel, large and small, each with its own values.
func TestManyCalls(t *testing.T) {
	c := dial(t, server(t), client.Options{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				x := make([]float32, 1+i*g*100)
				for j := range x {
					x[j] = float32(g*1000 + i)
				}
				p, err := c.Predict(ctx(t), client.Model{Name: "m", Signature: "float32"}, client.Inputs{"x": x})
				if err != nil {
					t.Error(err)
					return
				}
				y, err := client.Output[[]float32](p, "x")
				if err != nil || !slices.Equal(x, y) {
					t.Errorf("call %d of %d: %d values, %v", i, g, len(y), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCallersKeepTheirSlices(t *testing.T) {
	var calls atomic.Int32
	c := dial(t, server(t, failing(1, &calls)), client.Options{Backoff: 50 * time.Millisecond})
	short, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	x := make([]float32, 1<<20)
	_, _ = c.Predict(short, client.Model{Name: "m"}, client.Inputs{"x": x}) // may or may not be in time
	for i := range x {
		x[i] = 1 // for the race detector: nothing may still read them
	}
}

// failing answers UNAVAILABLE to the first calls.
func failing(n int32, calls *atomic.Int32) grpc.ServerOption {
	return grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if calls.Add(1) <= n {
			return nil, status.Error(codes.Unavailable, "not yet")
		}
		return next(ctx, req)
	})
}

func TestUnavailableIsTriedAgain(t *testing.T) {
	big := make([]float32, 1<<20) // more than gRPC keeps by default for another attempt
	for _, tc := range []struct {
		attempts, failures int
		want               codes.Code
	}{{0, 3, codes.OK}, {4, 4, codes.Unavailable}, {1, 1, codes.Unavailable}} {
		var calls atomic.Int32
		c := dial(t, server(t, failing(int32(tc.failures), &calls)), client.Options{Attempts: tc.attempts, Backoff: time.Millisecond})
		_, err := c.Predict(ctx(t), client.Model{Name: "m"}, client.Inputs{"x": big})
		if want := int32(max(1, min(tc.failures+1, 4))); status.Code(err) != tc.want || tc.attempts != 1 && calls.Load() != want {
			t.Errorf("%+v: %d calls, %v", tc, calls.Load(), err)
		}
	}
}

func TestTLSAndToken(t *testing.T) {
	h := httptest.NewUnstartedServer(nil)
	h.StartTLS() // for its certificate for 127.0.0.1
	defer h.Close()
	var got atomic.Value
	addr := server(t, grpc.Creds(credentials.NewServerTLSFromCert(&h.TLS.Certificates[0])), grpc.ChainUnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			got.Store(strings.Join(md.Get("authorization"), ";"))
			return next(ctx, req)
		}))
	roots := x509.NewCertPool()
	roots.AddCert(h.Certificate())
	c := dial(t, addr, client.Options{TLS: &tls.Config{RootCAs: roots}, Token: "secret"})
	if ok, err := c.Ready(ctx(t), "m"); !ok || err != nil || got.Load() != "Bearer secret" {
		t.Errorf("%v %v with %q", ok, err, got.Load())
	}
	untrusted := dial(t, addr, client.Options{TLS: &tls.Config{RootCAs: x509.NewCertPool()}, Attempts: 1})
	if _, err := untrusted.Ready(ctx(t), "m"); status.Code(err) != codes.Unavailable {
		t.Errorf("a certificate of nobody we know: %v", err)
	}
	if _, err := client.Dial(addr, client.Options{Token: "secret"}); err == nil {
		t.Error("a token over plain text")
	}
	plain := dial(t, server(t), client.Options{Token: "secret", PlainToken: true})
	if ok, err := plain.Ready(ctx(t), "m"); !ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []client.Options{{Attempts: 6}, {Attempts: -1}, {MaxMessage: -1}, {Timeout: -1}, {Backoff: -1}} {
		if _, err := client.Dial("localhost:1", o); err == nil {
			t.Errorf("%+v", o)
		}
	}
}

func TestCallsEnd(t *testing.T) {
	c := dial(t, server(t), client.Options{Timeout: 50 * time.Millisecond})
	_, err := c.Predict(context.Background(), client.Model{Name: "m", Signature: "waits"}, client.Inputs{"x": float32(1)})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}
