package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"

	"google.golang.org/grpc/credentials"
)

// Credentials are for gRPC connections without a task's greeting, such as those for TensorFlow's services between our servers. They use the same
// files as the node's connections, read again at every handshake. Both are nil if the connections are in plaintext.
func Credentials(s Security, log *slog.Logger) (serve, dial credentials.TransportCredentials, err error) {
	if err := s.check(true); err != nil || !s.TLS() {
		return nil, nil, err
	}
	f, err := openFiles(s, log)
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: %w", err)
	}
	of := fileCredentials{TransportCredentials: credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.ServerName}), files: f, settings: s}
	return of, of, nil
}

// fileCredentials are TLS credentials with the certificates in files at the time of a handshake.
type fileCredentials struct {
	credentials.TransportCredentials // for Info
	files                            *files
	settings                         Security
}

// ServerHandshake implements credentials.TransportCredentials.
func (c fileCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(c.files.serverConfig(c.settings)).ServerHandshake(raw)
}

// ClientHandshake implements credentials.TransportCredentials.
func (c fileCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(c.files.clientConfig(c.settings)).ClientHandshake(ctx, authority, raw)
}

// Clone implements credentials.TransportCredentials. The credentials do not change.
func (c fileCredentials) Clone() credentials.TransportCredentials { return c }
