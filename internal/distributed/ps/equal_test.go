package ps

import (
	"fmt"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// TestSameAsOneProcess trains with every rule and compares variables and slots with
// one process.
func TestSameAsOneProcess(t *testing.T) {
	l := newLocal(t, 2, 1, ServerConfig{})
	c := l.Client(0, ClientConfig{})
	for _, name := range optimizers.Names() {
		parameters := map[string]any{"learning_rate": map[string]any{"schedule": "exponential", "initial": 0.1, "decay_steps": 2, "decay_rate": 0.5}}
		t.Run(name, func(t *testing.T) { checkSame(t, c, newJob(t, name, parameters)) })
	}
	t.Run("accumulate", func(t *testing.T) { checkSame(t, c, newJob(t, "adam", map[string]any{"accumulate_steps": 2})) })
	t.Run("keras names", func(t *testing.T) { checkSame(t, c, newJob(t, "keras_adam", map[string]any{"slot_names": "keras"})) })
}

func checkSame(t *testing.T, c *Client, j *job) {
	ctx := testContext(t)
	p := j.plan(t, Config{Servers: 2, Partitioner: FixedShards(3)})
	state := j.state()
	state.Replace = true
	if err := c.Create(ctx, p, state); err != nil {
		t.Fatal(err)
	}
	one := newReference(t, j)
	for i := range 5 {
		g := j.gradients(i)
		if r, err := c.Push(ctx, Push{Step: int64(i), Gradients: g}); err != nil || r.GlobalStep != int64(i+1) || r.Stale {
			t.Fatalf("push %d: %+v, %v", i, r, err)
		}
		one.run(g)
	}
	s, err := c.Fence(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	compare(t, read(t, s), one.all(), 1e-5)
}

// TestSyncSameAsOneProcess makes steps with three workers, where two suffice, and
// then with all.
func TestSyncSameAsOneProcess(t *testing.T) {
	for _, kind := range []string{"", "clip_norm", "clip_value", "global_clip_norm"} {
		for _, servers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s %d", kind, servers), func(t *testing.T) {
				rule, parameters := "adam", map[string]any{}
				if kind != "" {
					// Plain descent, unlike Adam, shows a wrong factor.
					rule, parameters[kind] = "sgd", 0.5
				}
				first := checkSync(t, newJob(t, rule, parameters), servers)
				// For any order of arrival, the result is bitwise equal.
				compare(t, checkSync(t, newJob(t, rule, parameters), servers), first, 0)
			})
		}
	}
}

func checkSync(t *testing.T, j *job, servers int) map[string]*tensor.Tensor {
	const workers = 3
	ctx := testContext(t)
	l := newLocal(t, servers, workers, ServerConfig{})
	p := j.plan(t, Config{Servers: servers, Partitioner: FixedShards(2), Sync: &Sync{Aggregate: workers, Workers: workers}})
	var clients []*Client
	for i := range workers {
		clients = append(clients, l.Client(i, ClientConfig{}))
	}
	if err := clients[0].Create(ctx, p, j.state()); err != nil {
		t.Fatal(err)
	}
	one := newReference(t, j)
	for step := range 4 {
		var wg sync.WaitGroup
		var all [][]Gradient
		for i, c := range clients {
			g := j.gradients(10*step + i)
			all = append(all, g)
			wg.Go(func() {
				if _, err := c.WaitReady(ctx, p); err != nil {
					t.Error(err)
					return
				}
				r, err := c.Push(ctx, Push{Step: int64(step), Gradients: g, Weight: 2})
				if err != nil || r.Stale {
					t.Errorf("push: %+v, %v", r, err)
					return
				}
				if x, err := c.WaitStep(ctx, int64(step+1)); err != nil || x.GlobalStep != int64(step+1) {
					t.Errorf("wait: %+v, %v", x, err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
		one.run(all...)
	}
	s, err := clients[1].Fence(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Step != 4 {
		t.Errorf("step %d, expected 4", s.Step)
	}
	got := read(t, s)
	compare(t, got, one.all(), 1e-5)
	return got
}
