package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// TestDamageOnTheWay: wherever a bit is flipped, in calls or streams, on the way there or
// back, the caller gets ErrDamaged and no wrong data before that.
func TestDamageOnTheWay(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 9))
	for _, way := range []clustertest.Way{clustertest.ToTarget, clustertest.FromTarget} {
		// In new connections and used ones, in small messages and within bodies.
		for _, after := range []int64{0, 3, 7, 8, 20, 60, 100, 150, 300, 1000, 5000, 100_000, 400_000, 1_000_000} {
			fresh := r.IntN(2) == 0
			t.Run(fmt.Sprintf("way %d, byte %d, fresh %t", way, after, fresh), func(t *testing.T) {
				t.Parallel()
				c := clustertest.Start(t, nil, worker, ps)
				for _, s := range []cluster.Service{ping(), mirror()} {
					if err := c.Nodes[ps].Register(s); err != nil {
						t.Fatal(err)
					}
				}
				c.Nodes[ps].Serve()
				if !fresh {
					if _, err := exchangeAll(t, c.Nodes[worker]); err != nil {
						t.Fatal(err)
					}
				}
				c.Proxies[ps].Damage(way, after)
				for {
					damagedBefore := c.Proxies[ps].Damaged(way)
					_, err := exchangeAll(t, c.Nodes[worker])
					if err == nil && damagedBefore {
						t.Fatal("bytes were damaged, and nobody noticed")
					}
					if err == nil {
						continue
					}
					if !errors.Is(err, cluster.ErrDamaged) {
						t.Fatalf("got %v", err)
					}
					break
				}
				<-c.Nodes[worker].Damaged()
				if _, err := exchangeAll(t, c.Nodes[worker]); !errors.Is(err, cluster.ErrDamaged) {
					t.Errorf("later: got %v", err)
				}
				if err := c.Nodes[worker].Close(); err != nil { // the process ends
					t.Error(err)
				}
				again, err := cluster.Open(cluster.Config{Task: worker, Spec: c.Nodes[worker].Spec(), Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				if _, err := exchangeAll(t, again); err != nil {
					t.Errorf("a new process: %v", err)
				}
			})
		}
	}
}

// exchangeAll makes a call, and a stream that echoes everything.
func exchangeAll(t *testing.T, n *cluster.Node) (bulk bool, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f, err := n.Call(ctx, ps, "/test.Ping/Ping", &cluster.Frame{Header: []byte("header"), Body: [][]byte{make([]byte, 1000)}})
	if err != nil {
		return false, err
	}
	if f.Release(); string(f.Header) != "pong" {
		t.Fatalf("a wrong answer: %q", f.Header)
	}
	s, err := n.Stream(ctx, ps, "/test.Mirror/Mirror")
	if err != nil {
		return false, err
	}
	body := bytes.Repeat([]byte("0123456789"), 50_000)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = s.Send(&cluster.Frame{Header: []byte("h"), Body: [][]byte{body[:7], body[7:]}}) // Next returns the error
		_ = s.CloseSend()
	}()
	defer func() { <-sent }()
	m, err := cluster.Next(s)
	if err != nil {
		return cluster.IsBulk(s), err
	}
	got := make([]byte, m.Len())
	if _, err := io.ReadFull(m, got); err != nil {
		return cluster.IsBulk(s), err
	}
	if string(m.Header) != "h" || !bytes.Equal(got, body) {
		t.Fatal("a wrong answer of the stream")
	}
	_, err = cluster.Next(s)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return cluster.IsBulk(s), err
}
