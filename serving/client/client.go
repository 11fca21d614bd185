package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goestimator/goestimator/internal/serving/wire"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The defaults of Options.
const (
	DefaultTimeout  = time.Minute
	DefaultAttempts = 4
	DefaultBackoff  = 100 * time.Millisecond
)

// maxAttempts is gRPC's limit on attempts.
const maxAttempts = 5

// Options says how to connect and call. The zero value is plain text with the defaults.
type Options struct {
	TLS        *tls.Config       // nil: plain text
	Token      string            // sent as "authorization: Bearer"; "": none
	PlainToken bool              // allow the token in plain text (for a loopback interface, or a proxy that encrypts)
	MaxMessage int               // bytes of a message in either direction; 0: 2 GiB
	Timeout    time.Duration     // of calls whose context has no deadline; 0: DefaultTimeout
	Attempts   int               // attempts of a call that fails with UNAVAILABLE, 1 to 5; 0: DefaultAttempts
	Backoff    time.Duration     // wait before the second attempt; then doubled, up to 20-fold, with jitter; 0: DefaultBackoff
	Dial       []grpc.DialOption // further ones: interceptors, dialers
}

// Client calls a server. It is safe for concurrent use.
type Client struct {
	conn    *grpc.ClientConn
	timeout time.Duration
}

// Dial returns a client of target: "host:port", "unix:/path" or "dns:///name:port". It connects on the first call.
func Dial(target string, o Options) (*Client, error) {
	if o.Token != "" && o.TLS == nil && !o.PlainToken {
		return nil, errors.New("a token would go over plain text: set TLS, or PlainToken where nobody listens")
	}
	if o.Attempts < 0 || o.Attempts > maxAttempts || o.MaxMessage < 0 || o.Timeout < 0 || o.Backoff < 0 {
		return nil, fmt.Errorf("attempts %d, message %d, timeout %v, backoff %v: expected 0 to %d attempts and nothing negative",
			o.Attempts, o.MaxMessage, o.Timeout, o.Backoff, maxAttempts)
	}
	conn, err := grpc.NewClient(target, append(o.dialOptions(), o.Dial...)...)
	if err != nil {
		return nil, fmt.Errorf("model server %s: %w", target, err)
	}
	return &Client{conn: conn, timeout: or(o.Timeout, DefaultTimeout)}, nil
}

func (o Options) dialOptions() []grpc.DialOption {
	creds := insecure.NewCredentials()
	if o.TLS != nil {
		creds = credentials.NewTLS(o.TLS)
	}
	size := or(o.MaxMessage, math.MaxInt32)
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.Codec{}), grpc.MaxCallRecvMsgSize(size), grpc.MaxCallSendMsgSize(size), grpc.MaxRetryRPCBufferSize(size)),
	}
	if o.Token != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(token{o.Token, o.TLS != nil}))
	}
	attempts := or(o.Attempts, DefaultAttempts)
	if attempts == 1 {
		return append(opts, grpc.WithDisableRetry())
	}
	pause := or(o.Backoff, DefaultBackoff).Seconds()
	return append(opts, grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": %d, "initialBackoff": "%.9fs", "maxBackoff": "%.9fs", "backoffMultiplier": 2,
		"retryableStatusCodes": ["UNAVAILABLE"]}}]}`, attempts, pause, 20*pause)))
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// token is a bearer token as credentials.
type token struct {
	text   string
	secure bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + t.text}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (t token) RequireTransportSecurity() bool { return t.secure }

// Close ends the connection and the calls on it.
func (c *Client) Close() error { return c.conn.Close() }

// call calls a method within the client's time limit.
func (c *Client) call(ctx context.Context, method string, req, resp any) error {
	if _, ok := ctx.Deadline(); !ok {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.timeout)
		defer stop()
	}
	return c.conn.Invoke(ctx, "/tensorflow.serving."+method, req, resp)
}

// Model says which model to call.
type Model struct {
	Name      string
	Version   *int64 // nil: the latest, or the one with Label
	Label     string
	Signature string // "": serving_default
}

func (m Model) spec() *apis.ModelSpec {
	s := &apis.ModelSpec{Name: m.Name, SignatureName: m.Signature}
	switch {
	case m.Version != nil:
		s.VersionChoice = &apis.ModelSpec_Version{Version: wrapperspb.Int64(*m.Version)}
	case m.Label != "":
		s.VersionChoice = &apis.ModelSpec_VersionLabel{VersionLabel: m.Label}
	}
	return s
}
