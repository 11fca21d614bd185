package status

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/calls"
)

// TestPage: the page, its JSON and the metrics show the task's state; names that clients chose are escaped, and are not labels.
func TestPage(t *testing.T) {
	p := New(func() State {
		return State{Task: "/job:ps/task:0", Uptime: 90, Memory: Memory{Held: 3 << 20, Limit: 8 << 30},
			Variables: []Variable{{Name: "<script>w", Type: "float32", Shape: []int{2, 3}, Bytes: 24}, {Name: "v", Bytes: 8}},
			Queues:    []Queue{{Name: "q", Size: 3}}, Peers: []Peer{{Task: "/job:worker/task:0", State: "READY"}}}
	})
	p.Ended(calls.Call{Service: "tensorflow.MasterService", Method: "RunStep", Took: 3 * time.Millisecond})
	p.Ended(calls.Call{Service: "tensorflow.MasterService", Method: "RunStep", Took: time.Millisecond, Err: errors.New("no")})
	get := func(path string) string {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
		return w.Body.String()
	}
	for path, wants := range map[string][]string{
		"/": {"<h1>/job:ps/task:0</h1>", "1m30s", "3.0 MiB held of 8.0 GiB", "&lt;script&gt;w", "[2 3]", "Variables: 2, 32 B", "READY"},
		MetricsPath: {"goestimator_cluster_variable_bytes 32\n", "goestimator_cluster_queue_elements 3\n", "goestimator_cluster_memory_limit_bytes 8.589934592e+09\n", "goestimator_cluster_peers_ready 1\n",
			`grpc_server_handled_total{grpc_code="OK",grpc_method="RunStep",grpc_service="tensorflow.MasterService"} 1`, `grpc_server_handling_seconds_count{grpc_method="RunStep",grpc_service="tensorflow.MasterService"} 2`, "go_goroutines "},
	} {
		text := get(path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", path, want, text)
			}
		}
		if strings.Contains(text, "<script>") {
			t.Errorf("%s: a name is not escaped", path)
		}
	}
	var s State
	if err := json.Unmarshal([]byte(get("/status.json")), &s); err != nil || len(s.Variables) != 2 || s.Sessions == nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestRate: steps count for ten seconds, and quantiles are at most one class too large.
func TestRate(t *testing.T) {
	var r rate
	now := time.Unix(1_000_000, 0)
	for i := range 100 {
		r.add(now.Add(-time.Duration(1+i%10)*time.Second), time.Duration(i+1)*time.Millisecond)
	}
	r.add(now, time.Hour)
	s := r.steps(now)
	if s.PerSecond != 10 || s.P50 < 50 || s.P50 > 60 || s.P99 < 99 || s.P99 > 118 {
		t.Errorf("got %+v", s)
	}
	if s := r.steps(now.Add(time.Minute)); s != (Steps{}) {
		t.Errorf("a minute later: %+v", s)
	}
}
