package accept

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/cluster"
	taskstatus "github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
)

// runtimeSoak is a cluster of `goestimator server` processes. Servers and clients are killed, stopped and attacked.
type runtimeSoak struct {
	t       *testing.T
	spec    string
	folder  string   // for --allow-path
	names   []string // "worker 0"
	targets []*target
	running []*exec.Cmd
	begin   []taskstatus.State
	random  *rand.Rand // chooses faults

	faults               atomic.Int64 // incremented when a task is killed, and when it is back
	did                  map[string]int
	rounds, steps, lost  atomic.Int64
	extended, disappears atomic.Int64
}

// TestClusterRuntimeSoak opens and closes sessions, runs steps and extends graphs for GOESTIMATOR_SOAK, from Go and, if TensorFlow
// is installed, in a MonitoredTrainingSession. Meanwhile servers and clients are killed, servers are stopped and attacked.
// Steps return the right results, or the error of a lost task. In the end the tasks hold no more than at the start.
func TestClusterRuntimeSoak(t *testing.T) {
	whole(t)
	s := newRuntimeSoak(t)
	over := time.Now().Add(soakTime(t))
	var clients sync.WaitGroup
	for i := range 2 {
		clients.Go(func() { s.client(i, over) })
	}
	python := s.newPythonClient()
	for time.Now().Before(over) && !t.Failed() {
		s.fault(python)
		time.Sleep(3*time.Second + time.Duration(s.random.Int64N(int64(4*time.Second))))
	}
	clients.Wait()
	python.end()
	t.Logf("%d rounds, %d steps, %d extensions, %d clients vanished, %d sessions lost; %v", s.rounds.Load(), s.steps.Load(), s.extended.Load(), s.disappears.Load(), s.lost.Load(), s.did)
	s.settled()
}

// newRuntimeSoak starts two workers and two parameter servers.
func newRuntimeSoak(t *testing.T) *runtimeSoak {
	t.Helper()
	ports, err := freeport.Reserve(8)
	if err != nil {
		t.Fatal(err)
	}
	at := ports.Address
	s := &runtimeSoak{t: t, folder: t.TempDir(), spec: fmt.Sprintf("worker|%s;%s,ps|%s;%s", at(0), at(1), at(2), at(3)), names: []string{"worker 0", "worker 1", "ps 0", "ps 1"}, running: make([]*exec.Cmd, 4),
		random: rand.New(rand.NewPCG(uint64(testkit.Seed(t)), 0)), did: map[string]int{}}
	t.Cleanup(func() {
		for _, cmd := range s.running {
			if cmd != nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		}
		if err := ports.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range s.names {
		s.targets = append(s.targets, &target{t: t, address: at(i), status: at(4 + i), allowed: s.folder})
		s.start(i)
	}
	for _, x := range s.targets {
		s.begin = append(s.begin, x.settle("at the start", func(taskstatus.State) bool { return true }))
	}
	return s
}

// graph is y = v*x on the second worker, with v on a parameter server.
func (s *runtimeSoak) graph(client int) (*cluster.Graph, error) {
	return cluster.Build(cluster.Options{}, func(b *cluster.Builder) error {
		var v = fmt.Sprintf("v%d", client)
		b.Device(cluster.On(fmt.Sprintf("/job:ps/task:%d", client)), func() {
			w := b.Variable(v, []int{1000}, models.NonTrainable())
			x := b.Input("x", tensor.Float32, b.Batch(), 1000)
			b.Device(cluster.On("/job:worker/task:1"), func() { b.Fetch("y", ops.Mul(b, x, w)) })
		})
		return nil
	})
}

// client opens sessions one after the other.
func (s *runtimeSoak) client(number int, over time.Time) {
	random := rand.New(rand.NewPCG(16, uint64(number)+1))
	g, err := s.graph(number)
	if err != nil {
		s.t.Error(err)
		return
	}
	for time.Now().Before(over) && !s.t.Failed() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		before := s.faults.Load()
		err := s.round(ctx, g, number, random)
		cancel()
		s.rounds.Add(1)
		var e *cluster.Error
		switch {
		case err == nil:
		case errors.Is(err, cluster.ErrLost):
			s.lost.Add(1)
		case before != s.faults.Load() && errors.As(err, &e) && e.Code == codes.FailedPrecondition: // a variable was lost with its server
			s.lost.Add(1)
		default:
			s.t.Errorf("client %d: %v", number, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// round is one session.
func (s *runtimeSoak) round(ctx context.Context, g *cluster.Graph, number int, random *rand.Rand) error {
	session, err := cluster.Dial(ctx, "grpc://"+s.targets[0].address, g)
	if err != nil {
		return err
	}
	for i := range 1 + random.IntN(6) {
		if err = s.step(ctx, session, number, float32(random.IntN(1000))); err == nil && random.IntN(3) == 0 {
			err = s.extend(ctx, session, i)
		}
		if err != nil {
			return errors.Join(err, s.leave(session))
		}
	}
	if random.IntN(25) > 0 {
		return session.Close(ctx)
	}
	// Disconnect while a step runs.
	s.disappears.Add(1)
	step, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = session.Values(step) // is cancelled
	}()
	err = s.leave(session)
	end()
	<-done
	return err
}

// leave closes the connection, but not the session.
func (s *runtimeSoak) leave(session *cluster.Session) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := session.Close(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// step sets the variable and reads it in a product.
func (s *runtimeSoak) step(ctx context.Context, session *cluster.Session, number int, value float32) error {
	x := tensor.New(tensor.Float32, 2, 1000)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(i % 7)
	}
	v := tensor.New(tensor.Float32, 1000)
	for i := range tensor.Values[float32](v) {
		tensor.Values[float32](v)[i] = value
	}
	if err := session.Assign(ctx, map[string]*tensor.Tensor{fmt.Sprintf("v%d", number): v}); err != nil {
		return err
	}
	out, err := session.Run(ctx, cluster.Feeds{"x": x}, []string{"y"})
	if err != nil {
		return err
	}
	s.steps.Add(2)
	for i, y := range tensor.Values[float32](out[0]) {
		if y != value*float32(i%7) {
			return fmt.Errorf("y[%d] is %v, expected %v * %d", i, y, value, i%7)
		}
	}
	return nil
}

// extend adds nodes to the graph, and runs them.
func (s *runtimeSoak) extend(ctx context.Context, session *cluster.Session, i int) error {
	more, err := cluster.ReadTextGraph(fmt.Appendf(nil, `
		node { name: "c%[1]d" op: "Const" device: "/job:ps/task:1" attr { key: "dtype" value { type: DT_FLOAT } }
			attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: %[1]d } } } }
		node { name: "d%[1]d" op: "AddV2" input: "c%[1]d" input: "c%[1]d" device: "/job:worker/task:0" attr { key: "T" value { type: DT_FLOAT } } }`, i))
	if err != nil {
		return err
	}
	if err := session.Extend(ctx, more); err != nil {
		return err
	}
	out, err := session.Run(ctx, nil, []string{fmt.Sprintf("d%d", i)})
	if err != nil {
		return err
	}
	s.extended.Add(1)
	if got := tensor.Values[float32](out[0])[0]; got != float32(2*i) {
		return fmt.Errorf("d%d is %v, expected %d", i, got, 2*i)
	}
	return nil
}

// connected bounds the goroutines of a task for its connections to the three others, over gRPC and our own transport, and for
// pending calls.
const connected = 60

// settled checks that nothing is left after sessions and variables are reset.
func (s *runtimeSoak) settled() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for i, x := range s.targets {
		before := x.settle("before Reset", func(taskstatus.State) bool { return true })
		s.t.Logf("%s: %d sessions, %d graphs, %d variables, %+v", s.names[i], len(before.Sessions), before.Graphs.Count, len(before.Variables), before.Memory)
	}
	for _, x := range s.targets {
		if err := cluster.Reset(ctx, "grpc://"+x.address, nil); err != nil {
			s.t.Error(err)
		}
	}
	for i, x := range s.targets {
		end := x.settle(s.names[i]+" in the end", func(now taskstatus.State) bool {
			return len(now.Sessions)+now.Graphs.Count+len(now.Variables)+now.Steps.Running == 0 &&
				now.Memory.Held <= s.begin[i].Memory.Held+1<<20 && now.Memory.Goroutines <= s.begin[i].Memory.Goroutines+connected
		})
		s.t.Logf("%s: begin %+v, end %+v", s.names[i], s.begin[i].Memory, end.Memory)
	}
}
