package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/serving/batching"
	"github.com/goestimator/goestimator/serving/client"
	"github.com/goestimator/goestimator/serving/inference/modeltest"
	"github.com/goestimator/goestimator/serving/manager"
	"github.com/goestimator/goestimator/serving/security"
	"github.com/goestimator/goestimator/serving/servable"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// loader makes every version directory the same model, except one with a file "wrong".
var loader = servable.LoaderFunc(func(_ context.Context, dir string) (servable.Model, error) {
	if _, err := os.Stat(filepath.Join(dir, "wrong")); err == nil {
		return nil, errors.New("the model is wrong")
	}
	return modeltest.New(), nil
})

// folders makes version directories.
func folders(t testing.TB, versions ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, v := range versions {
		if err := os.MkdirAll(filepath.Join(root, v), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// running is a server that runs.
type running struct {
	*Server
	stop func()
	done chan error
}

// run runs a server on free ports of the loopback until the test ends.
func run(t testing.TB, o Options) *running {
	t.Helper()
	o.Listen.Host = "127.0.0.1"
	if o.Loader == nil {
		o.Loader = loader
	}
	o.Manager.FreeMemory = func() {}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{s, stop, make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-r.done; err != nil {
			t.Errorf("run: %v", err)
		}
		r.done <- nil
	})
	return r
}

func (r *running) wait(t testing.TB) *running {
	t.Helper()
	select {
	case <-r.Available():
	case err := <-r.done:
		t.Fatalf("the server ended: %v", err)
	case <-time.After(patience):
		t.Fatal("the server is not ready")
	}
	return r
}

func single(root string, names ...string) Models {
	bases := map[string]string{}
	for _, n := range names {
		bases[n] = filepath.Join(root, n)
	}
	return Models{Config: manager.Single(bases)}
}

func dial(t testing.TB, target string) *client.Client {
	t.Helper()
	c, err := client.Dial(target, client.Options{Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func predict(t testing.TB, c *client.Client, model string) ([]float32, error) {
	t.Helper()
	p, err := c.Predict(testContext(t), client.Model{Name: model}, client.Inputs{"x": []float32{1, 2}})
	if err != nil {
		return nil, err
	}
	return client.Output[[]float32](p, "y")
}

// get returns the code and body of a GET.
func get(t testing.TB, url string) string {
	t.Helper()
	return do(t, http.MethodGet, url, "")
}

func do(t testing.TB, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(testContext(t), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text)
}

func TestServes(t *testing.T) {
	root := folders(t, "m/1", "m/2")
	socket := filepath.Join(root, "socket")
	p := batching.Defaults()
	s := run(t, Options{
		Models: single(root, "m"), Listen: Listen{Socket: socket}, Metrics: "/metrics", Batching: &Batching{Parameters: p},
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

// TestStartFails: a model that is wrong at the start ends the server.
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
		"expected exactly one of a config, a config file and a root folder": {Loader: loader},
		"neither a gRPC port, a REST port nor a socket to listen on":        {Loader: loader, Models: models, Listen: Listen{Port: -1, REST: -1}},
		"metrics are on the REST port, which is off":                        {Loader: loader, Models: models, Listen: Listen{REST: -1}, Metrics: "/metrics"},
		fmt.Sprintf("gRPC port %d is taken by another process", port):       {Loader: loader, Models: models, Listen: Listen{Host: "127.0.0.1", Port: port}},
		fmt.Sprintf("REST port %d is taken by another process", port):       {Loader: loader, Models: models, Listen: Listen{Host: "127.0.0.1", REST: port}},
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

// TestWhileLoading: until the models are there, requests are told to try again.
func TestWhileLoading(t *testing.T) {
	root := folders(t, "m/1")
	gate := make(chan struct{})
	s := run(t, Options{Models: single(root, "m"), Loader: servable.LoaderFunc(func(context.Context, string) (servable.Model, error) {
		<-gate
		return modeltest.New(), nil
	})})
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

// slow is a model whose runs wait for a token.
func slow(began chan<- struct{}, token <-chan struct{}) servable.Loader {
	return servable.LoaderFunc(func(context.Context, string) (servable.Model, error) {
		m := modeltest.New()
		compute := m.Compute
		m.Compute = func(ctx context.Context, feeds map[string]*graph.Tensor, fetches []string) ([]*graph.Tensor, error) {
			began <- struct{}{}
			<-token
			return compute(ctx, feeds, fetches)
		}
		return m, nil
	})
}

// TestDrains: requests that are going on are answered, whoever comes later finds the door closed.
func TestDrains(t *testing.T) {
	root := folders(t, "m/1")
	began, token := make(chan struct{}), make(chan struct{})
	s := run(t, Options{Models: single(root, "m"), Loader: slow(began, token), Drain: patience}).wait(t)
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
		t.Errorf("health while draining: %v", r) // a stream that has ended already is good too
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

// TestDrainEnds: a request that does not end is cut off, and Run says so.
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

// TestFollowsFile: a config file that changes is taken in; one that is wrong changes nothing.
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
		if got := fmt.Sprint(s.Catalog().Models()); got == "[n]" {
			break
		} else if time.Since(start) > patience {
			t.Fatalf("models: %s, want [n]", got)
		}
	}
}

// TestFollowsRoot: all models below a root are served, those that come later too; a wrong one keeps no other from it.
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
		} else if time.Since(start) > patience {
			t.Fatal(err)
		}
	}
}

func TestToken(t *testing.T) {
	root := folders(t, "m/1")
	token, err := security.NewToken("a secret that is long enough", "/healthz")
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
