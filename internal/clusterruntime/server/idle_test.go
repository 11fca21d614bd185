package server

import (
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// TestContextIsUse: a context with a keep-alive time is use of the server, even without calls.
func TestContextIsUse(t *testing.T) {
	s, err := New(Config{Cluster: runconfig.NewClusterSpec(map[string][]string{"local": {"127.0.0.1:1"}}), Job: "local", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	eager := service.Local(s.eager.Methods())
	in := &rpcs.CreateContextRequest{ContextId: 1, KeepAliveSecs: 3600, ServerDef: &for_core_protos_go_proto.ServerDef{JobName: "local"}}
	if _, err := service.Ask[rpcs.CreateContextResponse](t.Context(), eager, "CreateContext", in); err != nil {
		t.Fatal(err)
	}
	if got := s.Idle(); got != 0 {
		t.Errorf("with a context: idle for %v", got)
	}
	if _, err := service.Ask[rpcs.CloseContextResponse](t.Context(), eager, "CloseContext", &rpcs.CloseContextRequest{ContextId: 1}); err != nil {
		t.Fatal(err)
	}
	if s.Idle() == 0 {
		t.Error("without contexts: not idle")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
