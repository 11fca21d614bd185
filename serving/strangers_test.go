package serving

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
)

// Strangers that fill all places, on both ports, block neither health checks nor clients, and end no request in progress.
func TestStrangersFillAllPlaces(t *testing.T) {
	began, token := make(chan struct{}), make(chan struct{})
	s, err := New(Options{Models: single(folders(t, "m/1"), "m"), Loader: slow(began, token), Listen: Listen{Host: "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	s.places = admission.NewPlaces(8, nil)
	ctx, stop := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	<-s.Available()
	at := s.Addresses()
	var strangers []net.Conn
	var ended atomic.Int64
	fill := func() {
		for i := range 40 {
			c, err := net.Dial("tcp", []string{at.GRPC, at.REST}[i%2])
			if err != nil {
				t.Fatal(err)
			}
			strangers = append(strangers, c)
			go func() {
				_, _ = io.Copy(io.Discard, c) // gRPC sends its settings
				ended.Add(1)
			}()
		}
		for int(ended.Load()) < len(strangers)-8 && ctx.Err() == nil { // otherwise they would come at the same time as requests
			time.Sleep(time.Millisecond)
		}
	}
	defer func() { // the end would wait for the beginning of each
		for _, c := range strangers {
			_ = c.Close()
		}
	}()
	c := dial(t, at.GRPC)
	answers := make(chan string, 2)
	ask := func() {
		go func() {
			_, err := predict(t, c, "m")
			answers <- "gRPC: " + errorText(err)
		}()
		go func() {
			got := do(t, "POST", "http://"+at.REST+"/v1/models/m:predict", `{"instances": [1]}`)
			answers <- "REST: " + strings.TrimPrefix(got[:3], "200")
		}()
		<-began
		<-began
	}
	fill()
	ask()
	fill()
	for range 3 {
		if got := get(t, "http://"+at.REST+"/healthz"); !strings.HasPrefix(got, "200") {
			t.Errorf("a health check: %s", got)
		}
	}
	close(token)
	for range 2 {
		select {
		case got := <-answers:
			if got != "gRPC: " && got != "REST: " {
				t.Errorf("a request that was being computed when strangers came: %s", got)
			}
		case <-ctx.Done():
			t.Fatal("a request that was being computed when strangers came is not answered")
		}
	}
	if n := s.places.Open(); n > 8 {
		t.Errorf("%d connections are open, expected 8 at most", n)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
