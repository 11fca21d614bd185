package accept

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/serving/client"
)

// tellsVersion is a SavedModel of a few MB that computes y = x/2 + its version, for whole numbers x below a million.
const tellsVersion = `saved_model_schema_version: 1
meta_graphs {
  meta_info_def { tags: "serve" }
  graph_def {
    versions { producer: 1286 }
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "versions" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000000 } } float_val: %d } } } }
    node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
    node { name: "half" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.5 } } } }
    node { name: "id" op: "Cast" input: "x" attr { key: "SrcT" value { type: DT_FLOAT } } attr { key: "DstT" value { type: DT_INT32 } } }
    node { name: "version" op: "GatherV2" input: "versions" input: "id" input: "axis" attr { key: "Tparams" value { type: DT_FLOAT } } attr { key: "Tindices" value { type: DT_INT32 } } attr { key: "Taxis" value { type: DT_INT32 } } attr { key: "batch_dims" value { i: 0 } } }
    node { name: "scaled" op: "Mul" input: "x" input: "half" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "y" op: "AddV2" input: "scaled" input: "version" attr { key: "T" value { type: DT_FLOAT } } }
  }
  signature_def {
    key: "serving_default"
    value {
      inputs { key: "x" value { name: "x:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }
      outputs { key: "y" value { name: "y:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }
      method_name: "tensorflow/serving/predict"
    }
  }
}
`

// publish puts a version of tellsVersion into a base path the way a copying program should.
func publish(t *testing.T, base string, version int64) {
	t.Helper()
	staged := filepath.Join(filepath.Dir(base), fmt.Sprint("staged-", version))
	if err := os.MkdirAll(staged, 0o755); err != nil {
		t.Fatal(err)
	}
	written(t, filepath.Join(staged, "saved_model.pbtxt"), fmt.Sprintf(tellsVersion, version))
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(staged, filepath.Join(base, fmt.Sprint(version))); err != nil {
		t.Fatal(err)
	}
}

// asker sends a request, checks that a single version gave the whole answer, and returns that version.
type asker func(ctx context.Context, x []float32) (int64, error)

func (s *server) overGRPC() asker {
	c := s.dial()
	return func(ctx context.Context, x []float32) (int64, error) {
		p, err := c.Predict(ctx, client.Model{Name: "m"}, client.Inputs{"x": x})
		if err != nil {
			return 0, err
		}
		y, err := client.Output[[]float32](p, "y")
		if err != nil {
			return 0, err
		}
		v, err := versionOf(x, y)
		if err == nil && v != p.Version {
			err = fmt.Errorf("the answer names version %d and is that of %d", p.Version, v)
		}
		return v, err
	}
}

func (s *server) overREST(c *http.Client) asker {
	return func(ctx context.Context, x []float32) (int64, error) {
		code, b, err := s.request(ctx, c, "/v1/models/m:predict", map[string]any{"instances": x})
		if err != nil {
			return 0, err
		}
		var reply struct {
			Predictions []float32
		}
		if err := json.Unmarshal(b, &reply); err != nil || code != http.StatusOK {
			return 0, fmt.Errorf("%d %s (%v)", code, b, err)
		}
		return versionOf(x, reply.Predictions)
	}
}

func versionOf(x, y []float32) (int64, error) {
	if len(y) != len(x) {
		return 0, fmt.Errorf("%d answers to %d questions", len(y), len(x))
	}
	v := int64(y[0] - x[0]/2)
	for i := range x {
		if y[i] != x[i]/2+float32(v) {
			return 0, fmt.Errorf("answers of several versions or questions: x %v, y %v", x, y)
		}
	}
	return v, nil
}

// window is an interval of time.
type window struct{ from, to time.Time }

// crowd are clients that send requests until they are stopped.
type crowd struct {
	t         *testing.T
	stop      context.CancelFunc
	work      sync.WaitGroup
	newest    atomic.Int64 // newest version available for serving
	oldest    atomic.Int64 // versions below this one are no longer served
	cancelled atomic.Int64
	mu        sync.Mutex
	answered  []window
	failed    int
}

// gather starts n clients of a version, half of them with gRPC.
func (s *server) gather(n int, version int64) *crowd {
	ctx, stop := context.WithCancel(s.t.Context())
	c := &crowd{t: s.t, stop: stop}
	c.newest.Store(version)
	c.oldest.Store(version)
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	s.t.Cleanup(web.CloseIdleConnections)
	for i := range n {
		ask := s.overREST(web)
		if i%2 == 0 {
			ask = s.overGRPC()
		}
		c.work.Go(func() { c.run(ctx, ask, rand.New(rand.NewPCG(uint64(i), 9))) })
	}
	return c
}

func (c *crowd) run(ctx context.Context, ask asker, r *rand.Rand) {
	pause := time.NewTimer(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		pause.Reset(time.Duration(r.Int64N(int64(400 * time.Millisecond)))) // clients pause between requests
		x := make([]float32, 1+r.IntN(16))
		for i := range x {
			x[i] = float32(r.IntN(1_000_000))
		}
		mine, forget := context.WithTimeout(context.Background(), patience)
		impatient := r.IntN(8) == 0
		if impatient {
			time.AfterFunc(time.Duration(r.Int64N(int64(5*time.Millisecond))), forget)
		}
		oldest, began := c.oldest.Load(), time.Now()
		v, err := ask(mine, x)
		took := window{began, time.Now()}
		switch {
		case err != nil && impatient && mine.Err() != nil:
			c.cancelled.Add(1)
		case err == nil && (v < oldest || v > c.newest.Load()):
			err = fmt.Errorf("version %d answered, when %d to %d were served", v, oldest, c.newest.Load())
			fallthrough
		case err != nil:
			c.mu.Lock()
			if c.failed++; c.failed <= 5 {
				c.t.Errorf("after %v: %v", took.to.Sub(took.from), err)
			}
			c.mu.Unlock()
		default:
			c.mu.Lock()
			c.answered = append(c.answered, took)
			c.mu.Unlock()
		}
		forget()
	}
}

// p99 returns the 99th percentile and the number of the answers that do, or do not, overlap one of the windows.
func (c *crowd) p99(in []window, overlap bool) (time.Duration, int) {
	var all []time.Duration
	for _, a := range c.answered {
		if slices.ContainsFunc(in, func(w window) bool { return a.from.Before(w.to) && w.from.Before(a.to) }) == overlap {
			all = append(all, a.to.Sub(a.from))
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)*99/100], len(all)
}

// TestServingSwaps replaces the version every second while 200 clients send batched requests, some of which are
// cancelled. No request fails, no answer belongs to another request, and memory returns to its former size.
func TestServingSwaps(t *testing.T) {
	swaps, clients := 8, 200
	if thorough(t) {
		swaps = 300
	}
	base := filepath.Join(t.TempDir(), "m")
	publish(t, base, 1)
	s := serve(t, "--model", "m="+base, "--enable-batching")
	status := s.dial()
	c := s.gather(clients, 1)
	defer c.work.Wait()
	defer c.stop()
	var changing []window
	var before, most int
	for v := int64(2); v <= int64(swaps)+1; v++ {
		second := time.After(time.Second)
		c.newest.Store(v)
		publish(t, base, v)
		began := seen(t, status, v)
		w := window{from: time.Now()}
		if !began || !only(t, status, v) {
			t.Fatalf("version %d does not take the place of version %d within %v", v, v-1, patience)
		}
		c.oldest.Store(v)
		w.to = time.Now()
		changing = append(changing, w)
		if err := os.RemoveAll(filepath.Join(base, fmt.Sprint(v-1))); err != nil {
			t.Fatal(err)
		}
		if v == 4 {
			before = s.resident()
		}
		most = max(most, s.resident())
		select {
		case <-second:
		case <-s.Done():
			t.Fatalf("the server has ended with exit code %d", s.ExitCode())
		}
	}
	c.stop()
	c.work.Wait()
	after := s.resident()
	for until := time.Now().Add(patience); after > before+64 && time.Now().Before(until); <-time.After(100 * time.Millisecond) {
		after = s.resident() // memory is released a moment after a version was unloaded
	}
	during, n := c.p99(changing, true)
	between, m := c.p99(changing, false)
	t.Logf("%d swaps, %d requests answered, %d cancelled, %d failed; p99 %v of %d during swaps, %v of %d between them; %d MiB after 3 swaps, %d in the end, at most %d",
		swaps, n+m, c.cancelled.Load(), c.failed, during, n, between, m, before, after, most)
	if n+m == 0 || c.cancelled.Load() == 0 {
		t.Error("no request was answered, or none was cancelled")
	}
	if after > before+64 {
		t.Errorf("%d MiB after the swaps, %d at their beginning", after, before)
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM, expected 0", code)
	}
	if strings.Contains(s.log.String(), "panic") {
		t.Error("the server's log tells of a panic")
	}
}

// seen waits until the server knows a version. The server loads it only when it is sure that copying has ended.
func seen(t *testing.T, c *client.Client, version int64) bool {
	t.Helper()
	return await(t, c, func(all []client.VersionStatus) bool { return all[0].Version >= version })
}

// only waits until a version is available and all others have reached END.
func only(t *testing.T, c *client.Client, version int64) bool {
	t.Helper()
	return await(t, c, func(all []client.VersionStatus) bool {
		return all[0].Version == version && all[0].State == "AVAILABLE" && !slices.ContainsFunc(all[1:], func(v client.VersionStatus) bool { return v.State != "END" })
	})
}

// await polls the versions of model m until done returns true.
func await(t *testing.T, c *client.Client, done func([]client.VersionStatus) bool) bool {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		all, err := c.Status(ctx, "m")
		if err != nil {
			t.Fatal(err)
		}
		if done(all) {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
