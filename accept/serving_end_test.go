package accept

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// TestServerKilled ends the server like kill -9 during requests, and restarts it on the same ports.
func TestServerKilled(t *testing.T) {
	kills := 2
	if thorough(t) {
		kills = 10
	}
	ports, err := freeport.Reserve(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Close() })
	base := filepath.Join(t.TempDir(), "m")
	for v := range int64(kills) {
		publish(t, base, v+1)
		_, grpc, _ := net.SplitHostPort(ports.Address(0))
		_, rest, _ := net.SplitHostPort(ports.Address(1))
		s := launch(t, "--port", grpc, "--rest-port", rest, "--model", "m="+base)
		s.ready()
		asks := []asker{s.overREST(&http.Client{Transport: &http.Transport{}}), s.overGRPC()}
		var work sync.WaitGroup
		for range 8 {
			work.Go(func() {
				for { // until the server has ended
					for _, ask := range asks {
						got, err := ask(t.Context(), []float32{1, 2, 3})
						if err != nil {
							return
						}
						if got != v+1 {
							t.Errorf("version %d answered, expected %d", got, v+1)
						}
					}
				}
			})
		}
		for _, ask := range asks {
			if _, err := ask(t.Context(), []float32{4}); err != nil {
				t.Fatal(err)
			}
		}
		if code := s.end(syscall.SIGKILL); code != 137 {
			t.Errorf("exit code %d, expected 137", code)
		}
		work.Wait()
	}
}

// queued returns the number of rows that wait in the server for their batch.
func (s *server) queued() int {
	s.t.Helper()
	code, text := s.ask("/monitoring/prometheus/metrics", nil)
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "goestimator_serving_queue "); ok {
			rows, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				s.t.Fatal(err)
			}
			return rows
		}
	}
	s.t.Fatalf("%d: the metrics tell of no queue: %.500s", code, text)
	return 0
}

// TestServerDrains sends SIGTERM while requests wait for their batch: all are answered, and the exit code is 0.
func TestServerDrains(t *testing.T) {
	rounds := 1
	if thorough(t) {
		rounds = 10
	}
	dir := t.TempDir()
	base := filepath.Join(dir, "m")
	publish(t, base, 7)
	batching := written(t, filepath.Join(dir, "batching.txt"), "max_batch_size { value: 100000 } batch_timeout_micros { value: 1500000 } num_batch_threads { value: 2 }")
	for range rounds {
		s := serve(t, "--model", "m="+base, "--enable-batching", "--batching-parameters-file", batching)
		const requests = 40
		web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: requests}}
		var done sync.WaitGroup
		var answered atomic.Int64
		for i := range requests {
			ask := s.overREST(web)
			if i%2 == 0 {
				ask = s.overGRPC()
			}
			done.Go(func() {
				v, err := ask(t.Context(), []float32{float32(i), 3})
				answered.Add(1)
				if err != nil || v != 7 {
					t.Errorf("request %d of those going on: version %d, %v", i, v, err)
				}
			})
		}
		// On a slow machine some are answered before the last one arrives.
		for until := time.Now().Add(patience); int(answered.Load())+s.queued()/2 < requests; <-time.After(5 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("the server has not taken %d requests within %v", requests, patience)
			}
		}
		code := s.end(syscall.SIGTERM)
		done.Wait()
		web.CloseIdleConnections()
		if code != 0 {
			t.Errorf("exit code %d after SIGTERM, expected 0", code)
		}
		if _, err := s.overGRPC()(t.Context(), []float32{1}); err == nil {
			t.Error("the server answers after its end")
		}
	}
}

// TestServerDrainsUnderLoad sends SIGTERM to a server that many clients call. Each request is answered or its
// connection is refused; none is accepted and lost.
func TestServerDrainsUnderLoad(t *testing.T) {
	rounds := 1
	if thorough(t) {
		rounds = 10
	}
	base := filepath.Join(t.TempDir(), "m")
	publish(t, base, 7)
	for range rounds {
		s := serve(t, "--model", "m="+base, "--enable-batching")
		var work sync.WaitGroup
		var mu sync.Mutex
		answered, connected := 0, 0
		web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
		for i := range 16 {
			ask := s.overREST(web)
			if i%2 == 0 {
				ask = s.overGRPC()
			}
			work.Go(func() {
				for first := true; ; first = false {
					_, err := ask(context.Background(), []float32{1})
					if err != nil {
						if !strings.Contains(err.Error(), "connect: ") { // no request was sent
							t.Errorf("a request at the end: %v", err)
						}
						return
					}
					mu.Lock()
					answered++
					if first {
						connected++
					}
					mu.Unlock()
				}
			})
		}
		for until := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
			mu.Lock()
			// A connection not yet accepted is reset when the port closes.
			busy := answered > 500 && connected == 16
			mu.Unlock()
			if busy || time.Now().After(until) {
				break
			}
		}
		if code := s.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d after SIGTERM, expected 0", code)
		}
		work.Wait()
		web.CloseIdleConnections()
	}
}
