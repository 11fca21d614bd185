package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/serving/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func TestServes(t *testing.T) {
	root := folders(t, "m/1", "m/2")
	socket := filepath.Join(root, "socket")
	p := DefaultBatching()
	s := run(t, Options{
		Models: single(root, "m"), Listen: Listen{Socket: socket}, Metrics: "/metrics", Batching: &Batching{BatchingParameters: p},
		Overload: &Overload{MaxDelay: time.Minute}, AccessLog: true,
	}).wait(t)
	at := s.Addresses()
	for _, target := range []string{at.GRPC, "unix:" + socket} {
		if y, err := predict(t, dial(t, target), "m"); err != nil || len(y) != 2 || y[0] != 2.5 || y[1] != 3 {
			t.Errorf("%s: got %v, %v; want [2.5 3]", target, y, err)
		}
	}
	if got := do(t, "POST", "http://"+at.REST+"/v1/models/m/versions/2:predict", `{"instances": [1, 2]}`); got != "200 {\n    \"predictions\": [2.5, 3.0\n    ]\n}" {
		t.Errorf("REST: %s", got)
	}
	for path, want := range map[string]string{
		"/healthz":    "200",
		"/readyz":     "200",
		"/":           "<html",
		"/metrics":    `:tensorflow:serving:request_count{`,
		"/v1/nothing": "400",
	} {
		if got := get(t, "http://"+at.REST+path); !strings.Contains(got, want) {
			t.Errorf("%s: got %.300s, want %s", path, got, want)
		}
	}
	conn, err := grpc.NewClient(at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, name := range services {
		r, err := grpc_health_v1.NewHealthClient(conn).Check(testContext(t), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", name, r, err)
		}
	}
}

// TestLargeRequests: one bound for both ports.
func TestLargeRequests(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Requests: Requests{MaxBytes: 1000}}).wait(t)
	body := `{"instances": [1` + strings.Repeat(",1", 1000) + `]}`
	if got := do(t, "POST", "http://"+s.Addresses().REST+"/v1/models/m:predict", body); !strings.HasPrefix(got, "413 ") {
		t.Errorf("REST: %s", got)
	}
	_, err := dial(t, s.Addresses().GRPC).Predict(testContext(t), client.Model{Name: "m"}, client.Inputs{"x": make([]float32, 1000)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("gRPC: %v", err)
	}
}

// TestStartFails: a model that cannot be loaded at the start ends the server.
func TestStartFails(t *testing.T) {
	root := folders(t, "m/1/wrong", "n/1")
	for _, c := range []struct {
		models Models
		want   string
	}{
		{single(root, "m"), "1 model(s) did not become available: {{{name: m version: 1} due to error: UNKNOWN: the model is wrong}, }"},
		{single(root, "none"), "Could not find base path"},
		{Models{File: filepath.Join(root, "none")}, "model config file: open "},
	} {
		s, err := New(Options{Loader: loader, Models: c.models, Listen: Listen{Host: "127.0.0.1"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(testContext(t)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestIncompleteAtStart: a server that starts while a version is being copied runs on, says why it is not ready, and serves the version once it
// is complete.
func TestIncompleteAtStart(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := ReadToken(secret, "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token *Token
		want  string
	}{
		"no token": {nil, "503 not ready\nmodel m version 1: the model is wrong\n"},
		"token":    {token, "503 not ready\n"},
	} {
		root := folders(t, "m/1/wrong")
		s := run(t, Options{Models: single(root, "m"), Token: c.token, Loading: Loading{Poll: time.Millisecond, Retries: 1, RetryInterval: time.Hour}})
		if _, err := predict(t, dial(t, s.Addresses().GRPC), "m"); c.token == nil && status.Code(err) != codes.Unavailable {
			t.Errorf("%s: a request: %v", name, err)
		}
		for end := time.Now().Add(waitLimit); ; time.Sleep(time.Millisecond) {
			got := get(t, "http://"+s.Addresses().REST+"/readyz")
			if got == c.want {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %q, expected %q", name, got, c.want)
			}
		}
		if err := os.Remove(filepath.Join(root, "m", "1", "wrong")); err != nil {
			t.Fatal(err)
		}
		s.wait(t)
	}
}

func TestOptionsFail(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	models := single(t.TempDir(), "m")
	for want, o := range map[string]Options{
		"serving: no loader": {},
		"expected exactly one of a config, a config file and a root folder":  {Loader: loader},
		"neither a gRPC port, a REST port nor a socket to listen on":         {Loader: loader, Models: models, Listen: Listen{Port: -1, REST: -1}},
		"serving: a Token without content: make it by NewToken or ReadToken": {Loader: loader, Models: models, Token: &Token{}},
		"metrics are on the REST port, which is off":                         {Loader: loader, Models: models, Listen: Listen{REST: -1}, Metrics: "/metrics"},
		fmt.Sprintf("gRPC port %d is taken by another process", port):        {Loader: loader, Models: models, Listen: Listen{Host: "127.0.0.1", Port: port}},
		fmt.Sprintf("REST port %d is taken by another process", port):        {Loader: loader, Models: models, Listen: Listen{Host: "127.0.0.1", REST: port}},
		"batching: ": {Loader: loader, Models: models, Batching: &Batching{}},
	} {
		if s, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
			if s != nil {
				s.Close()
			}
		}
	}
}

// TestOnePort: a server may listen on only one port; 0 means any free port.
func TestOnePort(t *testing.T) {
	for _, l := range []Listen{{Host: "127.0.0.1", Port: -1}, {Host: "127.0.0.1", REST: -1}} {
		s, err := New(Options{Loader: loader, Models: single(folders(t, "m/1"), "m"), Listen: l})
		if err != nil {
			t.Errorf("%+v: %v", l, err)
			continue
		}
		s.Close()
	}
}

// TestWhileLoading: until the models are loaded, requests get an error that says to try again.
func TestWhileLoading(t *testing.T) {
	root := folders(t, "m/1")
	gate := make(chan struct{})
	s := run(t, Options{Models: single(root, "m"), Loader: func(context.Context, string) (Model, error) {
		<-gate
		return modeltest.New(), nil
	}})
	c := dial(t, s.Addresses().GRPC)
	if _, err := predict(t, c, "m"); status.Code(err) != codes.Unavailable {
		t.Errorf("while loading: %v, want UNAVAILABLE", err)
	}
	if got := get(t, "http://"+s.Addresses().REST+"/readyz"); !strings.HasPrefix(got, "503") {
		t.Errorf("ready while loading: %s", got)
	}
	close(gate)
	s.wait(t)
	if _, err := predict(t, c, "m"); err != nil {
		t.Error(err)
	}
	if _, err := predict(t, c, "n"); status.Code(err) != codes.NotFound {
		t.Errorf("unknown model: %v, want NOT_FOUND", err)
	}
}

// TestFollowsFile: a changed config file takes effect; an invalid one changes nothing.
func TestFollowsFile(t *testing.T) {
	root := folders(t, "m/1", "n/1")
	file := filepath.Join(root, "models.txt")
	write := func(name string) {
		text := fmt.Sprintf(`model_config_list {config {name: %q base_path: %q model_platform: "tensorflow"}}`, name, filepath.Join(root, name))
		if name == "" {
			text = "improperly formatted file"
		}
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o644), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	write("m")
	s := run(t, Options{Models: Models{File: file, Poll: time.Millisecond}}).wait(t)
	write("")
	write("n")
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if got := fmt.Sprint(s.models.Models()); got == "[n]" {
			break
		} else if time.Since(start) > waitLimit {
			t.Fatalf("models: %s, want [n]", got)
		}
	}
}

// TestFollowsFileLater: a label of a version that is not there yet is set when the version is, as by TensorFlow Serving's polls. An empty
// file changes nothing.
func TestFollowsFileLater(t *testing.T) {
	root := folders(t, "m/1")
	file := filepath.Join(root, "models.txt")
	write := func(text string) {
		if text != "" {
			text = fmt.Sprintf(`model_config_list {config {name: "m" base_path: %q model_platform: "tensorflow" %s}}`, filepath.Join(root, "m"), text)
		}
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o644), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	write("model_version_policy {all {}}")
	log := &logLines{}
	s := run(t, Options{Models: Models{File: file, Poll: time.Millisecond}, Loading: Loading{Poll: time.Millisecond}, Log: log.log()}).wait(t)
	until := func(what string, ok func() bool) {
		t.Helper()
		for start := time.Now(); !ok(); time.Sleep(time.Millisecond) {
			if time.Since(start) > waitLimit {
				t.Fatalf("%s did not come about: %q", what, log.lines())
			}
		}
	}
	write("")
	until("the error of an empty file", func() bool { return len(log.lines("the models stay as they are")) > 0 })
	if !s.models.Has("m") {
		t.Fatal("an empty file unloads the models")
	}
	write(`model_version_policy {all {}} version_labels {key: "canary" value: 2}`)
	until("the error of the label", func() bool { return len(log.lines("not currently available for inference")) > 0 })
	if err := os.Mkdir(filepath.Join(root, "m", "2"), 0o755); err != nil {
		t.Fatal(err)
	}
	until("the label", func() bool {
		h, err := s.models.Acquire("m", servable.Version{Label: "canary"})
		if err != nil {
			return false
		}
		defer h.Release()
		return h.ID().Version == 2
	})
}

// TestFollowsRoot: all models below a root are served, including later ones; an invalid model does not affect others.
func TestFollowsRoot(t *testing.T) {
	root := folders(t, "a/1", "wrong/1/wrong")
	s := run(t, Options{Models: Models{Root: root, Poll: time.Millisecond}}).wait(t)
	if err := os.MkdirAll(filepath.Join(root, "b", "7"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s.Addresses().GRPC)
	if _, err := predict(t, c, "a"); err != nil {
		t.Error(err)
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		_, err := predict(t, c, "b")
		if err == nil {
			break
		} else if time.Since(start) > waitLimit {
			t.Fatal(err)
		}
	}
}

// TestTokenOfPages: with CORS support, pages of other origins can send the token: the preflight, which has none, is answered.
func TestTokenOfPages(t *testing.T) {
	token, err := NewToken("a secret that is long enough")
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Token: token, Metrics: "/metrics", Requests: Requests{CORS: true}}).wait(t)
	for _, c := range []struct {
		method, path string
		headers      []string
		code         int
		origin       string
	}{
		{"OPTIONS", "/v1/models/m:predict", []string{"Access-Control-Request-Method", "POST"}, 200, "*"},
		{"OPTIONS", "/v2/models/m/infer", []string{"Access-Control-Request-Method", "POST"}, 200, "*"},
		{"OPTIONS", "/metrics", []string{"Access-Control-Request-Method", "GET"}, 401, ""},
		{"GET", "/v1/models/m", nil, 401, "*"},
		{"GET", "/v1/models/m", []string{"Authorization", "Bearer a secret that is long enough"}, 200, "*"},
	} {
		r, err := http.NewRequestWithContext(testContext(t), c.method, "http://"+s.Addresses().REST+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "https://page.example")
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.code || resp.Header.Get("Access-Control-Allow-Origin") != c.origin {
			t.Errorf("%s %s %v: got %d, %v", c.method, c.path, c.headers, resp.StatusCode, resp.Header)
		}
		if c.method == "OPTIONS" && c.code == 200 && !strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
			t.Errorf("%s: the token is not among the headers: %v", c.path, resp.Header)
		}
	}
}

func TestToken(t *testing.T) {
	root := folders(t, "m/1")
	token, err := NewToken("a secret that is long enough", "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Models: single(root, "m"), Token: token}).wait(t)
	if _, err := predict(t, dial(t, s.Addresses().GRPC), "m"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC without the token: %v", err)
	}
	for path, want := range map[string]string{"/healthz": "200", "/v1/models/m": "401"} {
		if got := get(t, "http://"+s.Addresses().REST+path); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// A server whose queue of waiting connections is full is still there, although nobody can connect.
func TestBusySocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		c, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			break
		}
		defer c.Close()
	}
	if l, err := listenUnix(path); err == nil {
		t.Error("its socket was taken", l.Close())
	} else if !strings.Contains(err.Error(), "remove the socket if none does") {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

func TestSocketLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path); err == nil || !strings.Contains(err.Error(), "another server answers there") {
		t.Errorf("a socket in use: %v", err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	again, err := listenUnix(path)
	if err != nil {
		t.Fatalf("a socket that was left behind: %v", err)
	}
	again.Close()
}
