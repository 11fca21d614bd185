package rest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves the test models on a port.
func start(t *testing.T, change func(*Options)) *httptest.Server {
	t.Helper()
	m := models()
	o := Options{Service: service(m), Catalog: catalog{m}}
	if change != nil {
		change(&o)
	}
	s := httptest.NewServer(New(o))
	t.Cleanup(s.Close)
	s.Client().Timeout = time.Minute
	return s
}

// do sends a request and returns the reply with its body, not decompressed.
func do(t *testing.T, s *httptest.Server, method, path string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

const predictURL = "/v1/models/half_plus_two:predict"

func gzipped(t *testing.T, text string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestMetadataIsTheGolden(t *testing.T) {
	m := &servable.Memory{}
	m.Set(servable.ID{Name: "saved_model_half_plus_two_2_versions", Version: 123}, halfPlusTwo())
	without := halfPlusTwo()
	delete(without.Sigs, "classify_x2_to_y3")
	m.Set(servable.ID{Name: "default", Version: 123}, without)
	h := New(Options{Service: service(m), Catalog: m})
	for model, file := range map[string]string{
		"saved_model_half_plus_two_2_versions": "saved_model_half_plus_two_2_versions_metadata.json",
		"default":                              "half_plus_two_model_metadata.json",
	} {
		text, err := os.ReadFile(testkit.Shared(t, "golden/tensorflow-serving/"+file))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/models/"+model+"/metadata", nil))
		var got, want any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
}

func TestGzipRequest(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxBody = 1 << 20 })
	resp, text := do(t, s, "POST", predictURL, gzipped(t, `{"instances": [1.0]}`), "Content-Encoding", "gzip")
	if resp.StatusCode != 200 || !strings.Contains(text, "2.5") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	resp, text = do(t, s, "POST", predictURL, strings.NewReader("no gzip"), "Content-Encoding", "gzip")
	if resp.StatusCode != 400 || !strings.Contains(text, "Failed to read the request body") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	whole := gzipped(t, `{"instances": [1.0]}`)
	whole.Truncate(whole.Len() - 5)
	if resp, text = do(t, s, "POST", predictURL, whole, "Content-Encoding", "gzip"); resp.StatusCode != 400 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	// A small body that grows beyond the limit.
	bomb := gzipped(t, strings.Repeat(" ", 4<<20)+`{"instances": [1.0]}`)
	if resp, text = do(t, s, "POST", predictURL, bomb, "Content-Encoding", "gzip"); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

func TestBodyTooLarge(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxBody = 100 })
	long := `{"instances": [1.0` + strings.Repeat(" ", 100) + `]}`
	for name, body := range map[string]io.Reader{"with length": strings.NewReader(long), "chunked": io.MultiReader(strings.NewReader(long))} {
		resp, text := do(t, s, "POST", predictURL, body)
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "Request body is larger than 100 bytes") {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
	}
	exact := `{"instances": [1.0]}`
	exact += strings.Repeat(" ", 100-len(exact))
	if resp, text := do(t, s, "POST", predictURL, io.MultiReader(strings.NewReader(exact))); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

func TestGzipReply(t *testing.T) {
	s := start(t, nil)
	body := `{"instances": [1.0` + strings.Repeat(", 1.0", 1000) + `]}`
	for accept, want := range map[string]string{"gzip": "gzip", "deflate, gzip;q=0.5": "gzip", "identity": "", "gzip;q=0": "", "gzip; q=0.0": ""} {
		resp, text := do(t, s, "POST", predictURL, strings.NewReader(body), "Accept-Encoding", accept)
		if got := resp.Header.Get("Content-Encoding"); got != want || resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: encoding %q, vary %q", accept, got, resp.Header.Get("Vary"))
		}
		if want == "gzip" {
			z, err := gzip.NewReader(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			text = string(plain)
		}
		if strings.Count(text, "2.5") != 1001 {
			t.Errorf("%s: %d results", accept, strings.Count(text, "2.5"))
		}
	}
	if resp, _ := do(t, s, "POST", predictURL, strings.NewReader(`{"instances": [1]}`), "Accept-Encoding", "gzip"); resp.Header.Get("Content-Encoding") != "" {
		t.Error("a small reply is compressed")
	}
}

func TestCORS(t *testing.T) {
	want := map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "POST, GET", "Access-Control-Allow-Headers": "Content-Type"}
	for _, on := range []bool{true, false} {
		s := start(t, func(o *Options) { o.CORS = on })
		for _, line := range []string{"OPTIONS " + predictURL, "POST " + predictURL, "GET /v1/models/half_plus_two", "GET /v1/nope"} {
			method, path, _ := strings.Cut(line, " ")
			resp, _ := do(t, s, method, path, nil, "Origin", "http://example.com")
			for k, v := range want {
				if got := resp.Header.Get(k); (got == v) != on {
					t.Errorf("%s: %s: %q", line, k, got)
				}
			}
		}
	}
}

func TestTimeoutOfACall(t *testing.T) {
	s := start(t, func(o *Options) { o.Timeout = 20 * time.Millisecond })
	resp, text := do(t, s, "POST", "/v1/models/fails:predict", strings.NewReader(`{"signature_name": "waits", "instances": [1]}`))
	if resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(text, "Timed out waiting for notification") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

func TestSlowBody(t *testing.T) {
	s := start(t, func(o *Options) { o.ReadTimeout = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"inst", predictURL)
	reply, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(reply), "HTTP/1.1 408 ") || !strings.Contains(string(reply), "Request body did not arrive within 50ms") {
		t.Errorf("%s", reply)
	}
}

// TestBodyThatNobodyReads: a reply that does not need the body does not wait for it.
func TestBodyThatNobodyReads(t *testing.T) {
	s := start(t, func(o *Options) { o.ReadTimeout = 50 * time.Millisecond })
	for _, path := range []string{"/v1/nothing", "/nothing", "/healthz"} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", path)
		reply, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 ") {
			t.Errorf("%s: %q, %v", path, reply, err)
		}
	}
}

func TestSlowReader(t *testing.T) {
	// Replies that are too large for any socket buffer, and that the client does not read.
	body := `{"inputs": [1.0` + strings.Repeat(",1.0", 1<<20) + `]}`
	for _, request := range []string{
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", predictURL, len(body), body),
		"GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		done := make(chan struct{})
		var once sync.Once
		s := start(t, func(o *Options) {
			o.WriteTimeout = 50 * time.Millisecond
			o.Extra = map[string]http.Handler{"/large": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(make([]byte, 64<<20))
			})}
		})
		inner := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(w, r)
			once.Do(func() { close(done) })
		})
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, request)
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%.10s: the handler waits for a client that does not read", request)
		}
	}
}

func TestConnectionIsKept(t *testing.T) {
	s := start(t, func(o *Options) { o.ReadTimeout, o.WriteTimeout = time.Hour, time.Hour })
	var opened atomic.Int32
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			opened.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}}
	defer client.CloseIdleConnections()
	for i := range 20 {
		body := `{"instances": [1.0]}`
		if i%3 == 1 {
			body = `{"instances": [1.0`
		}
		resp, err := client.Post(s.URL+predictURL, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 20 requests", n)
	}
}

func TestExtraPathsAndReadiness(t *testing.T) {
	ready := false
	page := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	s := start(t, func(o *Options) {
		o.Ready = func() bool { return ready }
		o.Extra = map[string]http.Handler{"/monitoring/prometheus/metrics": page("metrics"), "/page/": page("page"), "/page/own": page("own"), "/": page("root")}
	})
	for path, want := range map[string]string{
		"/monitoring/prometheus/metrics": "metrics", "/monitoring/prometheus/metrics?x=1": "metrics", "/page/": "page", "/page/a/b.js?v=1": "page",
		"/page/own": "own", "/": "root", "/healthz": "ok\n",
	} {
		if resp, text := do(t, s, "GET", path, nil); resp.StatusCode != 200 || text != want {
			t.Errorf("%s: %d %q", path, resp.StatusCode, text)
		}
	}
	for _, path := range []string{"/page", "/statuspage", "/a/b/", "//"} {
		if resp, _ := do(t, s, "GET", path, nil); resp.StatusCode != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if resp, text := do(t, s, "GET", "/readyz", nil); resp.StatusCode != 503 || text != "not ready\n" {
		t.Errorf("%d %q", resp.StatusCode, text)
	}
	ready = true
	if resp, _ := do(t, s, "GET", "/readyz", nil); resp.StatusCode != 200 {
		t.Errorf("%d", resp.StatusCode)
	}
}

// recorder keeps the calls that observers get.
type recorder struct{ calls []inference.Call }

func (r *recorder) Done(c inference.Call) { r.calls = append(r.calls, c) }

func TestRefusedCallsAreObserved(t *testing.T) {
	m := models()
	rec := &recorder{}
	svc := service(m)
	svc.Observers = []inference.Observer{rec}
	h := New(Options{Service: svc, Catalog: m, Observers: []inference.Observer{rec}, MaxBody: 50})
	for _, c := range []struct {
		path, body string
		api        string
		code       codes.Code
	}{
		{predictURL, `{"instances": [1.0]}`, "Predict", codes.OK},
		{predictURL, `{"instances": [1.0]`, "Predict", codes.InvalidArgument},
		{"/v1/models/half_plus_two:classify", `{}`, "Classify", codes.InvalidArgument},
		{"/v1/models/half_plus_two:regress", `{"examples": [{}`, "Regress", codes.InvalidArgument},
		{"/v1/models/nope:predict", `{"instances": [1.0]}`, "Predict", codes.NotFound},
		{predictURL, strings.Repeat(" ", 51), "Predict", codes.InvalidArgument},
	} {
		rec.calls = nil
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", c.path, strings.NewReader(c.body)))
		if len(rec.calls) != 1 {
			t.Errorf("%s %s: %d calls", c.path, c.body, len(rec.calls))
			continue
		}
		got := rec.calls[0]
		if got.API != c.api || got.Entrypoint != "REST" || status.Code(got.Err) != c.code || got.Model == "" || got.Signature != "serving_default" {
			t.Errorf("%s %s: %+v", c.path, c.body, got)
		}
	}
}

func TestManyClients(t *testing.T) {
	s := start(t, nil)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 30 {
				n := float64(g*100 + i)
				body := fmt.Sprintf(`{"instances": [%v, [[%v]]]}`, n, n)
				want := `Expecting shape [] but got: [1,1]`
				if i%2 == 0 {
					body, want = fmt.Sprintf(`{"instances": [%v]}`, n), string(appendFloat(nil, n/2+2, 32))
				}
				resp, err := s.Client().Post(s.URL+predictURL, "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if !strings.Contains(string(text), want) {
					t.Errorf("%s: %s", body, text)
				}
			}
		})
	}
	wg.Wait()
}
