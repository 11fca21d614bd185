package ps

import (
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// TestUpdatesCountOnce has workers add to one variable at the same time, with some answers lost:
// every addition counts once, and none is a step, also in synchronous plans.
func TestUpdatesCountOnce(t *testing.T) {
	for _, c := range []Config{{Servers: 2}, {Servers: 2, Sync: &Sync{3, 3}}} {
		const workers, updates = 3, 20
		j := newJob(t, "sgd", nil)
		j.variables = append(j.variables, &models.Variable{Name: "sums", DType: tensor.Float64, Shape: []int{2}})
		j.first["sums"] = tensor.New(tensor.Float64, 2)
		b := &begun{job: j, Local: newLocal(t, c.Servers, workers, ServerConfig{})}
		b.p = b.plan(t, c)
		b.c = b.Client(0, ClientConfig{})
		if err := b.c.Create(testContext(t), b.p, b.state()); err != nil {
			t.Fatal(err)
		}
		one, err := tensor.FromSlice([]float64{1, 0.5}, 2)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range workers {
			l := &lossy{Client: b.workers[w], method: "/Push", lose: map[cluster.Task]int{b.Tasks[0]: 2, b.Tasks[1]: 1}}
			client := NewClient(ClientConfig{Client: l, Servers: b.Tasks, Rank: w})
			wg.Go(func() {
				if _, err := client.WaitReady(testContext(t), b.p); err != nil {
					t.Error(err)
					return
				}
				for range updates {
					if err := client.Update(testContext(t), []Assignment{{"sums", one}}, nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		m := b.mirror(t, b.c)
		want, _ := tensor.FromSlice([]float64{workers * updates, workers * updates / 2}, 2)
		compare(t, map[string]*tensor.Tensor{"sums": m.Tensor("sums")}, map[string]*tensor.Tensor{"sums": want}, 0)
		if p, err := b.c.Pull(testContext(t), m); err != nil || p.GlobalStep != 0 {
			t.Errorf("%+v, %v: expected no step", p, err)
		}
		if err := b.c.Update(testContext(t), nil, []Assignment{{"sums", tensor.New(tensor.Float64, 2)}}); err != nil {
			t.Fatal(err)
		}
		if got := b.mirror(t, b.c).Tensor("sums"); got.Float(0) != 0 {
			t.Errorf("assigned: %v", got.Float(0))
		}
		err = b.c.Update(testContext(t), []Assignment{{"mean", tensor.New(tensor.Float32, 4)}}, nil)
		if err == nil || !strings.Contains(err.Error(), "expected float64 to add to") {
			t.Errorf("an addition to float32: %v", err)
		}
	}
}
