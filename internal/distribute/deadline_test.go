package distribute

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestServerThatNeverAnswers pushes to a parameter server that is alive and accepts
// requests but never answers: the task must be started again.
func TestServerThatNeverAnswers(t *testing.T) {
	chief, task := cluster.Task{Job: "chief"}, cluster.Task{Job: "ps"}
	nodes, _ := cluster.NewLocal(chief, task)
	defer nodes[chief].Close()
	defer nodes[task].Close()
	server := ps.NewServer(ps.ServerConfig{Incarnation: nodes[task].Incarnation(), Client: nodes[task], Servers: []cluster.Task{task}})
	defer server.Close()
	service := server.Service()
	service.Streams["Push"] = func(ctx context.Context, _ cluster.Stream) error {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := nodes[task].Register(service); err != nil {
		t.Fatal(err)
	}
	nodes[task].Serve()

	tasks := []cluster.Task{task}
	p := &parameterServer{job: &Job{node: nodes[chief], servers: tasks, log: slog.New(slog.DiscardHandler)}, vars: &remoteVariables{}, devs: []device.Device{device.NewHost()}, copied: map[string]uint64{}, forget: map[*workerStep]func(){},
		client: ps.NewClient(ps.ClientConfig{Client: nodes[chief], Servers: tasks, Timeout: 2 * time.Second})}
	defer p.Close()
	var err error
	if p.copies, err = newWorkerCopies(p.devs); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*tensor.Tensor{"w": tensor.Scalar(1.0), "seen": tensor.Scalar(0.0), GlobalStep: tensor.Scalar(int64(0))} {
		if err := p.vars.Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
			t.Fatal(err)
		}
	}
	stepper, err := p.Train(square(graph.NewBuilder(graph.New())))
	if err != nil {
		t.Fatal(err)
	}
	defer stepper.Close()
	if err := p.client.Create(t.Context(), p.plan, ps.State{Value: p.vars.fill}); err != nil {
		t.Fatal(err)
	}
	x, err := tensor.FromSlice([]float64{3, 5}, 2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stepper.Step(t.Context(), Step{Batches: []Batch{{Rows: 2, Feeds: []*tensor.Tensor{x}}}})
	if !errors.Is(err, ErrPeerLost) || errors.Is(err, ErrSessionLost) {
		t.Fatalf("got %v, expected ErrPeerLost alone", err)
	}
	for _, want := range []string{"push of step 0", "/job:ps/task:0", "no answer within 2s"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}
