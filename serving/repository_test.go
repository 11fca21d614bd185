package serving

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestLoadAgain: a load tries failed versions once more and says why they failed. The only model can also be loaded again.
func TestLoadAgain(t *testing.T) {
	root := folders(t, "m/1")
	s := run(t, Options{Models: single(root, "m")}).wait(t)
	ctx := testContext(t)
	if err := s.repository.Unload(ctx, "m"); err != nil {
		t.Fatal(err)
	}
	if err := s.repository.Unload(ctx, "m"); status.Code(err) != codes.NotFound {
		t.Errorf("the second unload: got %v", err)
	}
	wrong := filepath.Join(root, "m/1/wrong")
	if err := os.WriteFile(wrong, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.repository.Load(ctx, "m"); err == nil || !strings.Contains(err.Error(), "the model is wrong") {
			t.Errorf("a wrong model: got %v", err)
		}
	}
	if err := os.Remove(wrong); err != nil {
		t.Fatal(err)
	}
	if err := s.repository.Load(ctx, "m"); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(root, "m/2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.repository.Load(ctx, "m"); err != nil || get(t, "http://"+s.Addresses().REST+"/v2/models/m/versions/2/ready")[:3] != "200" {
		t.Errorf("a new version: got %v", err)
	}
}

// TestLoadAfterReload: a model that was unloaded cannot be loaded once a new config does not name it. A refused config changes nothing.
func TestLoadAfterReload(t *testing.T) {
	root := folders(t, "m/1", "n/1")
	s := run(t, Options{Models: single(root, "m", "n")}).wait(t)
	ctx := testContext(t)
	if err := s.repository.Unload(ctx, "m"); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(ctx, manager.Single(map[string]string{"n": "relative"})); status.Code(err) != codes.InvalidArgument {
		t.Fatalf("a wrong config: got %v", err)
	}
	for range 2 {
		if err := s.repository.Load(ctx, "m"); err != nil {
			t.Fatal(err)
		}
		if err := s.repository.Unload(ctx, "m"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reload(ctx, manager.Single(map[string]string{"n": filepath.Join(root, "n")})); err != nil {
		t.Fatal(err)
	}
	if err := s.repository.Load(ctx, "m"); status.Code(err) != codes.NotFound {
		t.Errorf("after a reload without it: got %v", err)
	}
}

// TestUnloadBesideLabels: a model whose unload ends with an error about another model's label can be loaded again.
func TestUnloadBesideLabels(t *testing.T) {
	root := folders(t, "m/1", "n/1")
	s := run(t, Options{Models: single(root, "m", "n")}).wait(t)
	ctx := testContext(t)
	cfg := manager.Single(map[string]string{"m": filepath.Join(root, "m"), "n": filepath.Join(root, "n")})
	for _, m := range cfg.GetModelConfigList().GetConfig() {
		if m.Name == "n" {
			m.VersionLabels = map[string]int64{"stable": 7}
		}
	}
	if err := s.Reload(ctx, cfg); status.Code(err) != codes.FailedPrecondition {
		t.Fatalf("got %v", err)
	}
	if err := s.repository.Unload(ctx, "m"); status.Code(err) != codes.FailedPrecondition {
		t.Fatalf("got %v", err)
	}
	if err := s.repository.Load(ctx, "m"); status.Code(err) == codes.NotFound {
		t.Errorf("got %v", err)
	}
	if got := get(t, "http://"+s.Addresses().REST+"/v2/models/m/ready"); !strings.HasPrefix(got, "200") {
		t.Errorf("got %s", got)
	}
}

// TestEditsWait: a caller that waits for another's load ends with its own context, and no edit of the config undoes another.
func TestEditsWait(t *testing.T) {
	root := folders(t, "m/1", "n/1", "slow/1")
	started, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := run(t, Options{Models: single(root, "m", "n"), Loader: func(_ context.Context, dir string) (Model, error) {
		if strings.Contains(dir, "slow") {
			once.Do(func() { close(started) })
			<-end
		}
		return modeltest.New(), nil
	}}).wait(t)
	ctx := testContext(t)
	done := make(chan error, 1)
	go func() {
		bases := map[string]string{}
		for _, n := range []string{"m", "n", "slow"} {
			bases[n] = filepath.Join(root, n)
		}
		done <- s.Reload(ctx, manager.Single(bases))
	}()
	<-started
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.repository.Unload(gone, "m"); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	unloaded := make(chan error, 1)
	go func() { unloaded <- s.repository.Unload(ctx, "m") }()
	close(end)
	for _, c := range []chan error{done, unloaded} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(s.models.Models(), ","); strings.Contains(got, "m") || !strings.Contains(got, "slow") {
		t.Errorf("served are %s", got)
	}
}

// TestUnloadUnderLoad: requests that race with loads and unloads get a correct answer, or the error that the model is not there.
func TestUnloadUnderLoad(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	at := "http://" + s.Addresses().REST + "/v2/"
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 50 {
				got := do(t, http.MethodPost, at+"models/m/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`)
				if !strings.HasPrefix(got, "404") && !strings.Contains(got, `"data": [2.5]`) {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	for range 20 {
		for _, what := range []string{"unload", "load"} {
			if got := do(t, http.MethodPost, at+"repository/models/m/"+what, `{"parameters": {"unload_dependents": true}}`); !strings.HasPrefix(got, "200") {
				t.Errorf("%s: got %s", what, got)
			}
		}
	}
	work.Wait()
}

// TestAdminPages: without a token, pages of other origins cannot load or unload models, even if they may predict.
func TestAdminPages(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Requests: Requests{CORS: true}}).wait(t)
	for origin, want := range map[string]int{"": 200, "http://" + s.Addresses().REST: 200, "http://evil.example": 403} {
		r, err := http.NewRequestWithContext(testContext(t), http.MethodPost, "http://"+s.Addresses().REST+"/v2/repository/models/m/load", nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("origin %q: got %d, expected %d", origin, resp.StatusCode, want)
		}
	}
}

// TestLoadParameters: a load that asks for another config than the server's is refused.
func TestLoadParameters(t *testing.T) {
	s := run(t, Options{Models: single(folders(t, "m/1"), "m")}).wait(t)
	at := "http://" + s.Addresses().REST + "/v2/repository/models/m/load"
	for body, want := range map[string]string{"": "200", "{}": "200", `{"parameters": {}}`: "200", `{"parameters": {"config": "{}"}}`: "400",
		`{"parameters": {"file:1/saved_model.pb": "x"}}`: "400", `{"parameters": 7}`: "400", "[1]": "400", "x": "400"} {
		if got := do(t, http.MethodPost, at, body); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s", body, got)
		}
	}
	r := &pb.RepositoryModelLoadRequest{ModelName: "m", Parameters: map[string]*pb.ModelRepositoryParameter{"config": {}}}
	if err := invoker(t, s)("RepositoryModelLoad", r, &pb.RepositoryModelLoadResponse{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
}
