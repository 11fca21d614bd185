package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/goestimator/goestimator/cluster"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
)

// large makes a tensor of 68 MiB on a parameter server; a worker sends it on.
const large = `
	node { name: "dims" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_INT32 } }
		attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 17825792 } } } }
	node { name: "seven" op: "Const" device: "/job:ps/task:0" attr { key: "dtype" value { type: DT_FLOAT } }
		attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 7 } } } }
	node { name: "fill" op: "Fill" input: "dims" input: "seven" device: "/job:ps/task:0"
		attr { key: "T" value { type: DT_FLOAT } } attr { key: "index_type" value { type: DT_INT32 } } }
	node { name: "large" op: "Identity" input: "fill" device: "/job:worker/task:0" attr { key: "T" value { type: DT_FLOAT } } }`

// TestServerSecured: with TLS and a token, two tasks and a Go client run a step with a tensor larger than a message between this
// project's own tasks. An open session counts as use of a parameter server of this project's jobs. Without the token, access is denied.
func TestServerSecured(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: sends a large tensor (-short)")
	}
	ports, err := freeport.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	t.Setenv(distribute.TokenVariable, "secret")
	authority := clustertest.NewAuthority(t)
	cert, key := authority.Issue(t, t.TempDir(), clustertest.Certificate{})
	args := []string{"--cluster_spec=worker|" + ports.Address(0) + ",ps|" + ports.Address(1), "--set=rpc.ca_file=" + authority.CAFile, "--set=rpc.cert_file=" + cert, "--set=rpc.key_file=" + key}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 2)
	for _, more := range [][]string{{"--job_name=worker"}, {"--job_name=ps", "--status-address=" + ports.Address(2)}} {
		task, err := served(t, append(more, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- runServer(ctx, task, slog.New(slog.DiscardHandler)) }()
	}
	pem, err := os.ReadFile(authority.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	secure := cluster.TLS(&tls.Config{RootCAs: roots})
	g, err := cluster.ReadTextGraph([]byte(large))
	if err != nil {
		t.Fatal(err)
	}
	var refused *cluster.Error
	for i := range 2 {
		if _, err := cluster.Dial(ctx, "grpc://"+ports.Address(i), g, secure); !errors.As(err, &refused) || refused.Code != codes.Unauthenticated {
			t.Errorf("without the token: %v", err)
		}
	}
	for i := range 2 { // each is the master once
		s, err := cluster.Dial(ctx, "grpc://"+ports.Address(i), g, secure, cluster.Token("secret"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(ctx, nil, []string{"large"})
		if err != nil {
			t.Fatal(err)
		}
		if v := tensor.Values[float32](out[0]); len(v) != 17<<20 || v[len(v)-1] != 7 {
			t.Errorf("got %d numbers", len(v))
		}
		if now := statusOf(t, ports.Address(2)); now.Connections == 0 || now.Idle != 0 {
			t.Errorf("with a session: %d connections, idle for %v s", now.Connections, now.Idle)
		}
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
