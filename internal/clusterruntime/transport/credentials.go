package transport

import (
	"context"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// ServerOptions are options for a gRPC server that shares its port with s. Connections that begin with this transport's preface
// go to s. If creds is not nil, all connections use TLS. Answers tell clients that know the transport that it is available.
func (s *Server) ServerOptions(creds credentials.TransportCredentials) []grpc.ServerOption {
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	return []grpc.ServerOption{grpc.Creds(dividing{creds, s}), grpc.ChainUnaryInterceptor(answerOffer)}
}

// answerOffer answers the header of clients that know the transport.
func answerOffer(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if len(metadata.ValueFromIncomingContext(ctx, offer)) > 0 {
		_ = grpc.SetHeader(ctx, metadata.Pairs(offer, version)) // without it, calls stay on gRPC
	}
	return next(ctx, in)
}

// dividing are credentials whose handshake checks how a connection begins.
type dividing struct {
	credentials.TransportCredentials
	to *Server
}

// magic is how many bytes distinguish this transport's preface from HTTP/2's.
const magic = 4

// ServerHandshake implements credentials.TransportCredentials. gRPC limits its time.
func (d dividing) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return conn, info, err
	}
	first := make([]byte, magic)
	if _, err := io.ReadFull(conn, first); err != nil {
		_ = conn.Close()
		return nil, nil, io.EOF // as for a caller that disconnects, which gRPC does not log
	}
	if string(first) != preface[:magic] {
		return &begun{conn, first}, info, nil
	}
	d.to.accept(conn, info)
	return nil, nil, credentials.ErrConnDispatched
}

// Clone implements credentials.TransportCredentials.
func (d dividing) Clone() credentials.TransportCredentials {
	return dividing{d.TransportCredentials.Clone(), d.to}
}

// begun is a connection whose first bytes were read already.
type begun struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (c *begun) Read(p []byte) (int, error) {
	if len(c.first) > 0 && len(p) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
