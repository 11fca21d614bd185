package cluster_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// stream sends a large message over a stream and receives it back.
func stream(t *testing.T, n *cluster.Node, to cluster.Task) (bulk bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, err := n.Stream(ctx, to, "/test.Mirror/Mirror")
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("0123456789"), 300_000)
	go func() {
		_ = s.Send(&cluster.Frame{Header: []byte("h"), Body: [][]byte{body[:7], body[7:]}})
		_ = s.CloseSend()
	}()
	m, err := cluster.Next(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(m)
	if err != nil || !bytes.Equal(got, body) || string(m.Header) != "h" {
		t.Fatalf("got %d bytes, header %q, %v", len(got), m.Header, err)
	}
	if _, err := cluster.Next(s); err != io.EOF {
		t.Errorf("at the end: got %v", err)
	}
	return cluster.IsBulk(s)
}

func mirror() cluster.Service {
	return cluster.Service{Name: "test.Mirror", Streams: map[string]cluster.StreamHandler{"Mirror": func(_ context.Context, s cluster.Stream) error {
		f, err := s.Recv()
		if err != nil {
			return err
		}
		defer f.Release()
		return s.Send(&cluster.Frame{Header: f.Header, Body: f.Body})
	}}}
}

// TestBulkIsSecured: streams have their own connections under mutual TLS, with
// a token, and through a proxy.
func TestBulkIsSecured(t *testing.T) {
	authority := clustertest.NewAuthority(t)
	cert, key := authority.Issue(t, t.TempDir(), clustertest.Certificate{})
	secured := cluster.Security{CA: authority.CAFile, Cert: cert, Key: key, ClientAuth: true, Token: "secret"}
	named := secured
	named.ServerName = "localhost"
	for name, security := range map[string]cluster.Security{"plaintext": {}, "token": {Token: "secret"}, "mutual TLS": secured, "server name": named} {
		c := clustertest.Start(t, func(c *cluster.Config) { c.Security = security }, worker, ps)
		if err := c.Nodes[ps].Register(mirror()); err != nil {
			t.Fatal(err)
		}
		c.Nodes[ps].Serve()
		for range 2 {
			if !stream(t, c.Nodes[worker], ps) {
				t.Errorf("%s: the stream has no bulk connection", name)
			}
		}
	}
}

// TestSlowHandshakesEnd: a caller that connects without saying why is disconnected.
func TestSlowHandshakesEnd(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("takes 10 s: set GOESTIMATOR_ACCEPT=1")
	}
	n := serve(t, cluster.Security{}, "127.0.0.1:0")
	for _, hello := range []string{"", "G", "GEH\x02", "GEB\x02", "GEB\x02ticket"} {
		t.Run(hello, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", n.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(30 * time.Second))
			c.Write([]byte(hello))
			if b, err := io.ReadAll(c); err != nil && os.IsTimeout(err) || len(b) > 0 && b[0] == 'G' {
				t.Errorf("got %q, %v", b, err)
			}
		})
	}
}
