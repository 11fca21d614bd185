package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/update"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// crew is the workers of a job, all in this process.
type crew struct {
	t       *testing.T
	n       int
	program func() TrainProgram
	device  func(rank int) string
	network func(rank int) peers.Network
	gpus    *gpustest.GPUs
	local   int // replicas of a worker
	ports   *freeport.Reservation
	hands   []*hand
	rejoin  float64 // seconds
	mixed   bool    // some workers update on the host and some on a GPU: the last bits may differ
}

// hand is one worker.
type hand struct {
	rank    int
	job     *Job
	log     *notes
	worker  *multiWorker
	stepper Stepper
}

// notes is a log that several goroutines write.
type notes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.String()
}

// newCrew returns workers with an emulated GPU each, whose sums are made in memory.
func newCrew(t *testing.T, n int, program func(*graph.Builder) TrainProgram) *crew {
	t.Helper()
	return newCrewOf(t, n, 1, program)
}

// newCrewOf returns workers with that many emulated GPUs each.
func newCrewOf(t *testing.T, n, each int, program func(*graph.Builder) TrainProgram) *crew {
	t.Helper()
	hideLaunchers(t)
	ports, err := freeport.Reserve(n)
	if err != nil {
		t.Fatal(err)
	}
	memory := peers.NewMemory()
	c := &crew{t: t, n: n, local: each, gpus: gpustest.Emulated(t, n*each), ports: ports, rejoin: 30, hands: make([]*hand, n),
		program: func() TrainProgram { return program(graph.NewBuilder(graph.New())) },
		device:  func(int) string { return "" },
		network: func(int) peers.Network { return memory }}
	t.Cleanup(func() {
		for _, h := range c.hands {
			if h != nil {
				h.close(t)
			}
		}
		ports.Close()
	})
	return c
}

// onHosts makes the crew compute without GPUs.
func (c *crew) onHosts() *crew {
	c.device = func(int) string { return "/cpu:0" }
	return c
}

// tfConfig returns the TF_CONFIG of a worker; the first is the chief.
func (c *crew) tfConfig(rank int) string {
	others := ""
	for r := 1; r < c.n; r++ {
		if r > 1 {
			others += ","
		}
		others += fmt.Sprintf("%q", c.ports.Address(r))
	}
	task := `"type":"chief","index":0`
	if rank > 0 {
		task = fmt.Sprintf(`"type":"worker","index":%d`, rank-1)
	}
	return fmt.Sprintf(`{"cluster":{"chief":[%q],"worker":[%s]},"task":{%s}}`, c.ports.Address(0), others, task)
}

// start makes a worker that is not synchronized yet.
func (c *crew) start(rank int) error {
	rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: 10, RejoinSecs: c.rejoin, CallTimeoutSecs: 20, MaxMessageMB: 64}
	rc, err := runconfig.FromTFConfig(c.tfConfig(rank), runconfig.Connections(rpc), runconfig.SessionCreationTimeoutSecs(30))
	if err != nil {
		return err
	}
	h := &hand{rank: rank, log: &notes{}}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	if h.job, err = Join(rc, log); err != nil {
		return err
	}
	s, err := New(Config{Strategy: runconfig.Strategy{Name: "multi_worker_mirrored", Device: c.device(rank), Replicas: c.local}, Devices: gpus.NewChooser(gpustest.Window(c.gpus, rank*c.local, c.local), log),
		Network: c.network(rank), Job: h.job})
	if err != nil {
		return errors.Join(err, h.job.Close())
	}
	c.hands[rank], h.worker = h, s.(*multiWorker)
	p := c.program()
	if err := initialize(s.Variables(), p); err != nil {
		return err
	}
	h.stepper, err = s.Train(p)
	return err
}

// initialize makes the variables of regression or embedding, and of the optimizer.
func initialize(vars Variables, p TrainProgram) error {
	r := rand.New(rand.NewPCG(3, 3))
	create := func(name string, v *tensor.Tensor) error {
		return vars.Create(name, graph.Type{DType: v.DType, Shape: graph.ShapeOf(v.Shape...)}, Whole(v))
	}
	errs := []error{create(GlobalStep, tensor.Scalar(int64(0)))}
	for _, u := range p.Updates {
		errs = append(errs, create(u.Variable, tensor.Scalar(0.0)))
	}
	for _, v := range p.Train.Groups[0].Variables {
		errs = append(errs, create(v.Name, random(r, v.DType, v.Shape...)))
	}
	for _, s := range update.Slots(p.Train) {
		v := tensor.New(s.Type.DType, s.Type.Shape.At(0)...)
		for i := range tensor.Values[float32](v) {
			tensor.Values[float32](v)[i] = float32(s.Init.(initializers.Constant).Value)
		}
		errs = append(errs, create(s.Name, v))
	}
	return errors.Join(errs...)
}

func random(r *rand.Rand, t tensor.DType, shape ...int) *tensor.Tensor {
	v := tensor.New(t, shape...)
	for i := range v.Len() {
		if t == tensor.Float64 {
			tensor.Values[float64](v)[i] = r.NormFloat64()
			continue
		}
		tensor.Values[float32](v)[i] = float32(r.NormFloat64())
	}
	return v
}

// each does something on all workers in parallel.
func (c *crew) each(what string, do func(h *hand) error) []error {
	errs := make([]error, c.n)
	done := make(chan struct{})
	var all sync.WaitGroup
	for i, h := range c.hands {
		all.Go(func() { errs[i] = do(h) })
	}
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		panic(what + ": the workers wait for ever")
	}
	return errs
}

// must is each for functions that must not fail.
func (c *crew) must(what string, do func(h *hand) error) {
	c.t.Helper()
	if err := errors.Join(c.each(what, do)...); err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

// assemble starts all workers and synchronizes them.
func (c *crew) assemble() {
	c.t.Helper()
	for rank := range c.n {
		if err := c.start(rank); err != nil {
			c.t.Fatal(err)
		}
	}
	c.must("synchronize", (*hand).synchronize)
}

func (h *hand) synchronize() error {
	_, err := h.worker.Synchronize(context.Background(), func() (Notes, error) { return Notes{}, nil })
	return err
}

// resident reports whether gradients stay on the GPU.
func (h *hand) resident() bool { return h.stepper.(*replicatedStepper).gpus != nil }

// step makes one step; in the fifth the last replica has no batch.
func (h *hand) step(c *crew, i int) error {
	in := Step{}
	for replica := h.rank * c.local; replica < (h.rank+1)*c.local; replica++ {
		if i != 4 || replica != c.n*c.local-1 {
			in.Batches = append(in.Batches, c.batch(replica, i))
		}
	}
	out, err := h.stepper.Step(context.Background(), in)
	if err != nil {
		return fmt.Errorf("worker %d, step %d: %w", h.rank, i, err)
	}
	if want := (Outcome{GlobalStep: int64(i + 1), Applied: true}); out != want {
		return fmt.Errorf("worker %d, step %d: expected %+v, got %+v", h.rank, i, want, out)
	}
	return nil
}

// batch returns a replica's batch in a step, in the type of the program's first placeholder.
func (c *crew) batch(replica, i int) Batch {
	r := rand.New(rand.NewPCG(uint64(replica), uint64(i)))
	rows := 2 + replica + i%3
	if c.hands[0].stepper.(*replicatedStepper).train.Feeds[0].DType() == tensor.Float32 {
		return Batch{Rows: rows, Feeds: []*tensor.Tensor{random(r, tensor.Float32, rows, 5)}}
	}
	ids := tensor.New(tensor.Int64, rows)
	for i := range tensor.Values[int64](ids) {
		tensor.Values[int64](ids)[i] = r.Int64N(4)
	}
	return Batch{Rows: rows, Feeds: []*tensor.Tensor{ids}}
}

// steps makes steps on all workers and returns the first one's losses. The losses, and then the variables, of all must be
// bit-identical.
func (c *crew) steps(from, to int) []float64 {
	c.t.Helper()
	var losses []float64
	for i := from; i < to; i++ {
		c.must("step", func(h *hand) error { return h.step(c, i) })
		loss := func(h *hand) float64 { s := h.stepper.(*replicatedStepper); return s.Value(s.loss).Float(0) }
		losses = append(losses, loss(c.hands[0]))
		for _, h := range c.hands[1:] {
			if l := loss(h); l != losses[len(losses)-1] {
				c.t.Fatalf("step %d: the mean loss is %g on worker %d, %g on worker 0", i, l, h.rank, losses[len(losses)-1])
			}
		}
	}
	if !c.mixed {
		c.equal()
	}
	return losses
}

// variables returns the variables of a worker.
func (c *crew) variables(rank int) map[string]*tensor.Tensor {
	c.t.Helper()
	s, err := deviceVariables{c.hands[rank].worker.copies[0]}.snapshot()
	if err != nil {
		c.t.Fatal(err)
	}
	return s.Tensors
}

// equal checks that all workers have the same variables.
func (c *crew) equal() {
	c.t.Helper()
	want := c.variables(0)
	for rank := 1; rank < c.n; rank++ {
		for name, v := range c.variables(rank) {
			if !bytes.Equal(v.Bytes, want[name].Bytes) {
				c.t.Fatalf("%s of worker %d differs from that of worker 0", name, rank)
			}
		}
	}
}

// end closes all workers, which must not take long.
func (c *crew) end() {
	c.t.Helper()
	c.must("close", func(h *hand) error { h.close(c.t); return nil })
	clear(c.hands)
}

func (h *hand) close(t *testing.T) {
	var errs []error
	if h.stepper != nil {
		errs = append(errs, h.stepper.Close())
	}
	if err := errors.Join(append(errs, h.worker.Close(), h.job.Close())...); err != nil && !errors.Is(err, device.ErrLost) {
		t.Errorf("close worker %d: %v", h.rank, err)
	}
}
