package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/calls"
	"github.com/goestimator/goestimator/internal/clusterruntime/codec"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// way is how calls are transported.
type way struct {
	name   string
	direct bool
	tls    bool
}

var ways = []way{{"gRPC", false, false}, {"direct", true, false}, {"gRPC, TLS", false, true}, {"direct, TLS", true, true}}

// rig is a server and a client.
type rig struct {
	t      *testing.T
	conn   *Conn
	memory *budget.Server
	direct *Server
	stop   func()
	began  chan struct{} // has an element for each call of "wait" that has begun
	ended  chan error    // and the reason for each that has ended
	let    chan struct{} // releases one
}

// pair returns credentials of a server and its clients.
func pair(t *testing.T, secured bool) (serve, dial credentials.TransportCredentials) {
	t.Helper()
	if !secured {
		return nil, insecure.NewCredentials()
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "task"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}), credentials.NewTLS(&tls.Config{RootCAs: roots})
}

// serve serves methods that exercise a transport.
func serve(t *testing.T, w way) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, memory: budget.NewServer(budget.Limits{Server: 64 << 20}), began: make(chan struct{}, 100), ended: make(chan error, 100), let: make(chan struct{})}
	secured, dial := pair(t, w.tls)
	r.stop = r.start(l, secured, w.direct)
	r.conn, err = NewConn(l.Addr().String(), Options{Credentials: dial, PerCall: service.Token("abc"), GRPC: []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec.Codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.conn.Close(); err != nil {
			t.Error(err)
		}
		r.stop()
		r.memory.Close()
	})
	if w.direct {
		r.becomes(true)
	}
	return r
}

// start starts the server, with this transport or without.
func (r *rig) start(l net.Listener, secured credentials.TransportCredentials, direct bool) (stop func()) {
	r.direct = NewServer()
	options := []grpc.ServerOption{grpc.ForceServerCodecV2(codec.Codec{}), grpc.MaxRecvMsgSize(maxMessage), grpc.WaitForHandlers(true)}
	if direct {
		options = append(options, r.direct.ServerOptions(secured)...)
	} else if secured != nil {
		options = append(options, grpc.Creds(secured))
	}
	g := grpc.NewServer(options...)
	let := calls.New(calls.Options{Task: "/job:ps/task:0", Token: "abc", Memory: r.memory, Codec: codec.Codec{}})
	for _, to := range []grpc.ServiceRegistrar{g, r.direct} {
		service.Register(let.Through(to), service.Master, r.methods())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.Serve(l)
	}()
	return func() {
		r.direct.Stop()
		g.Stop()
		<-ended
	}
}

func (r *rig) methods() service.Local {
	return service.Local{
		service.Bind("RunStep", r.echo),
		service.Bind("MakeCallable", r.fail),
		service.Bind("CloseSession", r.wait),
		service.Bind("ListDevices", r.describe),
	}
}

// echo answers with the received tensors.
func (r *rig) echo(_ context.Context, in *rpcs.RunStepRequest) (*rpcs.RunStepResponse, error) {
	return &rpcs.RunStepResponse{Tensor: in.GetFeed(), StatusErrorMessage: in.GetSessionHandle()}, nil
}

// fail fails with a status that has details and metadata.
func (r *rig) fail(ctx context.Context, in *rpcs.MakeCallableRequest) (*rpcs.MakeCallableResponse, error) {
	if err := grpc.SetTrailer(ctx, metadata.Pairs("why", "as asked")); err != nil {
		return nil, err
	}
	s, err := status.New(codes.Aborted, in.GetSessionHandle()).WithDetails(&rpcs.MakeCallableRequest{RequestId: in.GetRequestId()})
	if err != nil {
		return nil, err
	}
	return nil, s.Err()
}

// wait waits until it is released, or its context ends.
func (r *rig) wait(ctx context.Context, _ *rpcs.CloseSessionRequest) (*rpcs.CloseSessionResponse, error) {
	r.began <- struct{}{}
	select {
	case <-r.let:
		r.ended <- nil
		return &rpcs.CloseSessionResponse{}, nil
	case <-ctx.Done():
		r.ended <- ctx.Err()
		return nil, ctx.Err()
	}
}

// describe answers with the server's view of the call, in the header.
func (r *rig) describe(ctx context.Context, _ *rpcs.ListDevicesRequest) (*rpcs.ListDevicesResponse, error) {
	got, _ := metadata.FromIncomingContext(ctx)
	told := metadata.Pairs("told", got.Get("tell")[0])
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		told.Append("peer", "known")
	}
	if _, ok := ctx.Deadline(); ok {
		told.Append("deadline", "known")
	}
	return &rpcs.ListDevicesResponse{}, grpc.SetHeader(ctx, told)
}

// becomes waits until calls use this transport, or gRPC.
func (r *rig) becomes(direct bool) {
	r.t.Helper()
	until(r.t, "the way of calls", func() bool {
		if r.conn.Direct() == direct {
			return true
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = r.conn.Invoke(ctx, "/"+service.Master+"/RunStep", &rpcs.RunStepRequest{}, &rpcs.RunStepResponse{}, grpc.WaitForReady(true)) // so that the server's offer is seen
		return false
	})
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func call[R any, Out interface {
	*R
	proto.Message
}](ctx context.Context, r *rig, method string, in proto.Message, opts ...grpc.CallOption) (Out, error) {
	out := Out(new(R))
	return out, r.conn.Invoke(ctx, "/"+service.Master+"/"+method, in, out, opts...)
}

// tensorOf is a tensor of n bytes.
func tensorOf(n int) *tensor_go_proto.TensorProto {
	t := &tensor_go_proto.TensorProto{Dtype: types_go_proto.DataType_DT_UINT8, TensorContent: make([]byte, n)}
	for i := range t.TensorContent {
		t.TensorContent[i] = byte(i*7 + i>>8)
	}
	return t
}
