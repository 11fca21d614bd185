package grpcapi

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A panic while a message is read is an error of its call only.
func TestPanicWhileReceiving(t *testing.T) {
	var log bytes.Buffer
	l := Limits{Log: slog.New(slog.NewTextHandler(&log, nil))}
	err := l.receive(t.Context(), "/service/method", "a message", nil, func(any) error { panic("a defect") })
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "a defect") || !strings.Contains(log.String(), "a defect") {
		t.Errorf("%v; the log has %s", err, &log)
	}
}

// queuedConns is a listener that accepts queued connections.
type queuedConns chan net.Conn

func (q queuedConns) Accept() (net.Conn, error) { return <-q, nil }
func (q queuedConns) Close() error              { return nil }
func (q queuedConns) Addr() net.Addr            { return nil }

// A call without a message does not count as use of its connection: a connection with only such calls makes room for a newer one.
func TestCallsWithoutAMessageKeepNoPlace(t *testing.T) {
	waiting := make(queuedConns, 3)
	l := admission.NewPlaces(2, nil).Listener(waiting)
	accept := func() (server, client net.Conn) {
		server, client = net.Pipe()
		waiting <- server
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return server, client
	}
	first, client := accept()
	accept()
	limits := Limits{}
	limits.setDefaults()
	call := unary(limits, "/service/method", func(struct{}, context.Context, *apis.PredictRequest) (*apis.PredictResponse, error) { return nil, nil })
	gone := status.Error(codes.DeadlineExceeded, "no message")
	ctx := admission.ConnContext(t.Context(), first)
	if _, err := call.Handler(struct{}{}, ctx, func(any) error { return gone }, nil); status.Code(err) != codes.DeadlineExceeded {
		t.Fatal(err)
	}
	accept()
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, expected the end of the connection", err)
	}
}
