package serving

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/admission/admissiontest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	grpcgzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
)

// Without the token no message is received, let alone decompressed. Services that need no token accept only small messages.
func TestNothingIsReceivedWithoutToken(t *testing.T) {
	token, err := NewToken("s3cret")
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Token: token}).wait(t)
	raw := admissiontest.NewRawClient(t, s.Addresses().GRPC)
	const refused, tooLarge = "16", "8"
	bomb := admissiontest.Zeros(t, 256)
	for method, want := range map[string]string{
		"/tensorflow.serving.PredictionService/Predict":                  refused,
		"/tensorflow.serving.PredictionService/Classify":                 refused,
		"/tensorflow.serving.PredictionService/Regress":                  refused,
		"/tensorflow.serving.PredictionService/MultiInference":           refused,
		"/tensorflow.serving.PredictionService/GetModelMetadata":         refused,
		"/tensorflow.serving.ModelService/GetModelStatus":                refused,
		"/tensorflow.serving.ModelService/HandleReloadConfigRequest":     refused,
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      refused,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": refused,
		"/grpc.health.v1.Health/Check":                                   tooLarge,
		"/grpc.health.v1.Health/List":                                    tooLarge,
		"/grpc.health.v1.Health/Watch":                                   tooLarge,
		"/tensorflow.serving.PredictionService/Unknown":                  "12",
	} {
		const room = 32 << 20 // a client and a server in one process, with their buffers
		for name, body := range map[string]func() io.Reader{
			"gzip":  func() io.Reader { return bytes.NewReader(admissiontest.Framed(true, len(bomb), bomb)) },
			"small": func() io.Reader { return bytes.NewReader(admissiontest.Framed(true, 4000, bomb[:4000])) },
			"plain": func() io.Reader { return admissiontest.Endless(256 << 20) },
		} {
			if r := raw.Call(t, method, body(), "Grpc-Encoding", "gzip"); r.Status != want || r.Allocated > room || r.Sent > room {
				t.Errorf("%s, %s: %+v, expected status %s", method, name, r, want)
			}
		}
	}
	r := raw.Call(t, "/tensorflow.serving.ModelService/GetModelStatus", bytes.NewReader(admissiontest.Framed(false, 5, []byte("\x0a\x03\x0a\x01m"))), "Authorization", "Bearer s3cret")
	if r.Status != "0" {
		t.Errorf("with the token: %+v", r)
	}
}

// Reflection accepts only short messages, since no memory budget counts them.
func TestReflectionMessagesAreLimited(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	raw := admissiontest.NewRawClient(t, s.Addresses().GRPC)
	bomb := admissiontest.Zeros(t, 64)
	for _, version := range []string{"v1", "v1alpha"} {
		method := "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
		for name, body := range map[string]io.Reader{
			"gzip": bytes.NewReader(admissiontest.Framed(true, len(bomb), bomb)), "small": bytes.NewReader(admissiontest.Framed(true, 4000, bomb[:4000])),
			"plain": admissiontest.Endless(64 << 20),
		} {
			if r := raw.Call(t, method, body, "Grpc-Encoding", "gzip"); r.Status != "8" || r.Allocated > 32<<20 {
				t.Errorf("%s, %s: %+v, expected status 8", version, name, r)
			}
		}
	}
}

// A connection without a token may have only few streams of the health service.
func TestHealthStreamsOfAConnection(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	conn := plain(t, s.Addresses().GRPC)
	watch := func() error {
		w, err := grpc_health_v1.NewHealthClient(conn).Watch(testContext(t), &grpc_health_v1.HealthCheckRequest{})
		if err == nil {
			_, err = w.Recv()
		}
		return err
	}
	for i := range healthCalls {
		if err := watch(); err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
	}
	if err := watch(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one stream more: %v", err)
	}
}

// The health service accepts its clients' messages, compressed or not.
func TestHealthWithoutToken(t *testing.T) {
	token, err := NewToken("s3cret")
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Token: token}).wait(t)
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if encoding.GetCompressor(grpcgzip.Name) == nil {
		t.Fatal("no gzip")
	}
	h := grpc_health_v1.NewHealthClient(conn)
	for _, how := range [][]grpc.CallOption{nil, {grpc.UseCompressor(grpcgzip.Name)}} {
		for name, want := range map[string]codes.Code{"": codes.OK, "PredictionService": codes.OK, "nobody": codes.NotFound, string(make([]byte, 5000)): codes.ResourceExhausted} {
			r, err := h.Check(testContext(t), &grpc_health_v1.HealthCheckRequest{Service: name}, how...)
			if status.Code(err) != want || err == nil && r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("%.20q: %v, %v", name, r, err)
			}
		}
		w, err := h.Watch(testContext(t), &grpc_health_v1.HealthCheckRequest{Service: "PredictionService"}, how...)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := w.Recv(); err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("watch: %v, %v", r, err)
		}
		if r, err := h.List(testContext(t), &grpc_health_v1.HealthListRequest{}, how...); err != nil || len(r.Statuses) != len(services) {
			t.Errorf("list: %v, %v", r, err)
		}
	}
	for header, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer no": codes.Unauthenticated, "Bearer s3cret": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(testContext(t), "authorization", header)
		names, err := reflected(ctx, conn)
		if status.Code(err) != want || err == nil && !slices.Contains(names, "tensorflow.serving.ModelService") {
			t.Errorf("reflection with %q: %v, %v", header, names, err)
		}
	}
}

// reflected returns the services that a server's reflection lists.
func reflected(ctx context.Context, conn *grpc.ClientConn) (names []string, err error) {
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil && err != io.EOF {
		return nil, err
	}
	r, err := stream.Recv()
	for _, s := range r.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names, errors.Join(err, stream.CloseSend())
}

// healthWith asks for a server's health with a header.
func healthWith(t *testing.T, address, header string) error {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(metadata.AppendToOutgoingContext(testContext(t), "x", header), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	return err
}

// Headers larger than any client needs are not received.
func TestLongHeaders(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	for size, want := range map[int]int{admission.MaxHeaders / 2: http.StatusOK, 2 * admission.MaxHeaders: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(testContext(t), http.MethodGet, "http://"+s.Addresses().REST+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X", strings.Repeat("x", size))
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%d bytes: %s, expected %d", size, resp.Status, want)
		}
		if err := healthWith(t, s.Addresses().GRPC, strings.Repeat("x", size)); (err == nil) != (want == http.StatusOK) {
			t.Errorf("%d bytes over gRPC: got %v", size, err)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	r := httptest.NewRequest(http.MethodGet, "http://"+s.Addresses().REST+"/readyz", nil)
	r.Header["X"] = slices.Repeat([]string{""}, admission.MaxHeaderLines)
	r.RequestURI = ""
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d lines and more: %s", admission.MaxHeaderLines, resp.Status)
	}
}
