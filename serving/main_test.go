package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/serving/client"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitLimit bounds every wait of these tests.
const waitLimit = time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	t.Cleanup(cancel)
	return ctx
}

// loader loads the same model from every version directory, except one with a file "wrong".
var loader = func(_ context.Context, dir string) (Model, error) {
	if _, err := os.Stat(filepath.Join(dir, "wrong")); err == nil {
		return nil, errors.New("the model is wrong")
	}
	return modeltest.New(), nil
}

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

// run runs a server on free ports, by default of 127.0.0.1, until the test ends.
func run(t testing.TB, o Options) *running {
	t.Helper()
	if o.Listen.Host == "" {
		o.Listen.Host = "127.0.0.1"
	}
	if o.Loader == nil {
		o.Loader = loader
	}
	o.Loading.freeMemory = func() {}
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
	case <-time.After(waitLimit):
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
