package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestServerEnds: a server that nobody uses ends after a while, others when they are told to, including one that is a parameter server
// of this project's jobs.
func TestServerEnds(t *testing.T) {
	ports, err := freeport.Reserve(2)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	for name, args := range map[string][]string{
		"idle":      {"--cluster_spec=local|" + ports.Address(0), "--exit-when-idle=1s", "--status-address=:0"},
		"idle ps":   {"--cluster_spec=worker|" + ports.Address(0) + ",ps|" + ports.Address(1), "--exit-when-idle=1s"},
		"signal":    {"--cluster_spec=local|" + ports.Address(0)},
		"signal ps": {"--cluster_spec=worker|" + ports.Address(0) + ",ps|" + ports.Address(1)},
	} {
		task, err := served(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if task.idle == 0 {
			time.AfterFunc(10*time.Millisecond, cancel)
		}
		err = runServer(ctx, task, slog.New(slog.DiscardHandler))
		if task.idle > 0 && (err != nil || ctx.Err() != nil) {
			t.Errorf("%s: %v, %v", name, err, ctx.Err())
		}
		if task.idle == 0 && (err == nil) != (task.trains == nil) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// statusOf reads the state of a server.
func statusOf(t *testing.T, address string) (s status.State) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r, err := http.Get("http://" + address + "/status.json")
		if err == nil {
			defer r.Body.Close()
			if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestServerStatus: a session with its variable and its steps appears on the status page, and disappears when it ends.
func TestServerStatus(t *testing.T) {
	ports, err := freeport.Reserve(2)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	task, err := served(t, "--cluster_spec=local|"+ports.Address(0), "--status-address="+ports.Address(1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- runServer(ctx, task, slog.New(slog.DiscardHandler)) }()
	if s := statusOf(t, ports.Address(1)); s.Task != "/job:local/task:0" || len(s.Sessions)+len(s.Variables) != 0 || s.Memory.Limit == 0 || s.Build == "" {
		t.Errorf("at the start: %+v", s)
	}
	conn, err := grpc.NewClient("passthrough:///"+ports.Address(0), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	master := service.Remote{Conn: conn, Service: service.Master}
	made, err := service.Ask[rpcs.CreateSessionResponse](ctx, master, "CreateSession", &rpcs.CreateSessionRequest{GraphDef: &graph_go_proto.GraphDef{Node: []*node_def_go_proto.NodeDef{{Name: "no", Op: "NoOp"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Ask[rpcs.RunStepResponse](ctx, master, "RunStep", &rpcs.RunStepRequest{SessionHandle: made.GetSessionHandle(), Target: []string{"no"}}); err != nil {
		t.Fatal(err)
	}
	if s := statusOf(t, ports.Address(1)); len(s.Sessions) != 1 || s.Sessions[0].Handle != made.GetSessionHandle() || s.Graphs.Count != 1 || s.Connections != 1 || s.Memory.Held == 0 {
		t.Errorf("with a session: %+v", s)
	}
	if _, err := service.Ask[rpcs.CloseSessionResponse](ctx, master, "CloseSession", &rpcs.CloseSessionRequest{SessionHandle: made.GetSessionHandle()}); err != nil {
		t.Fatal(err)
	}
	if s := statusOf(t, ports.Address(1)); len(s.Sessions) != 0 || s.Graphs.Count != 0 || s.Memory.Held != 0 {
		t.Errorf("after it: %+v", s)
	}
	cancel()
	if err := errors.Join(conn.Close(), <-ended); err != nil {
		t.Error(err)
	}
}
