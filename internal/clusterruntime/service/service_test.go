package service_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// methods answer with the handle in the request.
func methods() service.Local {
	return service.Local{
		service.Bind("MakeCallable", func(_ context.Context, in *rpcs.MakeCallableRequest) (*rpcs.MakeCallableResponse, error) {
			if in.GetRequestId() == 0 {
				return nil, status.Error(codes.Aborted, "no number")
			}
			return &rpcs.MakeCallableResponse{Handle: in.GetRequestId()}, nil
		}),
		service.Refuse[rpcs.RecvBufRequest]("RecvBuf", "not here"),
		service.BindStream("Count", func(_ context.Context, in *rpcs.KeepAliveRequest) (*rpcs.KeepAliveResponse, error) {
			if in.GetContextId() == 0 {
				return nil, status.Error(codes.Aborted, "no number")
			}
			return &rpcs.KeepAliveResponse{ContextViewId: in.GetContextId() + 1}, nil
		}),
	}
}

// remote is the service over a connection.
func remote(t *testing.T) service.Caller {
	l := bufconn.Listen(1 << 10)
	s := grpc.NewServer()
	service.Register(s, service.Master, methods())
	go func() { _ = s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return l.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		s.Stop()
	})
	return service.Remote{Conn: conn, Service: service.Master}
}

func TestCallersAgree(t *testing.T) {
	for name, c := range map[string]service.Caller{"local": methods(), "remote": remote(t)} {
		t.Run(name, func(t *testing.T) {
			out, err := service.Ask[rpcs.MakeCallableResponse](t.Context(), c, "MakeCallable", &rpcs.MakeCallableRequest{RequestId: 7})
			if err != nil || out.GetHandle() != 7 {
				t.Errorf("got %v, %v", out, err)
			}
			if _, err = service.Ask[rpcs.MakeCallableResponse](t.Context(), c, "MakeCallable", &rpcs.MakeCallableRequest{}); status.Code(err) != codes.Aborted {
				t.Errorf("an error: got %v", err)
			}
			if _, err = service.Ask[rpcs.RecvBufRequest](t.Context(), c, "RecvBuf", &rpcs.RecvBufRequest{}); status.Code(err) != codes.Unimplemented || status.Convert(err).Message() != "RecvBuf: not here" {
				t.Errorf("a refusal: got %v", err)
			}
			if _, err = service.Ask[rpcs.MakeCallableResponse](t.Context(), c, "Nothing", &rpcs.MakeCallableRequest{}); status.Code(err) != codes.Unimplemented {
				t.Errorf("no method: got %v", err)
			}
		})
	}
	if _, err := service.Ask[rpcs.MakeCallableResponse](t.Context(), methods(), "MakeCallable", &rpcs.RecvBufRequest{}); status.Code(err) != codes.Internal {
		t.Errorf("another message: got %v", err)
	}
	if _, err := service.Ask[rpcs.RecvBufRequest](t.Context(), methods(), "MakeCallable", &rpcs.MakeCallableRequest{RequestId: 1}); status.Code(err) != codes.Internal {
		t.Errorf("another answer: got %v", err)
	}
}

// TestStreams: messages of a stream are answered in order, until one fails or the caller ends.
func TestStreams(t *testing.T) {
	conn := remote(t).(service.Remote).Conn
	open := func() grpc.ClientStream {
		s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+service.Master+"/Count")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	for i := range uint64(3) {
		if err := s.SendMsg(&rpcs.KeepAliveRequest{ContextId: i + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Error(err)
	}
	out := &rpcs.KeepAliveResponse{}
	for i := range uint64(3) {
		if err := s.RecvMsg(out); err != nil || out.GetContextViewId() != i+2 {
			t.Errorf("got %v, %v, expected %d", out, err, i+2)
		}
	}
	if err := s.RecvMsg(out); !errors.Is(err, io.EOF) {
		t.Errorf("after the last one: got %v", err)
	}
	s = open()
	if err := s.SendMsg(&rpcs.KeepAliveRequest{}); err != nil {
		t.Error(err)
	}
	if err := s.RecvMsg(out); status.Code(err) != codes.Aborted {
		t.Errorf("got %v, expected ABORTED", err)
	}
}
