package cluster

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/goestimator/goestimator/runconfig"
)

// Security says how the connections of a cluster are secured.
type Security struct {
	Mode       string // "auto" (default): TLS where certificates are set, else plaintext with one warning; "tls": never plaintext
	CA         string // file of certificates that sign the peers' (PEM)
	Cert       string // file of this task's certificate chain (PEM)
	Key        string // file of its key (PEM)
	ClientAuth bool   // mutual TLS: callers must present a certificate that CA signed
	ServerName string // name expected in the peers' certificates, instead of the host they are called at
	Token      string // where set, required of every caller and sent with every call
}

// Config describes a node.
type Config struct {
	Task        Task
	Address     string                // own host:port; "" for a node that only calls
	Listener    net.Listener          // where set, used instead of listening at Address
	Spec        runconfig.ClusterSpec // addresses of the peers
	Security    Security
	CallTimeout time.Duration // deadline of calls whose context has none; 0: 60 s
	PeerTimeout time.Duration // a silent peer is lost after this; 0: 30 s
	// MaxMessageBytes bounds a message; 0: 64 MiB.
	MaxMessageBytes int
	Log             *slog.Logger // nil: slog.Default()

	dial func(ctx context.Context, to Task) (net.Conn, error) // of NewLocal
}

func (c Config) withDefaults() Config {
	if c.CallTimeout == 0 {
		c.CallTimeout = 60 * time.Second
	}
	if c.PeerTimeout == 0 {
		c.PeerTimeout = 30 * time.Second
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = 64 << 20
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}
