package cluster

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/goestimator/goestimator/runconfig"
)

// Config describes a node.
type Config struct {
	Task        Task
	Address     string                // own host:port; "" for a node that only calls
	Listener    net.Listener          // if set, used instead of listening at Address
	Spec        runconfig.ClusterSpec // addresses of the peers
	Security    Security
	JobName     string        // of the job, the same in all its tasks; "": they identify each other by Spec, see JobID
	AnyJob      bool          // serve tasks of any job, until one holds the node: see Node.Hold
	CallTimeout time.Duration // deadline of calls whose context has none; 0: 60 s
	PeerTimeout time.Duration // a silent peer is lost after this time, at least 12 s; 0: 30 s
	// MaxMessageBytes bounds header and body of a message; 0: 64 MiB. At most nearly 2 GiB.
	MaxMessageBytes int
	Log             *slog.Logger // nil: slog.Default()

	dial   func(ctx context.Context, to Task) (net.Conn, error) // for NewLocal
	noBulk bool                                                 // for tests: everything goes by gRPC
	noSums bool                                                 // for benchmarks: plaintext without checksums
}

func (c Config) withDefaults() Config {
	if c.CallTimeout <= 0 {
		c.CallTimeout = 60 * time.Second
	}
	if c.PeerTimeout <= 0 {
		c.PeerTimeout = 30 * time.Second
	}
	if c.MaxMessageBytes <= 0 {
		c.MaxMessageBytes = 64 << 20
	}
	c.MaxMessageBytes = min(c.MaxMessageBytes, 1<<31-1024) // gRPC counts in 32 bits
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}
