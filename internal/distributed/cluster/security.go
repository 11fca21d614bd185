package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
)

// Security describes how the connections of a cluster are secured. Files are PEM.
// They are read again at every handshake, so certificates can be rotated in place:
// if a pair cannot be used (half written), the previous one stays in use.
type Security struct {
	Mode       string // "auto" (also ""): TLS if any file is set, else plaintext with one warning; "tls": never plaintext
	CA         string // certificates that sign the peers' certificates; "": the system's
	Cert       string // this task's certificate chain; a task that serves needs it
	Key        string // its key
	ClientAuth bool   // mutual TLS: callers must present a certificate that CA signed
	ServerName string // name expected in the peers' certificates, instead of the host in their address
	Token      string // if set, required of every caller and sent with every call
}

// TLS reports whether connections are encrypted.
func (s Security) TLS() bool { return s.CA != "" || s.Cert != "" || s.Key != "" }

// check returns an error for settings that cannot work.
func (s Security) check(serves bool) error {
	switch {
	case s.Mode != "" && s.Mode != "auto" && s.Mode != "tls":
		return fmt.Errorf("rpc.security is %q, expected auto or tls", s.Mode)
	case s.Mode == "tls" && !s.TLS():
		return errors.New("rpc.security is tls, but no certificates are set: set rpc.ca_file, rpc.cert_file and rpc.key_file")
	case (s.Cert == "") != (s.Key == ""):
		return errors.New("of rpc.cert_file and rpc.key_file only one is set: set both")
	case s.TLS() && serves && s.Cert == "":
		return errors.New("rpc.ca_file is set, but this task serves others and has no certificate: set rpc.cert_file and rpc.key_file")
	case strings.ContainsFunc(s.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the job token (GOESTIMATOR_JOB_TOKEN) holds spaces or characters beyond ASCII: use letters and digits")
	case s.ClientAuth && (s.CA == "" || s.Cert == ""):
		return errors.New("rpc.client_auth needs rpc.ca_file, to check callers' certificates, and rpc.cert_file and rpc.key_file, to call with")
	}
	return nil
}

// security makes the credentials of a node's connections.
type security struct {
	settings Security
	files    *files // nil: plaintext
	sums     bool   // bytes have checksums, as in plaintext
	task     Task
	log      *slog.Logger
	refusals limiter
	damages  limiter
}

func newSecurity(c Config) (*security, error) {
	s := &security{settings: c.Security, sums: !c.Security.TLS() && !c.noSums, task: c.Task, log: c.Log, refusals: limiter{every: 10 * time.Second}, damages: limiter{every: time.Second}}
	if err := c.Security.check(c.Address != "" || c.Listener != nil); err != nil {
		return nil, fmt.Errorf("cluster: %v: %w", c.Task, err)
	}
	if !c.Security.TLS() {
		if c.dial == nil && !c.local() {
			s.log.Warn("tasks talk in plaintext: anyone who can reach their ports reads and changes what they exchange; "+
				"to secure them set rpc.ca_file, rpc.cert_file and rpc.key_file (and GOESTIMATOR_JOB_TOKEN)", "task", c.Task.String())
		}
		return s, nil
	}
	var err error
	if s.files, err = openFiles(c.Security, c.Log); err != nil {
		return nil, fmt.Errorf("cluster: %v: %w", c.Task, err)
	}
	return s, nil
}

// clientCredentials are the credentials of the connections to one peer.
type clientCredentials struct {
	*security
	peer *peer
}

// serverCredentials are the credentials for connections to this task.
type serverCredentials struct {
	*security
	bulk        *bulkServer
	peerTimeout time.Duration
}

// authInfo belongs to a connection: gRPC shows it to handlers.
type authInfo struct {
	credentials.CommonAuthInfo
	kind  string
	conn  *watchedConn
	probe bool // without a task's greeting
}

// AuthType returns "tls" or "plaintext".
func (a authInfo) AuthType() string { return a.kind }

func (s *security) info(kind string, c *watchedConn) authInfo {
	level := credentials.NoSecurity
	if kind == "tls" {
		level = credentials.PrivacyAndIntegrity
	}
	return authInfo{CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: level}, kind: kind, conn: c}
}

// ClientHandshake secures a connection to the peer. If the peer refuses, the calls
// that wait for it get the reason.
func (c clientCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	kind := "plaintext"
	if c.files != nil {
		kind = "tls"
		secured, _, err := credentials.NewTLS(c.files.clientConfig(c.settings)).ClientHandshake(ctx, authority, raw)
		if err != nil {
			c.peer.refused(explainTLS(err))
			c.peer.failed(err)
			return nil, nil, err
		}
		raw = secured
	}
	if err := c.greet(ctx, raw); err != nil {
		c.peer.failed(err)
		return nil, nil, err
	}
	c.peer.accepted()
	w := &watchedConn{Conn: raw}
	if c.sums {
		w.sums = newSummed(raw, c.peer.damaged)
		w.Conn = w.sums
	}
	c.peer.bulk.carried(w)
	return w, c.info(kind, w), nil
}

// greet passes the result of the peer's greeting to the calls that wait for it.
func (c clientCredentials) greet(ctx context.Context, raw net.Conn) error {
	err := greetServer(ctx, raw, c.files != nil)
	var refused refusedError
	switch {
	case errors.As(err, &refused):
		c.peer.refused(refused.error)
	case errors.Is(err, ErrDamaged):
		c.peer.damaged(err)
	}
	return err
}

// ServerHandshake secures a caller's connection, or refuses it.
func (c serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	kind, from := "plaintext", raw.RemoteAddr()
	loseAfter(raw, c.peerTimeout)
	raw, err := sniff(raw, c.files != nil)
	if err == nil && c.files != nil {
		kind = "tls"
		raw, _, err = credentials.NewTLS(c.files.serverConfig(c.settings)).ServerHandshake(raw)
	}
	var what opening
	if err == nil {
		raw, what, err = greetClient(raw)
	}
	if err == nil && what == openBulk {
		if err = c.bulk.accept(raw, c.sums); err == nil {
			return nil, nil, credentials.ErrConnDispatched
		}
	}
	if err != nil {
		if !errors.Is(err, io.EOF) && c.refusals.allow() { // probes connect and leave
			c.log.Warn("refused a connection", "task", c.task.String(), "from", from, "err", err)
		}
		return nil, nil, err
	}
	w := &watchedConn{Conn: raw}
	if c.sums && what == openCalls {
		w.sums = newSummed(raw, func(err error) { c.damaged(w, err) })
		w.Conn = w.sums
	}
	info := c.info(kind, w)
	info.probe = what == openProbe
	return w, info, nil
}

// damaged tells the caller, and waits a moment for it to close the connection.
func (c serverCredentials) damaged(w *watchedConn, err error) {
	if c.damages.allow() { // anyone can send damaged bytes, as often as they like
		c.log.Warn("a connection is given up: the caller is told, and should be started again", "task", c.task.String(), "from", w.RemoteAddr(), "err", err)
	}
	w.sums.alert()
	linger(w.sums.Conn)
}

// ServerHandshake is not used: these are a caller's credentials.
func (clientCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("cluster: credentials of a caller cannot serve")
}

// ClientHandshake is not used: these are a server's credentials.
func (serverCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("cluster: credentials of a server cannot call")
}

// Info returns the protocol of the connections.
func (s *security) Info() credentials.ProtocolInfo {
	kind := "plaintext"
	if s.files != nil {
		kind = "tls"
	}
	return credentials.ProtocolInfo{SecurityProtocol: kind, ServerName: s.settings.ServerName} //nolint:staticcheck // deprecated for callers; gRPC reads it
}

// Clone returns the same credentials, which do not change.
func (c clientCredentials) Clone() credentials.TransportCredentials { return c }

// Clone returns the same credentials, which do not change.
func (c serverCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName is not supported: use Security.ServerName.
func (*security) OverrideServerName(string) error {
	return errors.New("cluster: set Security.ServerName instead")
}

// clientConfig and serverConfig make a new configuration for every handshake.
func (f *files) clientConfig(s Security) *tls.Config {
	pair, pool := f.current()
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: s.ServerName}
	if pair != nil {
		c.Certificates = []tls.Certificate{*pair}
	}
	return c
}

func (f *files) serverConfig(s Security) *tls.Config {
	pair, pool := f.current()
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*pair}, SessionTicketsDisabled: true}
	if s.ClientAuth {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, pool
	}
	return c
}
