package distribute

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/rule"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// by is regression with another rule.
func by(rule optimizers.Rule) func(*graph.Builder) TrainProgram {
	return func(b *graph.Builder) TrainProgram {
		p := regression(b)
		p.Train.Groups[0].Rule = rule
		return p
	}
}

// sparse is embedding without a dense gradient.
func sparse(b *graph.Builder) TrainProgram { return embedding(b, 4) }

// TestWorkersSumOnGPUs: workers with GPUs train like workers without, with one replica each.
func TestWorkersSumOnGPUs(t *testing.T) {
	for _, x := range []struct {
		name    string
		workers int
		each    int // GPUs
		program func(*graph.Builder) TrainProgram
	}{
		{"momentum", 2, 1, by(rule.Momentum{Momentum: 0.9})},
		{"adam", 3, 1, by(rule.Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7})},
		{"sparse", 2, 1, sparse},
		{"two GPUs each", 2, 2, by(rule.Momentum{Momentum: 0.9})},
		{"two GPUs each, sparse", 2, 2, sparse},
	} {
		t.Run(fmt.Sprintf("%s on %d", x.name, x.workers), func(t *testing.T) {
			var losses [2][]float64
			var variables [2]map[string]*tensor.Tensor
			for i, c := range []*crew{newCrewOf(t, x.workers, x.each, x.program), newCrew(t, x.workers*x.each, x.program).onHosts()} {
				c.assemble()
				for _, h := range c.hands {
					if h.resident() != (i == 0) || strings.Contains(h.log.String(), "through the host") {
						t.Errorf("crew %d: gradients stay on the GPU: %v; %s", i, h.resident(), h.log)
					}
				}
				losses[i] = c.steps(0, 8)
				c.must("the last step", func(h *hand) error {
					in := Step{}
					if h.rank == 1 {
						in.Stop = Finished
					}
					out, err := h.stepper.Step(context.Background(), in)
					if want := (Outcome{GlobalStep: 8, Stop: Finished}); err == nil && out != want {
						err = fmt.Errorf("expected %+v, got %+v", want, out)
					}
					return err
				})
				variables[i] = c.variables(0)
				c.end()
			}
			for i, want := range losses[1] {
				if got := losses[0][i]; math.Abs(got-want) > 1e-6*max(1, want) {
					t.Errorf("loss of step %d: expected %g, got %g", i, want, got)
				}
			}
			for name, want := range variables[1] {
				for i := range want.Len() {
					if got := variables[0][name].Float(i); math.Abs(got-want.Float(i)) > 1e-6*max(1, math.Abs(want.Float(i))) {
						t.Errorf("%s, element %d: expected %g, got %g", name, i, want.Float(i), got)
					}
				}
			}
		})
	}
}

// TestWorkersThatCannotSumOnGPUs: if one worker cannot, all sum on the host, and one warning says which and why.
func TestWorkersThatCannotSumOnGPUs(t *testing.T) {
	none := errors.New("there is no such library")
	for name, x := range map[string]struct {
		network func(rank int, n peers.Network) peers.Network
		device  string // of rank 1
		says    string
	}{
		"no library": {func(rank int, n peers.Network) peers.Network {
			return lame{Network: n, version: []error{nil, none}[rank]}
		}, "", "/job:worker/task:0: there is no such library"},
		"no GPU":    {func(_ int, n peers.Network) peers.Network { return n }, "/cpu:0", "/job:worker/task:0 computes on the host"},
		"no ID":     {func(rank int, n peers.Network) peers.Network { return lame{Network: n, newID: none} }, "", "/job:chief/task:0: there is no such library"},
		"no group":  {func(rank int, n peers.Network) peers.Network { return lame{Network: n, join: []error{nil, none}[rank]} }, "", "/job:worker/task:0: there is no such library"},
		"real NCCL": {func(int, peers.Network) peers.Network { return nil }, "", "/job:chief/task:0: NCCL on GPU 0: not a context or stream of a real GPU"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func(d time.Duration) { joinTime = d }(joinTime)
			joinTime = 2 * time.Second
			c := newCrew(t, 2, by(rule.SGD{}))
			memory := c.network(0)
			c.network = func(rank int) peers.Network { return x.network(rank, memory) }
			c.device = func(rank int) string { return []string{"", x.device}[rank] }
			c.mixed = x.device != ""
			c.assemble()
			c.steps(0, 6)
			for _, h := range c.hands {
				if h.resident() {
					t.Errorf("worker %d: gradients stay on the GPU", h.rank)
				}
				if log := h.log.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, x.says) {
					t.Errorf("worker %d: expected one warning with %q, got %s", h.rank, x.says, log)
				}
			}
			c.end()
		})
	}
}

// TestCompiledAgain: a worker whose program is compiled again between two steps, as for longer examples,
// continues to sum.
func TestCompiledAgain(t *testing.T) {
	c := newCrew(t, 2, by(rule.Momentum{Momentum: 0.9}))
	c.assemble()
	c.steps(0, 2)
	h := c.hands[1]
	err := h.stepper.Close()
	if err == nil {
		h.stepper, err = h.worker.Train(c.program())
	}
	if err != nil || !h.resident() {
		t.Fatalf("gradients stay on the GPU: %v, %v", h.resident(), err)
	}
	c.steps(2, 6)
	c.end()
}

// TestNoPlaintextBesideTLS: if connections must be encrypted, gradients are not sent outside of them.
func TestNoPlaintextBesideTLS(t *testing.T) {
	c := newCrew(t, 2, by(rule.SGD{}))
	c.assemble()
	rc, err := runconfig.FromTFConfig(c.tfConfig(1), runconfig.Connections(runconfig.RPC{Security: "auto", CertFile: "a", KeyFile: "b",
		PeerTimeoutSecs: 10, RejoinSecs: 30, CallTimeoutSecs: 20, MaxMessageMB: 64}))
	if err != nil {
		t.Fatal(err)
	}
	c.hands[1].job.config = rc
	c.must("synchronize again", (*hand).synchronize)
	for _, h := range c.hands {
		if log := h.log.String(); h.resident() || !strings.Contains(log, "/job:worker/task:0: connections use TLS") {
			t.Errorf("worker %d: on its GPU: %v; %s", h.rank, h.resident(), log)
		}
	}
	c.end()
}

func TestAgreed(t *testing.T) {
	workers := []cluster.Task{{Job: "chief"}, {Job: "worker"}}
	good := gpuOffer{GPU: true, Version: "NCCL 2.20.5", Values: 7}
	for _, x := range []struct {
		other gpuOffer
		says  string
	}{
		{good, ""},
		{gpuOffer{}, "/job:worker/task:0 computes on the host"},
		{gpuOffer{GPU: true, Why: "torn"}, "/job:worker/task:0: torn"},
		{gpuOffer{GPU: true, Version: "NCCL 2.19.3", Values: 7}, "/job:worker/task:0 has NCCL 2.19.3, /job:chief/task:0 has NCCL 2.20.5"},
		{gpuOffer{GPU: true, Version: "NCCL 2.20.5"}, "/job:worker/task:0 has gradients of other types or sizes than /job:chief/task:0"},
	} {
		if why, ok := agreed([]gpuOffer{good, x.other}, workers); why != x.says || ok != (x.says == "") {
			t.Errorf("%+v: expected %q, got %q, %v", x.other, x.says, why, ok)
		}
	}
	if why, ok := agreed(make([]gpuOffer, 2), workers); why != "" || ok {
		t.Errorf("no GPUs: got %q, %v", why, ok)
	}
}
