package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/tensor"
)

func TestRequestsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m-1.requests")
	want := [][]byte{[]byte("one"), {}, []byte("three")}
	if err := writeRequests(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := readRequests(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		of   []time.Duration
		q    float64
		want time.Duration
	}{{nil, 0.5, 0}, {[]time.Duration{1, 2, 3, 4}, 0.5, 3}, {[]time.Duration{1, 2}, 1, 2}} {
		if got := quantile(tc.of, tc.q); got != tc.want {
			t.Errorf("quantile %g of %v: got %v, expected %v", tc.q, tc.of, got, tc.want)
		}
	}
}

// startFixed runs the subject's server and returns its address.
func startFixed(t *testing.T) string {
	t.Helper()
	s, err := newFixed(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-s.Available():
	case <-time.After(30 * time.Second):
		t.Fatal("the server is not available after 30 s")
	}
	return s.Addresses().GRPC
}

// TestOverload: load on the subject's server, in this process.
func TestOverload(t *testing.T) {
	request, err := predictRequest("mlp", tensor.New(tensor.Float32, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	address := startFixed(t)
	l, err := newLoad(address, methodOf("mlp"), 1, [][]byte{request})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	took, _, err := l.run(4)
	if err != nil || len(took) != 4 {
		t.Fatalf("got %d answers (%v), expected 4", len(took), err)
	}
	o, err := offer(l.clients[0], request, 20, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.accepted) == 0 || len(o.accepted)+len(o.refused) != 20 {
		t.Errorf("%d accepted and %d refused of 20", len(o.accepted), len(o.refused))
	}
}
