package accept

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/freeport"
)

// TestServerKilled ends the server as kill -9 does, under requests, and starts it again on the same ports.
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
				for { // until the server is gone
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

// TestServerDrains sends SIGTERM while requests wait for their batch: all of them are answered, and the exit code is 0.
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
		var sent, done sync.WaitGroup
		sent.Add(requests)
		for i := range requests {
			ask, ctx := s.overREST(web), httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Done() }})
			if i%2 == 0 {
				ask, ctx = s.overGRPC(), t.Context()
			}
			done.Go(func() {
				if i%2 == 0 {
					sent.Done()
				}
				v, err := ask(ctx, []float32{float32(i), 3})
				if err != nil || v != 7 {
					t.Errorf("request %d of those going on: version %d, %v", i, v, err)
				}
			})
		}
		sent.Wait()
		// The requests are in the system's buffers: the server needs a moment to take them all.
		<-time.After(700 * time.Millisecond)
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

// TestServerDrainsUnderLoad sends SIGTERM to a server that many clients call: each request is answered, or finds the
// door closed; none is taken and lost.
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
		answered := 0
		web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
		for i := range 16 {
			ask := s.overREST(web)
			if i%2 == 0 {
				ask = s.overGRPC()
			}
			work.Go(func() {
				for {
					_, err := ask(context.Background(), []float32{1})
					if err != nil {
						if !strings.Contains(err.Error(), "connect: ") { // no request was sent
							t.Errorf("a request at the end: %v", err)
						}
						return
					}
					mu.Lock()
					answered++
					mu.Unlock()
				}
			})
		}
		for until := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
			mu.Lock()
			n := answered
			mu.Unlock()
			if n > 500 || time.Now().After(until) {
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
