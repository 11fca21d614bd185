package grpcapi

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A panic while a message is read is an error of its call, and ends nothing else.
func TestPanicWhileReceiving(t *testing.T) {
	var log bytes.Buffer
	l := Limits{Log: slog.New(slog.NewTextHandler(&log, nil))}
	err := l.receive(t.Context(), "/service/method", "a message", nil, func(any) error { panic("a defect") })
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "a defect") || !strings.Contains(log.String(), "a defect") {
		t.Errorf("%v; the log has %s", err, &log)
	}
}
